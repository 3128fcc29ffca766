"""Name collisions of a generated module with library classes that it imports: a kind `Status` has a StatusClient."""

import ast
import re
from collections.abc import Iterator

from clientgo.codegen.render.source import import_line

_IMPORT = re.compile(r"^from (?P<module>[\w.]+) import (?:\((?P<broken>[^()]*)\)|(?P<names>[^(\n].*))\n", re.MULTILINE)
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


def distinct(source: str) -> str:
    """Return a module whose library classes do not share names with its own: they are imported as `Base...`.

    A library class is used as a base or with type parameters, an own one never: that tells them apart.
    """
    names = _shared(source)
    if not names:
        return source
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source  # reported before anything is written
    lines, uses = source.split("\n"), list(_library_uses(tree, names))
    for node in sorted(uses, key=lambda name: (name.lineno, -name.col_offset)):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = f"{line[: node.col_offset]}Base{line[node.col_offset :]}"
    used = {node.id for node in uses}
    return _IMPORT.sub(lambda match: _renamed(match, names, used), "\n".join(lines))


def _shared(source: str) -> set[str]:
    """Return the names that a module imports from the library, and defines or imports from elsewhere too."""
    imports = list(_IMPORT.finditer(source))
    library = {name for match in imports if match["module"].startswith("clientgo.") for name in _names(match)}
    foreign = {name for match in imports if not match["module"].startswith("clientgo.") for name in _names(match)}
    return library & (foreign | set(_CLASS.findall(source)))


def _names(match: re.Match[str]) -> list[str]:
    return re.findall(r"\w+", match["broken"] or match["names"])


def _library_uses(tree: ast.Module, names: set[str]) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        uses = node.bases if isinstance(node, ast.ClassDef) else [node.value] if isinstance(node, ast.Subscript) else []
        yield from (use for use in uses if isinstance(use, ast.Name) and use.id in names)


def _renamed(match: re.Match[str], names: set[str], used: set[str]) -> str:
    if not match["module"].startswith("clientgo.") or names.isdisjoint(_names(match)):
        return match[0]
    unchanged = [name for name in _names(match) if name not in names]
    renamed = [f"from {match['module']} import {name} as Base{name}" for name in sorted({*_names(match)} & used)]
    return "".join(
        f"{line}\n" for line in [*([import_line(match["module"], unchanged)] if unchanged else []), *renamed]
    )
