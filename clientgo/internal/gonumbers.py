"""Numbers of Go's JSON, which knows integers of 64 bits and floats."""

from decimal import Decimal

_FIRST_EXPONENT = 1e21  # the first float that Go's JSON writes with an exponent
_EXACT = 2.0**53  # below it the shortest digits of a whole float are all its digits


def json_number(value: float) -> int | float:
    """Return a float as it is read from Go's JSON: a whole one without an exponent is an integer.

    Go writes the shortest digits that give the same float, and zeros after them: 2**64 is 18446744073709552000.
    """
    if not value.is_integer() or abs(value) >= _FIRST_EXPONENT:
        return value
    return int(value) if abs(value) < _EXACT else int(Decimal(repr(value)))
