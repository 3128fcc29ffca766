"""JSON values in the text forms of Go, which messages, tables and CEL share with Kubernetes."""

from typing import Any

TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}
"""Names of Go's types by the Python type of a decoded JSON value."""


def go_float(value: float) -> str:
    """Format a float like Go's %v: shortest digits, with an exponent for large and small values."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    return next(text for text in (f"{value:.{digits}e}" for digits in range(18)) if float(text) == value)


def go_map(value: Any) -> str:
    """Format a value like Go's %+v: `map[a:1 b:[x y]]`."""
    return _format(value, "{1}")


def go_string(value: Any) -> str:
    """Format a value like Go's %s, which names the type of all that is not a string: `%!s(int64=1)`."""
    return _format(value, "%!s({0}={1})") if value is not None else "%!s(<nil>)"


def go_type(value: Any) -> str:
    """Return the name of the value's type as Go's %s formats it."""
    return TYPES.get(type(value), "%!s(<nil>)")


def _format(value: Any, other: str) -> str:
    """Format a value; `other` is the format of what is not a string, by the names and texts of Go."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_format(value[key], other)}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_format(item, other) for item in value) + "]"
    if value is None:
        return "<nil>" if other == "{1}" else "%!s(<nil>)"
    if isinstance(value, bool):
        return other.format("bool", "true" if value else "false")
    return other.format(go_type(value), go_float(value) if isinstance(value, float) else value)
