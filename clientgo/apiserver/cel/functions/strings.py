"""String functions of CEL."""

import re
from collections.abc import Callable
from typing import Any

from clientgo.apiserver.cel.functions.operators import OPERATORS
from clientgo.apiserver.cel.functions.patterns import found, matches, pattern_error
from clientgo.apiserver.cel.types import ExprType
from clientgo.apiserver.cel.values import CelError, kind_of

_UPPER = {ord(letter): letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}
_LOWER = {ord(letter.upper()): letter for letter in "abcdefghijklmnopqrstuvwxyz"}
_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d+))?(.))", re.DOTALL)


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def text_index(text: str, wanted: str, offset: int = 0) -> int:
    """Return where a text has another from an offset on, or -1."""
    if wanted and not 0 <= offset <= len(text):
        raise CelError(f"index out of range: {offset}")
    return text.find(wanted, offset) if wanted else offset


def text_last_index(text: str, wanted: str, offset: int | None = None) -> int:
    """Return where a text has another last, starting at most at an offset, or -1."""
    if offset is None:
        return text.rfind(wanted)
    if wanted and not 0 <= offset <= len(text):
        raise CelError(f"index out of range: {offset}")
    return text.rfind(wanted, 0, offset + len(wanted)) if wanted else offset


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, len(text) if end is None else end):
        if not 0 <= index <= len(text):
            raise CelError(f"index out of range: {index}")
    return text[start:end]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(_QUOTED.get(char, char) for char in escaped) + '"'


def _checked(pattern: str) -> str:
    why = pattern_error(pattern)
    if why:
        raise CelError(f"Illegal regex: {why}")
    return pattern


def _matches(text: str, pattern: str) -> bool:
    why = pattern_error(pattern)
    if why:
        raise CelError(why)
    return matches(pattern, text)


def _find(text: str, pattern: str) -> str:
    return next(iter(found(_checked(pattern), text)), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return found(_checked(pattern), text, limit)


def _format(template: str, args: list[Any]) -> str:
    left = list(args)

    def clause(match: re.Match[str]) -> str:
        if match[1]:
            return "%"
        if not left:
            raise CelError(f"index {len(args)} out of range")
        return _formatted(match[3], match[2], left.pop(0))

    return _CLAUSE.sub(clause, template)


def _formatted(verb: str, precision: str | None, value: Any) -> str:
    kind = kind_of(value)
    if verb == "s":
        return _as_string(value)
    if verb == "d" and kind in ("int", "uint"):
        return str(int(value))
    if verb in "fe" and kind in ("double", "int", "uint"):
        return format(float(value), f".{precision or 6}{verb}")
    if verb in "boxX" and kind in ("int", "uint", "bool"):
        return format(int(value), verb)
    if verb in "xX" and kind in ("string", "bytes"):
        text = (value.encode() if kind == "string" else value).hex()
        return text.upper() if verb == "X" else str(text)
    names = {"d": "decimal", "f": "fixed-point", "e": "scientific", "b": "binary", "o": "octal", "x": "hex", "X": "hex"}
    if verb not in names:
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    raise CelError(f"error during formatting: {names[verb]} clause can't be used on {kind}")


def _as_string(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_string, value)) + "]"
    if isinstance(value, dict):
        parts = sorted((_as_string(key), _as_string(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in parts) + "}"
    if value is None:
        return "null"
    return str(value) if isinstance(value, ExprType) else str(OPERATORS["string"](value))


STRINGS: dict[str, Callable[..., Any]] = {
    "charAt": _char_at,
    "contains": lambda text, part: part in text,
    "endsWith": str.endswith,
    "find": _find,
    "findAll": _find_all,
    "format": _format,
    "join": lambda parts, separator="": separator.join(parts),
    "jsonpatch.escapeKey": lambda text: text.replace("~", "~0").replace("/", "~1"),
    "lowerAscii": lambda text: text.translate(_LOWER),
    "matches": _matches,
    "replace": lambda text, old, new, limit=-1: text.replace(old, new, limit),
    "split": _split,
    "startsWith": str.startswith,
    "strings.quote": _quote,
    "substring": _substring,
    "trim": lambda text: text.strip(),
    "upperAscii": lambda text: text.translate(_UPPER),
}
