"""Copies of files to and from simulated containers: `tar` and `test -d`, as `kubectl cp` runs them."""

import posixpath
import tarfile
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence

from clientgo_apiserver.http.steps import in_thread
from clientgo_apiserver.http.upgrades import PIECE
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.containerfiles import ArchiveReader, ContainerKey
from clientgo_apiserver.storage.keys import PODS

_OPTIONS = {"create": "c", "directory": "C", "extract": "x", "file": "f", "get": "x"}
_WITH_VALUE = "CfTXb"
_HARMLESS = "cxCfbmopvkhPS"  # what they change does not exist in simulated containers


class TarWords:
    """Words of a `tar` command: what it does, with which files of which folders."""

    def __init__(self, words: Iterable[str]) -> None:
        self.letters = ""
        self.folder = "/"
        self.archive = "-"
        self.names: list[tuple[str, str]] = []
        """Folder and name of each file: `-C` is for the names that follow it."""
        self._words = deque(words)
        self._read()

    def __repr__(self) -> str:
        return f"<TarWords {self.letters} of {len(self.names)} files>"

    def _read(self) -> None:
        if self._words and not self._words[0].startswith("-"):  # `cf`: values follow in the order of the letters
            for letter in self._words.popleft():
                self._option(letter, self._value() if letter in _WITH_VALUE else "")
        while self._words:
            word = self._words.popleft()
            if word == "--":
                self.names += [(self.folder, name) for name in self._words]
                return
            if word.startswith("--"):
                name, has_value, value = word[2:].partition("=")
                letter = _OPTIONS.get(name, "")
                self._option(letter, value if has_value or letter not in ("C", "f") else self._value())
            elif word.startswith("-") and word != "-":
                self._short(word[1:])
            else:
                self.names.append((self.folder, word))

    def _short(self, letters: str) -> None:
        for index, letter in enumerate(letters):
            if letter in _WITH_VALUE:
                self._option(letter, letters[index + 1 :] or self._value())
                return
            self._option(letter)

    def _option(self, letter: str, value: str = "") -> None:
        self.letters += letter
        if letter == "C":
            self.folder = posixpath.join(self.folder, value)
        elif letter == "f":
            self.archive = value

    def _value(self) -> str:
        return self._words.popleft() if self._words else ""

    @property
    def unsupported(self) -> str:
        """The first option that would change the archive in a way that is not simulated, or ""."""
        return next((letter for letter in self.letters if letter not in _HARMLESS), "")


class FileCommand:
    """`tar -x`, `tar -c` or `test -d` in a container; `code` is its exit code once it has ended."""

    def __init__(self, state: State, container: ContainerKey, words: Sequence[str]) -> None:
        self._files = state.files
        self._state = state
        self._container = container
        self._words = words
        self._archive = ArchiveReader()
        self._tar = TarWords(words[1:] if words[0] == "tar" else ())
        self.errors = ""
        self.code = 0
        self.reads = "x" in self._tar.letters
        """Whether it reads an archive from its input."""

    def __repr__(self) -> str:
        return f"<FileCommand {' '.join(self._words)}>"

    async def add(self, data: bytes) -> bool:
        """Read input; return whether that was all."""
        try:
            if len(data) > PIECE:
                await in_thread(self._archive.add, data)
            else:
                self._archive.add(data)
        except (OSError, tarfile.TarError) as error:
            self._fail(str(error))
        return self._archive.complete or self.code != 0

    async def output(self) -> AsyncIterator[bytes]:
        """Do what the command does after its input, and yield what it prints."""
        if self._words[0] == "test":
            self.code = int(not self._files.is_folder(self._container, self._words[-1]))
        elif self._tar.unsupported:
            self._fail(f"option -{self._tar.unsupported} is not simulated")
        elif self.reads and not self.code:
            await self._extract()
        elif not self.reads:
            members = []
            for folder, name in self._tar.names:
                try:
                    members += self._files.members(self._container, folder, name)
                except FileNotFoundError:
                    self._fail(f"{name}: Cannot stat: No such file or directory")
            for piece in self._files.archive(members) if members else ():
                yield piece

    async def _extract(self) -> None:
        self._files.keep({pod["metadata"]["uid"] for pod in self._state.store.list(PODS)})
        try:
            await in_thread(self._files.extract, self._container, self._archive.data, self._tar.folder)
        except (OSError, tarfile.TarError) as error:
            self._fail(str(error))

    def _fail(self, message: str) -> None:
        self.errors, self.code = f"{self.errors}tar: {message}\n", 2


def file_command(state: State, container: ContainerKey, words: Sequence[str]) -> FileCommand | None:
    """Return the command if it is one about files; None for another."""
    if words[:2] == ["test", "-d"] and len(words) == 3:
        return FileCommand(state, container, words)
    tar = TarWords(words[1:]) if words[0] == "tar" else None
    is_simulated = tar is not None and tar.archive == "-" and ("x" in tar.letters or ("c" in tar.letters and tar.names))
    return FileCommand(state, container, words) if is_simulated else None
