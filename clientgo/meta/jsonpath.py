r"""JSON paths of printed columns in CustomResourceDefinitions, and of awaited values (`kubectl wait`).

`.spec.replicas`, `.metadata.annotations['a\.b/c']`, `.metadata.labels.app\.kubernetes\.io/name`, `.items[0]`, `[-1]`,
`[1:3]`, `[*]`, `[]` for the first, and filters such as `.status.conditions[?(@.type=="Ready")].status`. A path is
parsed once. Absent fields lead to no value, which is no error.
"""

import operator
import re
from collections.abc import Callable, Iterable
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
_STEP = re.compile(
    r"""(?P<dots>\.{0,2}) (?:
    \[\s* (?: '(?P<single>(?:\\.|[^'\\])*)' | "(?P<double>(?:\\.|[^"\\])*)" ) \s*\]
    | \[\s* (?: (?P<index>-?\d+)\s* | (?P<all>\*)\s*
      | (?P<slice>(?:-?\d+\s*)?:\s*(?:-?\d+\s*)?(?::\s*(?:-?\d+\s*)?)?) ) \]
    | \[\]
    | \[\?\(\s* @(?P<left>(?:[^()'"=!<>]|'[^']*'|"[^"]*")*)
      (?: (?P<operator>==|!=|<=|>=|<|>) (?P<right>.+?) )? \)\]
    | (?P<field>(?:\\.|[^.\[\]\\'"])+) )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class JSONPath:
    """A parsed path; `find` returns the values it leads to, in order."""

    text: str
    steps: tuple[Step, ...]

    def find(self, document: Any) -> list[Any]:
        """Return every value the path leads to; an empty list if there is none."""
        values: list[Any] = [document]
        for step in self.steps:
            values = [value for item in values for value in step(item)]
        return values


@lru_cache(maxsize=1024)
def parse(text: str) -> JSONPath:
    """Parse a path, with or without its leading dot, `$` or braces.

    Raises:
        ValueError: the path is invalid.
    """
    path = text.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    path = path.removeprefix("$").removeprefix("@")
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(f"invalid JSON path {text!r}: unexpected {path[position:]!r}")
        steps.append(_step(match.groupdict(), text))
        position = match.end()
    return JSONPath(text, tuple(steps))


def _step(part: dict[str, str | None], text: str) -> Step:
    if part["field"] is not None:
        name = _unescape(part["field"])
        return _descend(name) if part["dots"] == ".." else _member(name)
    for quoted in (part["single"], part["double"]):
        if quoted is not None:
            return _member(_unescape(quoted), wild=False)
    if part["all"]:
        return _member("*")
    if part["left"] is not None:
        return _filter(part["left"], part["operator"], part["right"], text)
    index = int(part["index"] or 0)
    chosen = slice(index, index + 1 or None)
    if part["slice"]:
        bounds = [int(bound) if bound.strip() else None for bound in part["slice"].split(":")]
        if bounds[2:] == [0]:
            raise ValueError("invalid JSON path: the step must not be 0")
        chosen = slice(*bounds)
    return lambda value: value[chosen] if isinstance(value, list) else ()


def _unescape(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _member(name: str, *, wild: bool = True) -> Step:
    if wild and name == "*":
        return _children
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _descend(name: str) -> Step:
    members = _member(name)

    def step(value: Any) -> Iterable[Any]:
        return [*members(value), *(deeper for item in _children(value) for deeper in step(item))]

    return step


def _filter(operand_path: str, symbol: str | None, right: str | None, text: str) -> Step:
    path, right = parse(operand_path), (right or "").strip()
    if symbol is None:
        return lambda value: [item for item in value if path.find(item)] if isinstance(value, list) else ()
    compare = _OPERATORS[symbol]
    literal = None if right.startswith("@") else _literal(right, text)
    other = parse(right[1:]) if literal is None else None

    def holds(item: Any) -> bool:
        operands = [literal] if other is None else other.find(item)
        return any(type(got) is type(want) and compare(got, want) for got in path.find(item) for want in operands)

    return lambda value: [item for item in value if holds(item)] if isinstance(value, list) else ()


def _literal(text: str, path: str) -> str | int | float | bool:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return _unescape(text[1:-1])
    if text in {"true", "false"}:
        return text == "true"
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError as error:
        raise ValueError(f"invalid JSON path {path!r}: unexpected {text!r}") from error
