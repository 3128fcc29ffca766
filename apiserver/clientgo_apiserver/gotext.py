"""Numbers in the text forms of Go, which options, messages, tables and CEL share."""

_MAX_DIGITS = 21  # more than a number of 64 bits has


def go_float(value: float) -> str:
    """Format a float like Go's %v: shortest digits, with an exponent for large and small values."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    return next(text for text in (f"{value:.{digits}e}" for digits in range(18)) if float(text) == value)


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
