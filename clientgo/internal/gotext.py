"""JSON values in the text forms of Go, which messages, tables and CEL share with Kubernetes."""

from typing import Any

_TYPES = (
    (dict, "map[string]interface {}"),
    (list, "[]interface {}"),
    (str, "string"),
    (bool, "bool"),
    (int, "int64"),
    (float, "float64"),
)


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
