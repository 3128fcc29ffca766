"""Copies of files to and from simulated containers: `tar` and `test -d`, as `kubectl cp` runs them."""

import tarfile
from collections.abc import AsyncIterator, Sequence

from clientgo_apiserver.http.steps import in_thread
from clientgo_apiserver.http.upgrades import PIECE
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.containerfiles import ArchiveReader, ContainerKey


class FileCommand:
    """`tar -x`, `tar -c` or `test -d` in a container; `code` is its exit code once it has ended."""

    def __init__(self, state: State, container: ContainerKey, words: Sequence[str]) -> None:
        self._files = state.files
        self._state = state
        self._container = container
        self._words = words
        self._archive = ArchiveReader()
        self.errors = ""
        self.code = 0
        self.reads = words[0] == "tar" and "x" in words[1]
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
        elif self.reads and not self.code:
            await self._extract()
        elif not self.reads:
            try:
                for piece in self._files.archive(self._container, self._words[-1]):
                    yield piece
            except FileNotFoundError as error:
                self._fail(f"{error}: Cannot stat: No such file or directory")

    async def _extract(self) -> None:
        self._files.keep({pod["metadata"]["uid"] for pod in self._state.store.list(("", "pods"))})
        folder = self._words[self._words.index("-C") + 1] if "-C" in self._words[:-1] else "/"
        try:
            await in_thread(self._files.extract, self._container, self._archive.data, folder)
        except (OSError, tarfile.TarError) as error:
            self._fail(str(error))

    def _fail(self, message: str) -> None:
        self.errors, self.code = f"tar: {message}\n", 2


def file_command(state: State, container: ContainerKey, words: Sequence[str]) -> FileCommand | None:
    """Return the command if it is one about files; None for another."""
    about_files = (words[:2] == ["test", "-d"] and len(words) == 3) or (
        words[0] == "tar" and len(words) > 2 and any(letter in words[1] for letter in "xc")
    )
    return FileCommand(state, container, words) if about_files else None
