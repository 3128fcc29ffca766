"""Numbers and durations in the forms of Go."""

import re
from decimal import Decimal

from clientgo.internal.patterns import lazy_pattern

_FIRST_EXPONENT = 1e21  # the first float that Go's JSON writes with an exponent
_EXACT = 2.0**53  # below it the shortest digits of a whole float are all its digits
_DURATION = lazy_pattern(r"[-+]?(((\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+|0)", re.ASCII)
_UNIT = lazy_pattern("(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
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
