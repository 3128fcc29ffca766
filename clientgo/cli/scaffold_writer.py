"""A project's files, written so that nothing a hand has changed is lost.

What was written is remembered by its hash in `.clientgo/scaffold.json`, which belongs into version control. A file is
written again only if it still is what was written last, or with force; what becomes of each file is told.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import msgspec

from clientgo.cli.names import CommandError
from clientgo.cli.template_files import Part
from clientgo.codegen.problems import reason_of

RECORD = Path(".clientgo", "scaffold.json")

_MARK = "# +clientgo:scaffold:"

Tell = Callable[[str, str], object]
"""Takes what was done to a file, and its path."""


class ScaffoldWriter:
    """The files below `root`; `tell` hears what becomes of each."""

    def __init__(self, root: Path, *, tell: Tell, force: bool = False) -> None:
        self._root = root
        self._tell = tell
        self._force = force
        self._hashes = _read(root / RECORD)
        self._done: dict[str, str] = {}

    def add(self, part: Part) -> None:
        """Write a file, or put lines into one."""
        if part.marker:
            self._insert(part)
        else:
            self._write(part)

    def close(self) -> None:
        """Remember what was written, and tell of each file once."""
        place = self._root / RECORD
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(self._hashes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        for path, done in self._done.items():
            self._tell(done, path)

    def note(self, done: str, path: str) -> None:
        """Tell, at the end, what was done; of a file that several parts are for, what was done first."""
        self._done.setdefault(path, done)

    def ours(self, path: str) -> bool:
        """Whether a file is as it was written, by this command and no hand."""
        place = self._root / path
        return place.is_file() and self._hashes.get(path) == _hash(place.read_bytes())

    def _write(self, part: Part) -> None:
        place = self._root / part.path
        there, new = place.exists(), part.text.encode()
        if there and place.read_bytes() == new:
            self._hashes[part.path] = _hash(new)
            self.note("kept", part.path)
        elif there and not self._force and not self.ours(part.path):
            self.note("kept", f"{part.path} (changed by hand; --force writes it anew)")
        else:
            self._put(part.path, new)
            self.note("updated" if there else "created", part.path)

    def _insert(self, part: Part) -> None:
        place = self._root / part.path
        try:
            before = place.read_text(encoding="utf-8")
        except FileNotFoundError:
            before = ""
        except UnicodeDecodeError as error:
            raise CommandError(f"cannot add lines to {part.path}: {reason_of(error)}") from error
        after = inserted(before, part.marker, part.text)
        if after is None:
            lines = "; ".join(line.strip() for line in part.text.splitlines())
            self.note("kept", f"{part.path} (it has no line {_MARK}{part.marker}: put there yourself: {lines})")
        elif after != before:
            # What a hand has changed remains a hand's: its hash, which differs, stays as it is.
            if self.ours(part.path):
                self._put(part.path, after.encode())
            else:
                place.write_text(after, encoding="utf-8")
            self.note("updated", part.path)

    def _put(self, path: str, content: bytes) -> None:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        self._hashes[path] = _hash(content)


def inserted(text: str, marker: str, lines: str) -> str | None:
    """`text` with the lines above the marker, as far in as it is; the same if they are there, None without a marker.

    Among imports they get the place that their order wants, so that no formatter moves them away from the marker.
    """
    have = text.splitlines()
    places = [number for number, line in enumerate(have) if line.strip() == _MARK + marker]
    if not places:
        return None
    place = places[0]
    indent = have[place].removesuffix(_MARK + marker)
    new = [indent + line if line else "" for line in lines.splitlines()]
    if "\n".join(new) in text:
        return text
    if marker == "imports":
        return _text(_with_imports(have, place, new))
    return _text([*have[:place], *new, *have[place:]])


def _with_imports(have: list[str], place: int, new: list[str]) -> list[str]:
    # Below the library's imports stand the project's own, as a block with an empty line on either side.
    end = place - 1 if place and not have[place - 1] else place
    first = end
    while first and have[first - 1].startswith("from ") and not have[first - 1].startswith("from clientgo"):
        first -= 1
    if first == end:
        return [*have[:place], *new, "", *have[place:]]
    return [*have[:first], *sorted({*have[first:end], *new}), *have[end:]]


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _read(place: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(place.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise CommandError(f"invalid {place}: restore it from version control, or remove it and use --force") from error


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
