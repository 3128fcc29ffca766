"""Writer of scaffolded files that keeps the user's changes.

`.clientgo/scaffold.json`, which belongs in version control, has the compressed text of each written file. A file is
overwritten only if it still has that text, or with `force`. The texts are the base of the merge of `clientgo upgrade`.

Templates are several files, or lines to insert into files, in one text:

    -- config/samples/{{sample}}.yaml --
    the whole text of a file
    -- main.py @ imports --
    lines that go above the line `# +clientgo:scaffold:imports` of main.py

Words in double braces, without spaces, are replaced, also in paths. There are no conditions and no loops: variants are
templates of their own. In YAML, a word that is a complete value is quoted if it would be read as another type: a
project may be named `on`, and a kind `Y`.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from pathlib import Path

import msgspec

from clientgo.cli.names import CommandError
from clientgo.codegen.problems import reason_of
from clientgo.codegen.render.source import WIDTH, break_line, import_line
from clientgo.internal.files import path_below, write_files
from clientgo.meta.yamlio import to_scalar

_HEAD = re.compile(r"^-- (?P<path>\S+)(?: @ (?P<marker>[a-z]+))? --\n", re.MULTILINE)
_WORD = re.compile(r"\{\{(\w+)\}\}")
_DIGITS = re.compile(r"([0-9]+)")
_IMPORT = re.compile(rf"^(?=.{{{WIDTH + 1}}})from (?P<module>\S+) import (?P<names>[^(].*)$", re.MULTILINE)
_BROKEN = re.compile(r"^from (?P<module>\S+) import \(\n(?P<names>(?:    .+,\n)+)\)$", re.MULTILINE)
_SCALAR = re.compile(r"([:-] \[?)\{\{(\w+)\}\}(?=\]?$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or with a `marker`, lines to insert into an existing file."""

    path: str
    text: str
    marker: str = ""


def parts(name: str, values: Mapping[str, str | bool]) -> Iterator[Part]:
    """Yield the parts of a template with its words replaced; KeyError if a word has no value."""
    source = files("clientgo.cli.templates").joinpath(f"{name}.tmpl").read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(source))
    ends = [*(head.start() for head in heads[1:]), len(source)]
    for head, end in zip(heads, ends, strict=True):
        path, text = _filled(head["path"], values), source[head.end() : end]
        if path.endswith(".yaml"):
            text = _SCALAR.sub(lambda word: word[1] + to_scalar(values[word[2]]), text)
        filled = _filled(text, values)
        yield Part(path, break_lines(filled) if path.endswith(".py") else filled, head["marker"] or "")


def _filled(text: str, values: Mapping[str, str | bool]) -> str:
    return _WORD.sub(lambda word: str(values[word[1]]), text)


RECORD = Path(".clientgo", "scaffold.json")

_MARK = "# +clientgo:scaffold:"

Tell = Callable[[str, str], object]
"""Receives the action and the path of a file."""


