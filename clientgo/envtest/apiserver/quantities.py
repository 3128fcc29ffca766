"""Quantities (`500m`, `1Gi`, `2e3`) as Kubernetes reads, adds and prints them.

A sum keeps the notation of its first part that is not zero; printing takes the largest suffix that leaves a whole
number.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import Any

# An exponent of more than two digits is beyond what Kubernetes holds, and would cost more than it is worth.
_FORM = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY = {"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


class Quantity:
    """An amount of something, and whether it is written in powers of 1024.

    Raises:
        ValueError: the text is no quantity.
    """

    __slots__ = ("binary", "value")

    def __init__(self, text: Any) -> None:
        """`text` is as it stands in an object: a string, or a number."""
        found = _FORM.fullmatch(str(text))
        if found is None:
            raise ValueError(f"{text!r} is no quantity: a number with a suffix such as m, k, Mi or Gi is wanted")
        number, exponent, suffix = Fraction(found[1]), found[2], found[3] or ""
        self.binary = suffix.endswith("i")
        if exponent:
            self.value = number * Fraction(10) ** int(exponent[1:])
        elif self.binary:
            self.value = number * 1024 ** _BINARY[suffix]
        else:
            self.value = number * Fraction(1000) ** _DECIMAL[suffix]

    def __repr__(self) -> str:
        return f"<Quantity {self}>"

    def __str__(self) -> str:
        if self.binary and abs(self.value) >= 1024 and self.value.denominator == 1:
            return _shortest(self.value, Fraction(1024), _BINARY)
        # Nothing finer than a billionth is kept: as in Kubernetes, it is rounded up.
        return _shortest(Fraction(ceil(self.value * 10**9), 10**9), Fraction(1000), _DECIMAL)


def total(parts: Iterable[Quantity]) -> Quantity:
    """The sum; of nothing, it is 0."""
    found = Quantity("0")
    for part in parts:
        found.binary = part.binary if not found.value else found.binary
        found.value += part.value
    return found


def _shortest(value: Fraction, base: Fraction, suffixes: dict[str, int]) -> str:
    for suffix, power in sorted(suffixes.items(), key=lambda item: -item[1]):
        whole = value / base**power
        if whole.denominator == 1 and (whole or not power):
            return f"{whole.numerator}{suffix}"
    raise AssertionError("billionths are whole")
