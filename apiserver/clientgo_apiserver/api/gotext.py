"""Numbers in options of requests as Go parses them, and the words of its decoders and of its parser of quantities."""

from typing import Any

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
