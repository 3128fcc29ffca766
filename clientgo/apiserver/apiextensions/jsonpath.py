r"""JSON paths of printed columns in CustomResourceDefinitions.

`.spec.replicas`, `.metadata.annotations['a\.b/c']`, `.metadata.labels.app\.kubernetes\.io/name`, `.items[0]`, `[-1]`,
`[1:3]`, `[*]`, and filters such as `.status.conditions[?(@.type=="Ready")].status`. A path is parsed once. Absent
fields give no result and no error, so that a column stays empty.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterable[Any]]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_FIELD = re.compile(r"((?:\\.|[^.\[\]\\'\"])+)")
_QUOTED = re.compile(r"\[\s*(?:'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\")\s*\]")
_INDEX = re.compile(r"\[\s*(-?\d+)\s*\]")
_SLICE = re.compile(r"\[\s*(-?\d*)\s*:\s*(-?\d*)\s*(?::\s*(-?\d*)\s*)?\]")
_ALL = re.compile(r"\[\s*\*\s*\]")
_FILTER = re.compile(r"\[\?\(\s*@((?:[^()'\"=!<>]|'[^']*'|\"[^\"]*\")*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?\)\]")


@dataclass(frozen=True, slots=True)
class JSONPath:
    """A parsed path; `find` returns the values it leads to, in order."""

    text: str
    steps: tuple[Step, ...]

    def find(self, document: Any) -> list[Any]:
        """Return every value the path leads to; an empty list if there is none."""
        found: list[Any] = [document]
        for step in self.steps:
            found = [value for item in found for value in step(item)]
        return found


@lru_cache(maxsize=1024)
def parse(text: str) -> JSONPath:
    """Parse a path, with or without its leading dot, `$` or braces.

    Raises:
        ValueError: the path is invalid.
    """
    rest = text.strip()
    if rest.startswith("{") and rest.endswith("}"):
        rest = rest[1:-1].strip()
    rest = rest.removeprefix("$").removeprefix("@")
    steps: list[Step] = []
    while rest:
        step, rest = _next_step(rest, text)
        steps.append(step)
    return JSONPath(text, tuple(steps))


def _next_step(rest: str, text: str) -> tuple[Step, str]:
    if rest.startswith("["):
        return _bracket(rest, text)
    deep = rest.startswith("..")
    rest = rest[2:] if deep else rest.removeprefix(".")
    if rest.startswith("["):
        return _bracket(rest, text)
    match = _FIELD.match(rest)
    if not match:
        raise ValueError(f"invalid JSON path {text!r}: unexpected {rest!r}")
    name = _unescape(match[1])
    return (_descend(name) if deep else _member(name)), rest[match.end() :]


def _bracket(rest: str, text: str) -> tuple[Step, str]:
    if match := _QUOTED.match(rest):
        return _member(_unescape(match[1] if match[1] is not None else match[2]), wild=False), rest[match.end() :]
    if match := _INDEX.match(rest):
        return _slice(*_single(int(match[1]))), rest[match.end() :]
    if match := _SLICE.match(rest):
        return _slice(*(int(part) if part else None for part in match.groups())), rest[match.end() :]
    if match := _ALL.match(rest):
        return _member("*"), rest[match.end() :]
    if match := _FILTER.match(rest):
        return _filter(match[1], match[2], match[3], text), rest[match.end() :]
    raise ValueError(f"invalid JSON path {text!r}: unexpected {rest!r}")


def _unescape(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _single(index: int) -> tuple[int, int | None]:
    return (index, index + 1 or None)


def _member(name: str, *, wild: bool = True) -> Step:
    def step(value: Any) -> Iterable[Any]:
        if wild and name == "*":
            return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return (value[name],) if isinstance(value, dict) and name in value else ()

    return step


def _descend(name: str) -> Step:
    here = _member(name)

    def step(value: Any) -> Iterable[Any]:
        found = list(here(value))
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [*found, *(deeper for item in inner for deeper in step(item))]

    return step


def _slice(start: int | None, stop: int | None = None, stride: int | None = None) -> Step:
    if stride == 0:
        raise ValueError("invalid JSON path: the step must not be 0")

    def step(value: Any) -> Iterable[Any]:
        return value[start:stop:stride] if isinstance(value, list) else ()

    return step


def _filter(left: str, symbol: str | None, right: str | None, text: str) -> Step:
    path = parse(left)
    if symbol is None or right is None:
        return lambda value: [item for item in _items(value) if path.find(item)]
    compare, wanted = _OPERATORS[symbol], _operand(right, text)

    def holds(item: Any) -> bool:
        return any(type(got) is type(want) and compare(got, want) for got in path.find(item) for want in wanted(item))

    return lambda value: [item for item in _items(value) if holds(item)]


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _operand(text: str, path: str) -> Callable[[Any], list[Any]]:
    if text.startswith("@"):
        return parse(text[1:]).find
    literal = _literal(text, path)
    return lambda _: [literal]


def _literal(text: str, path: str) -> str | int | float | bool:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return _unescape(text[1:-1])
    if text in {"true", "false"}:
        return text == "true"
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError as error:
        raise ValueError(f"invalid JSON path {path!r}: unexpected {text!r}") from error
