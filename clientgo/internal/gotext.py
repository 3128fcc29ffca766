"""JSON values and numbers in the forms of Go, which messages, tables and CEL share with Kubernetes."""

from decimal import Decimal
from typing import Any

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
        return str(int(value))
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    return next(text for text in (f"{value:.{digits}e}" for digits in range(18)) if float(text) == value)


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
