"""Numbers in options of requests as Go parses them, values as it formats them, and the words of its parsers."""

import math
from typing import Any

_ESCAPES = dict(zip('"\\\a\b\f\n\r\t\v', (rf"\{letter}" for letter in '"\\abfnrtv'), strict=True))
_MAX_DIGITS = 21  # more than a number of 64 bits has


def parse_int(text: str) -> int:
    """Parse a signed number of 64 bits as Go does.

    Raises:
        ValueError: the text is not such a number, in Go's words.
    """
    digits = text[1:] if text.startswith(("+", "-")) else text
    return _parsed("ParseInt", text, digits, -(1 << 63), (1 << 63) - 1)


def parse_uint(text: str, bits: int = 64) -> int:
    """Parse an unsigned number of that many bits as Go does.

    Raises:
        ValueError: the text is not such a number, in Go's words.
    """
    return _parsed("ParseUint", text, text, 0, (1 << bits) - 1)


def _parsed(function: str, text: str, digits: str, least: int, most: int) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f'strconv.{function}: parsing "{text}": invalid syntax')
    # Python itself limits the parsing of very long numbers.
    number = int(digits.lstrip("0")[:_MAX_DIGITS] or "0") * (-1 if text[0] == "-" else 1)
    if not least <= number <= most:
        raise ValueError(f'strconv.{function}: parsing "{text}": value out of range')
    return number


QUANTITY_ERRORS = {
    "form": "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    "number": "unable to parse numeric part of quantity",
    "suffix": "unable to parse quantity's suffix",
}
"""Messages of the parser of quantities, by the invalid part."""


_JSON_TYPES = {bool: "bool", str: "string", int: "number", float: "number", dict: "object", list: "array"}


def json_type(value: Any) -> str:
    """Return the JSON type of a value as Go names it in decoding errors."""
    return "null" if value is None else _JSON_TYPES.get(type(value), "value")


_GO_TYPES = (
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
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    return next(text for text in (f"{value:.{digits}e}" for digits in range(18)) if float(text) == value)


def quoted_text(text: str) -> str:
    """Quote a text as `%q` does: characters that are not printed are escaped."""
    return f'"{"".join(char if char.isprintable() and char not in _ESCAPES else escaped(char) for char in text)}"'


def escaped(char: str) -> str:
    """Return the escape of a character in double quotes."""
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
    return next((name for cls, name in _GO_TYPES if isinstance(value, cls)), "%!s(<nil>)")


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
