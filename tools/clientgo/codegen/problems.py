"""Collection of all errors in the input, with their files and lines."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from clientgo.log.values import one_line

_LONGEST = 2000
"""Limit of the length of a message; quoted input may be of any length."""


class CodegenError(ValueError):
    """The generator cannot read its configuration, or not write its output; the message is for the user."""


class Problems:
    """Errors in the form `file:line: error: fix`, and warnings."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, str], None] = {}
        self._warnings: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[str]:
        # Errors about a whole file have no line.
        return (
            shown_text(f"{file}:{line or ''}{': ' if line else ' '}{message}")
            for file, line, message in sorted(self._found)
        )

    @property
    def warnings(self) -> list[str]:
        """Warnings, each once."""
        return list(self._warnings)

    def warn(self, message: str) -> None:
        """Warn the user; a repeated warning is ignored."""
        self._warnings[message] = None

    def at_class(self, cls: type[Any], message: str) -> None:
        """Report an error about a class."""
        self.at_module(*place_of(cls), message)

    def at_field(self, cls: type[Any], field: str, message: str) -> None:
        """Report an error about a field."""
        self.at_module(*place_of(cls, field), f"{cls.__name__}.{field}: {message}")

    def at_module(self, file: str, line: int, message: str) -> None:
        """Report an error about a file; line 0 is the whole file."""
        self._found[file, line, message] = None


def place_of(cls: type[Any], field: str | None = None) -> tuple[str, int]:
    """Return file and line of a class or one of its fields, which may be inherited."""
    try:
        file = shown(inspect.getfile(cls))
    except (OSError, TypeError):
        return cls.__module__, 0
    for base in _with_fields(cls) if field is not None else ():
        for statement in _body_of(base):
            if isinstance(statement, ast.AnnAssign | ast.Assign) and field in _targets(statement):
                return shown(inspect.getfile(base)), statement.lineno
    body = _source_of(cls)
    return file, body.lineno if body else 0


def field_docs(cls: type[Any]) -> dict[str, str]:
    """Return the attribute docstrings of a class and its bases by field."""
    return {
        statement.target.id: " ".join(following.value.value.split())
        for base in reversed(_with_fields(cls))
        for statement, following in pairwise(_body_of(base))
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    }


def _with_fields(cls: type[Any]) -> list[type[Any]]:
    """Return the class and its bases that may declare fields, nearest first."""
    return [base for base in cls.__mro__ if base.__module__.partition(".")[0] not in ("builtins", "msgspec", "typing")]


def _body_of(cls: type[Any]) -> list[ast.stmt]:
    source = _source_of(cls)
    return source.body if source is not None else []


def _targets(statement: ast.AnnAssign | ast.Assign) -> list[str]:
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _source_of(cls: type[Any]) -> ast.ClassDef | None:
    try:
        return _classes(inspect.getfile(cls)).get(cls.__qualname__)
    except (OSError, TypeError):
        return None


@cache
def _classes(file: str) -> dict[str, ast.ClassDef]:
    classes: dict[str, ast.ClassDef] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                classes[prefix + child.name] = child
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(Path(file).read_text(encoding="utf-8")), "")
    return classes


def reason_of(error: OSError | UnicodeDecodeError) -> str:
    """Return why a file cannot be read or written, without its name."""
    if isinstance(error, UnicodeDecodeError):
        return f"invalid UTF-8 (byte {error.start})"
    return error.strerror or str(error)


def shown_text(text: str) -> str:
    """Return a message on one line, with unprintable characters escaped, and limited in length."""
    flat = one_line(text)
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"


def shown(file: str) -> str:
    """Return a path relative to the current folder if possible."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
