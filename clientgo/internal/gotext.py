"""JSON values, numbers and durations in the forms of Go, which messages, tables and CEL share with Kubernetes."""

import math
import re
from decimal import Decimal
from typing import Any

from clientgo.internal.patterns import lazy_pattern

_FIRST_EXPONENT = 1e21  # the first float that Go's JSON writes with an exponent
_EXACT = 2.0**53  # below it the shortest digits of a whole float are all its digits
_TYPES = (
    (dict, "map[string]interface {}"),
    (list, "[]interface {}"),
    (str, "string"),
    (bool, "bool"),
    (int, "int64"),
    (float, "float64"),
)
_DURATION = lazy_pattern(r"[-+]?(((\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+|0)", re.ASCII)
_UNIT = lazy_pattern("(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_ESCAPES = dict(zip('"\\\a\b\f\n\r\t\v', (rf"\{letter}" for letter in '"\\abfnrtv'), strict=True))
_SECONDS = {"ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration_seconds(text: str) -> float:
    """Return the seconds of a duration in Go's notation, such as `1h30m`, `-1.5h`, `500ms` or `0`.

    Raises:
        ValueError: Go's time.ParseDuration rejects the text.
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f"invalid duration {text!r}: expected a number with a unit, such as 15s, 1m30s or 500ms")
    split = _UNIT.split(text.lstrip("+-"))
    total = sum(float(number) * _SECONDS[unit] for number, unit in zip(split[::2], split[1::2], strict=False))
    return -total if text.startswith("-") else total


def json_number(value: float) -> int | float:
    """Return a float as it is read from Go's JSON: a whole one without an exponent is an integer.

    Go writes the shortest digits that give the same float, and zeros after them: 2**64 is 18446744073709552000.
    """
    if not value.is_integer() or abs(value) >= _FIRST_EXPONENT:
        return value
    return int(value) if abs(value) < _EXACT else int(Decimal(repr(value)))


def go_float(value: float) -> str:
    """Format a float like Go's %v: shortest digits, with an exponent for large and small values."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    return next(text for text in (f"{value:.{digits}e}" for digits in range(18)) if float(text) == value)


def quoted_text(text: str) -> str:
    """Quote a text as `%q` does: characters that are not printed are escaped."""
    return f'"{"".join(char if char.isprintable() and char not in _ESCAPES else _escaped(char) for char in text)}"'


def _escaped(char: str) -> str:
    code = ord(char)
    default = f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return _ESCAPES.get(char, default)


def go_map(value: Any) -> str:
    """Format a value like Go's %+v: `map[a:1 b:[x y]]`."""
    return _format(value, "v")


def go_string(value: Any) -> str:
    """Format a value like Go's %s, which names the type of all that is not a string: `%!s(int64=1)`."""
    return _format(value, "s")


def go_type(value: Any) -> str:
    """Return the name of the value's type as Go's %s formats it."""
    return next((name for cls, name in _TYPES if isinstance(value, cls)), "%!s(<nil>)")


def _format(value: Any, verb: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_format(value[key], verb)}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_format(item, verb) for item in value) + "]"
    if value is None:
        return "<nil>" if verb == "v" else go_type(value)
    text = (
        str(value).lower() if isinstance(value, bool) else go_float(value) if isinstance(value, float) else str(value)
    )
    return text if verb == "v" else f"%!{verb}({go_type(value)}={text})"
