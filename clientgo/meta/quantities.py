"""Quantities (`500m`, `1Gi`, `2e3`): parsing, adding and formatting as in Kubernetes, and the fields that hold them.

A sum has the notation of its first non-zero part; formatting uses the largest suffix that leaves a whole number. In
JSON a quantity may also be a number (`cpu: 2`), which the built-in types hold as the string that the server stores.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import Any, get_args

from clientgo.errors import Restorable
from clientgo.internal.patterns import lazy_pattern
from clientgo.meta import constraints

_FORM = lazy_pattern(r"([+-]?)([0-9]*)(?:\.([0-9]*))?((?:(?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?)")
_EXPONENT = lazy_pattern("[eE][+-]?[0-9]+")
_SCALES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {scale: suffix for suffix, scale in _SCALES.items()}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SMALLEST, _LARGEST = 10**9, 2**63 - 1
"""Parts of one that amounts are rounded up to, and the largest binary amount."""
# Kubernetes computes with 64-bit integers if the digits fit, and only then keeps a text that is not canonical. A unit
# of 1024 leaves fewer digits, by the power.
_FAST_DIGITS, _FAST_BINARY_DIGITS = 18, (14, 11, 8, 5, 2, -1, -4)
# Kubernetes computes numbers of any size. These bound the cost, and the digits that Python prints.
_MAX_DIGITS, _MAX_EXPONENT, _MAX_SHOWN = 1000, 999, 100
_FIELDS = {
    "ResourceRequirements": "limits requests", "VolumeResourceRequirements": "limits requests",
    "ResourceQuotaSpec": "hard", "ResourceQuotaStatus": "hard used",
    "LimitRangeItem": "default defaultRequest max maxLimitRequestRatio min", "NodeStatus": "allocatable capacity",
    "NodeAllocatableMappedResources": "quantity", "NodeAllocatableOverheadResources": "perContainer perPod",
    "PersistentVolumeSpec": "capacity", "PersistentVolumeClaimStatus": "allocatedResources capacity",
    "PodSpec": "overhead", "PodStatus": "allocatedResources", "ContainerStatus": "allocatedResources",
    "EmptyDirVolumeSource": "sizeLimit", "ResourceFieldSelector": "divisor", "HPAScalingRules": "tolerance",
    "MetricTarget": "averageValue value", "MetricValueStatus": "averageValue value",
    "CSIStorageCapacity": "capacity maximumVolumeSize", "Overhead": "podFixed",
    "CapacityRequestPolicy": "default validValues", "CapacityRequestPolicyRange": "max min step",
    "CapacityRequirements": "requests", "Counter": "value", "DeviceCapacity": "value",
    "DeviceRequestAllocationResult": "consumedCapacity", "NodeAllocatableResourceMapping": "allocationMultiplier",
}  # fmt: skip
QUANTITY_FIELDS: Mapping[str, frozenset[str]] = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}
"""Go type → JSON fields that are quantities, or maps or lists of them; generated types declare strings."""


class InvalidQuantity(Restorable, ValueError):
    """A text that is not a quantity; `part` is what is invalid: the `form`, the `suffix` or the `number`."""

    def __init__(self, text: str, part: str, expected: str) -> None:
        """Describe the text; `expected` completes the message."""
        excerpt = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
        super().__init__(f"invalid quantity {excerpt!r}: expected {expected}")
        self.part = part


class ParsedQuantity:
    """An amount, and its notation: `decimal` (5M), `binary` (5Mi) or `exponent` (5e6).

    `kept` is the text as the server stores it, if that is the one that was parsed; or else empty. `integer` is True if
    Kubernetes has the amount as a 64-bit integer.

    Raises:
        InvalidQuantity: the text is not a quantity.
    """

    __slots__ = ("integer", "kept", "notation", "value")

    def __init__(self, text: Any) -> None:
        """Parse a string or a number."""
        text = as_text(text)
        match = _FORM.fullmatch(text) if text else None
        if match is None:
            raise InvalidQuantity(text, "form", "a number with a suffix such as m, k, Mi or Gi")
        sign, integer_digits, decimals, suffix = match[1], match[2].lstrip("0"), match[3] or "", match[4]
        digits = (integer_digits or "0") + decimals
        if len(digits) > _MAX_DIGITS:
            raise InvalidQuantity(text, "number", f"at most {_MAX_DIGITS} digits, got {len(digits)}")
        self.notation, power = _read_suffix(text, suffix)
        number = int(digits)
        binary = self.notation == "binary"
        scale = -len(decimals) if binary else power - len(decimals)
        capacity = (_FAST_BINARY_DIGITS[power] if not decimals else 0) if binary else _FAST_DIGITS
        fast = capacity >= len(digits) and scale >= -9
        if not (fast or match[2] or decimals):
            raise InvalidQuantity(text, "number", "a digit")
        size = Fraction(number * 1024**power, 10 ** len(decimals)) if binary else _scaled(number, scale)
        size = Fraction(ceil(size * _SMALLEST), _SMALLEST)
        if binary:
            size = min(size, Fraction(_LARGEST))
            self.notation = "decimal" if 0 < size < 1 else "binary"
            canonical_digits = number % 8 != 0
        else:
            canonical_digits = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
        self.value = -size if sign == "-" else size
        self.integer = fast and scale >= 0 and size <= _LARGEST
        self.kept = text if fast and canonical_digits else ""

    def __repr__(self) -> str:
        return f"<ParsedQuantity {self}>"

    def __str__(self) -> str:
        if self.kept:
            return self.kept
        if self.notation == "binary" and abs(self.value) >= 1024 and self.value.denominator == 1:
            amount, power = _without_factor(self.value.numerator, 1024)
            return f"{amount}{_BINARY[power] if power < len(_BINARY) else ''}"
        amount, exponent = _without_factor((self.value * _SMALLEST).numerator, 10)
        exponent -= 9
        amount, exponent = amount * 10 ** (exponent % 3), exponent - exponent % 3
        if not amount or not exponent:
            return str(amount)
        return f"{amount}e{exponent}" if self.notation == "exponent" else f"{amount}{_SUFFIXES.get(exponent, '')}"

    def plus(self, other: "ParsedQuantity", sign: int = 1) -> "ParsedQuantity":
        """Return the sum, or with -1 the difference; it has the notation of the first part unless that is zero."""
        result = ParsedQuantity.__new__(ParsedQuantity)
        result.notation = self.notation if self.value else other.notation
        result.value = self.value + sign * other.value
        result.integer = self.integer and other.integer and abs(result.value) <= _LARGEST
        result.kept = ""
        return result


def as_text(value: Any) -> str:
    """Return a string as it is, and a number as JSON has it."""
    return value if isinstance(value, str) else str(value).replace("e-0", "e-")


def _read_suffix(text: str, suffix: str) -> tuple[str, int]:
    """Return the notation that a suffix has, and the power of 10, or of 1024."""
    if suffix in _SCALES:
        return "decimal", _SCALES[suffix]
    if suffix in _BINARY:
        return "binary", _BINARY.index(suffix)
    if _EXPONENT.fullmatch(suffix) is None:
        raise InvalidQuantity(text, "suffix", "a suffix such as m, k, Mi, Gi or e3")
    digits = suffix[1:].lstrip("+-").lstrip("0")
    if len(digits) > len(str(_MAX_EXPONENT)):
        raise InvalidQuantity(text, "suffix", f"an exponent of at most {_MAX_EXPONENT}")
    return "exponent", -int(digits or "0") if suffix[1] == "-" else int(digits or "0")


def _scaled(number: int, power: int) -> Fraction:
    return Fraction(number * 10**power) if power >= 0 else Fraction(number, 10**-power)


def _without_factor(number: int, factor: int) -> tuple[int, int]:
    """Return the number without this factor, and how often it was contained."""
    times = 0
    while number and number % factor == 0:
        number, times = number // factor, times + 1
    return number, times


def canonical(text: str, *, thousandths: bool = False) -> str:
    """Return a quantity as the server writes it: unchanged if its digits fit its suffix, else with another suffix.

    With `thousandths` it is rounded up to them, as the amounts of resources are.

    Raises:
        InvalidQuantity: the text is not a quantity.
    """
    parsed = ParsedQuantity(text)
    if thousandths and (parsed.value * 1000).denominator != 1:
        size = Fraction(ceil(abs(parsed.value) * 1000), 1000)
        parsed.value, parsed.kept = -size if parsed.value < 0 else size, ""
    return str(parsed)


def total(quantities: Iterable[ParsedQuantity]) -> ParsedQuantity:
    """Return the sum: the part itself if there is one, 0 for none."""
    summands = iter(quantities)
    return reduce(ParsedQuantity.plus, summands, next(summands, ParsedQuantity("0")))


_DECLARED = get_args(constraints.Quantity)[1]


def is_quantity(meta: constraints.Meta) -> bool:
    """Report whether a constraint is that of `clientgo.meta.Quantity`, whose fields hold integers or text."""
    return bool(meta == _DECLARED)


def quantity_fields(cls: type) -> frozenset[str]:
    """Return the JSON names of a built-in type's quantities, whose fields hold text; none for other classes."""
    built_in = cls.__module__.startswith("clientgo.kubernetes.")
    return QUANTITY_FIELDS.get(cls.__name__, frozenset()) if built_in else frozenset()