class ScaffoldWriter:
    """Writes files below `root` and reports each to `tell`."""

    def __init__(self, root: Path, *, tell: Tell, force: bool = False) -> None:
        self._root = root
        self._tell = tell
        self._force = force
        self.written = _read(root)
        """Text of each file as this command wrote it."""
        self.insertions: dict[str, list[Part]] = {}
        """Lines that were inserted into each file, in this order."""
        self._done: dict[str, str] = {}

    def add(self, *added: Part) -> None:
        """Write files, or insert lines into them."""
        for part in added:
            if part.marker:
                self._insert(part)
            else:
                self._write(part)

    def close(self) -> None:
        """Save the texts and report each file once."""
        target = self.place(str(RECORD))
        packed = {path: base64.b64encode(zlib.compress(text, 9)).decode() for path, text in self.written.items()}
        write_files({target: (json.dumps(packed, indent=1, sort_keys=True) + "\n").encode()})
        for path, done in self._done.items():
            self._tell(done, path)

    def note(self, done: str, path: str) -> None:
        """Report an action when the writer closes; the first action on a file wins."""
        self._done.setdefault(path, done)

    def place(self, path: str) -> Path:
        """Return the path of a file of the project.

        Raises:
            ConfigError: it is not in the project: names and links in a project may come from anyone.
        """
        return path_below(self._root, path)

    def text_of(self, path: str) -> str:
        """Return the text of a file, empty if it is missing; CommandError if it is not text."""
        try:
            return self.place(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise CommandError(f"cannot add lines to {path}: {reason_of(error)}") from error

    def ours(self, path: str) -> bool:
        """Report whether a file is unchanged since this command wrote it."""
        target = self.place(path)
        return target.is_file() and self.written.get(path) == target.read_bytes()

    def replace(self, path: str, content: bytes | None, *, written: bytes) -> None:
        """Write a file, unless the content is None, and record the text that the templates have for it."""
        if content is not None:
            target = self.place(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        self.written[path] = written

    def _write(self, part: Part) -> None:
        target = self.place(part.path)
        self.insertions.pop(part.path, None)
        exists, new = target.exists(), part.text.encode()
        if exists and target.read_bytes() == new:
            self.written[part.path] = new
            self.note("kept", part.path)
        elif exists and not self._force and not self.ours(part.path):
            self.note("kept", f"{part.path} (modified; use --force to overwrite)")
        else:
            self.replace(part.path, new, written=new)
            self.note("updated" if exists else "created", part.path)

    def _insert(self, part: Part) -> None:
        before = self.text_of(part.path)
        after = inserted(before, part.marker, part.text)
        if after is None:
            lines = "; ".join(line.strip() for line in part.text.splitlines())
            self.note("kept", f"{part.path} (marker {_MARK}{part.marker} not found; add these lines yourself: {lines})")
        elif after != before:
            self.place(part.path).write_text(after, encoding="utf-8")
            self.insertions.setdefault(part.path, []).append(part)
            self.note("updated", part.path)
        # A modified file stays marked as modified: the recorded text gets the lines, and not the user's changes.
        recorded = inserted(self.written.get(part.path, b"").decode(), part.marker, part.text)
        if recorded is not None:
            self.written[part.path] = recorded.encode()


def inserted(text: str, marker: str, lines: str) -> str | None:
    """Insert lines above the marker, with its indentation; return None if the marker is missing.

    Lines that exist already are not inserted again. Imports are sorted, so that formatters do not move them.
    """
    if marker == "imports":
        text, lines = _join_imports(text), _join_imports(lines)
    have = text.splitlines()
    position = _position(have, marker)
    if position is None:
        return None
    new = _indented(have[position], lines)
    if _index(have, new) is not None:
        return break_imports(text)
    if marker == "imports":
        return break_imports(_joined(_with_imports(have, position, new)))
    return _joined([*have[:position], *new, *have[position:]])


def reordered(text: str, insertions: Iterable[Part], like: str) -> str:
    """Put what was inserted above each marker of a new file into the order that it has in `like`.

    What `like` lacks stays last. Imports are sorted anyhow.
    """
    lines, earlier = text.splitlines(), like.splitlines()
    parts_of: dict[str, list[Part]] = {}
    for part in insertions:
        parts_of.setdefault(part.marker, []).append(part)
    for marker in parts_of.keys() - {"imports"}:
        end = _position(lines, marker)
        if end is None:
            continue
        blocks = [_indented(lines[end], part.text) for part in parts_of[marker]]
        start = end - sum(map(len, blocks))
        if lines[start:end] == list(chain.from_iterable(blocks)):  # no block has markers of its own
            blocks.sort(key=lambda block: len(earlier) if (index := _index(earlier, block)) is None else index)
            lines[start:end] = chain.from_iterable(blocks)
    return _joined(lines)


def _position(lines: list[str], marker: str) -> int | None:
    return next((number for number, line in enumerate(lines) if line.strip() == _MARK + marker), None)


def _indented(mark: str, lines: str) -> list[str]:
    """Return lines with the indentation of the marker."""
    indent = mark[: len(mark) - len(mark.lstrip())]
    return [indent + line if line else "" for line in lines.splitlines()]


def _index(lines: list[str], block: list[str]) -> int | None:
    return next((start for start in range(len(lines)) if lines[start : start + len(block)] == block), None)


def _with_imports(have: list[str], position: int, new: list[str]) -> list[str]:
    # The project's own imports are a block below those of the library, with an empty line on either side.
    end = position - 1 if position and not have[position - 1] else position
    first = end
    while first and have[first - 1].startswith("from ") and not have[first - 1].startswith("from clientgo"):
        first -= 1
    if first == end:
        return [*have[:position], *new, "", *have[position:]]
    return [*have[:first], *sorted({*have[first:end], *new}, key=import_order), *have[end:]]


def break_lines(text: str) -> str:
    """Break lines of Python that names of kinds made too long, as the formatter does."""
    return "\n".join(break_line(line) for line in break_imports(text).split("\n"))


def break_imports(text: str) -> str:
    """Break imports that are too long for a line, as import sorters do."""
    return _IMPORT.sub(lambda match: import_line(match["module"], match["names"].split(", ")), text)


def _join_imports(text: str) -> str:
    """Join the imports that `break_imports` would break, so that each is a line."""

    def join(match: re.Match[str]) -> str:
        names = [line.strip(" ,") for line in match["names"].rstrip("\n").split("\n")]
        line = f"from {match['module']} import {', '.join(names)}"
        return line if len(line) > WIDTH else match[0]

    return _BROKEN.sub(join, text)


def import_order(line: str) -> list[str | int]:
    """Return the key by which imports are sorted: numbers in names by their values."""
    return [int(part) if part.isdigit() else part for part in _DIGITS.split(line)]


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _read(root: Path) -> dict[str, bytes]:
    record_path = root / RECORD
    try:
        record = msgspec.json.decode(record_path.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise CommandError(
            f"invalid {record_path}: restore it from version control, or remove it and use --force"
        ) from error
    return {path: text for path, packed in record.items() if (text := _text(root / path, packed)) is not None}


def _text(path: Path, packed: str) -> bytes | None:
    try:
        return zlib.decompress(base64.b64decode(packed))
    except (ValueError, zlib.error):
        # The first projects have hashes, which tell only whether the file is modified.
        content = path.read_bytes() if path.is_file() else b""
        return content if hashlib.sha256(content).hexdigest() == packed else None
