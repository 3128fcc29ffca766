"""String functions of CEL."""

from collections.abc import Callable
from typing import Any

from clientgo_apiserver.cel.functions.formatting import formatted
from clientgo_apiserver.cel.functions.patterns import find_all, matches, pattern_error
from clientgo_apiserver.cel.values import CelError

_UPPER = {ord(letter): letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}
_LOWER = {ord(letter.upper()): letter for letter in "abcdefghijklmnopqrstuvwxyz"}
_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def text_index(text: str, part: str, offset: int = 0) -> int:
    """Return where a text has another from an offset on, or -1."""
    if not part:
        return offset
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    return text.find(part, offset)


def text_last_index(text: str, part: str, offset: int | None = None) -> int:
    """Return where a text has another last, starting at most at an offset, or -1."""
    if offset is None:
        return text.rfind(part)
    if part and not 0 <= offset <= len(text):
        raise CelError(f"index out of range: {offset}")
    return text.rfind(part, 0, offset + len(part)) if part else offset


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
    reason = pattern_error(pattern)
    if reason:
        raise CelError(f"Illegal regex: {reason}")
    return pattern


def _matches(text: str, pattern: str) -> bool:
    reason = pattern_error(pattern)
    if reason:
        raise CelError(reason)
    return matches(pattern, text)


def _find(text: str, pattern: str) -> str:
    return next(iter(find_all(_checked(pattern), text, 1)), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return find_all(_checked(pattern), text, limit)


STRINGS: dict[str, Callable[..., Any]] = {
    "charAt": _char_at,
    "contains": lambda text, part: part in text,
    "endsWith": str.endswith,
    "find": _find,
    "findAll": _find_all,
    "format": formatted,
    "join": lambda texts, separator="": separator.join(texts),
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
