"""A project's Python files: whether any has changed since they were looked at, and whether they can be read at all.

They are looked at again and again instead of having the system tell: a project has some hundred files, of which one
look takes a few milliseconds, on every system and on every kind of disk, with no further package.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Look = Mapping[Path, tuple[int, int]]
"""When each file was written last, in nanoseconds, and how long it is."""

_NOT_THE_MANAGERS = frozenset({"__pycache__", "dist", "node_modules", "tests"})


def look(root: Path) -> Look:
    """The files that the manager may be made of: not its tests, nothing hidden, no environment of Python's."""
    return dict(_files(root))


def changed(before: Look, after: Look) -> list[Path]:
    """What was written, made or removed between two looks, in order."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def broken(paths: Iterable[Path]) -> str:
    """The first of these files that is no Python, as `path:line: what is wrong with it`; empty if all are well."""
    for path in paths:
        try:
            compile(path.read_bytes(), str(path), "exec")
        except FileNotFoundError:
            continue
        except SyntaxError as error:
            return f"{path}:{error.lineno or 1}: {error.msg}"
        except ValueError as error:  # Python before 3.11.4 says this of null bytes
            return f"{path}:1: {error}"
        except OSError as error:
            return f"{path}: {error}"
    return ""


def _files(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return  # removed meanwhile, or not for us to read
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _NOT_THE_MANAGERS:
                    yield from _files(Path(entry.path))
            elif entry.name.endswith(".py"):
                seen = entry.stat()
                yield Path(entry.path), (seen.st_mtime_ns, seen.st_size)
        except OSError:
            continue
