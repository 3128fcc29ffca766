"""Quantities (`500m`, `1Gi`, `2e3`): parsing, adding and formatting as in Kubernetes, and the fields that hold them.

A sum has the notation of its first non-zero part; formatting uses the largest suffix that leaves a whole number. In
JSON a quantity may also be a number (`cpu: 2`), which the built-in types hold as the string that the server stores.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, get_args

from clientgo.meta import constraints

# An exponent of more than two digits exceeds Kubernetes' range, and would be expensive.
_FORM = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY = {"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
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


class ParsedQuantity:
    """An amount, and whether its notation is in powers of 1024.

    Raises:
        ValueError: the text is not a quantity.
    """

    __slots__ = ("binary", "value")

    def __init__(self, text: Any) -> None:
        """Parse a string or a number."""
        match = _FORM.fullmatch(str(text))
        if match is None:
            raise ValueError(f"invalid quantity {text!r}: expected a number with a suffix such as m, k, Mi or Gi")
        number, exponent, suffix = Fraction(match[1]), match[2], match[3] or ""
        self.binary = suffix.endswith("i")
        if exponent:
            self.value = number * Fraction(10) ** int(exponent[1:])
        elif self.binary:
            self.value = number * 1024 ** _BINARY[suffix]
        else:
            self.value = number * Fraction(1000) ** _DECIMAL[suffix]

    def __repr__(self) -> str:
        return f"<ParsedQuantity {self}>"

    def __str__(self) -> str:
        if self.binary and abs(self.value) >= 1024 and self.value.denominator == 1:
            return _shortest(self.value, Fraction(1024), _BINARY)
        # As in Kubernetes, rounded up to a billionth.
        return _shortest(Fraction(ceil(self.value * 10**9), 10**9), Fraction(1000), _DECIMAL)


def canonical(text: str) -> str:
    """Return a quantity as the server writes it: unchanged if its digits fit its suffix, else with another suffix.

    Raises:
        ValueError: the text is not a quantity.
    """
    amount, match = ParsedQuantity(text), _FORM.fullmatch(text)
    assert match is not None, "it has been parsed"
    number, exponent, suffix = match[1].lstrip("+-"), match[2], match[3] or ""
    integer_digits, _, decimals = number.partition(".")
    digits = (integer_digits.lstrip("0") or "0") + decimals
    if suffix.endswith("i"):
        unchanged = "." not in number and int(integer_digits) % 8 != 0
    else:
        scale = (int(exponent[1:]) if exponent else 3 * _DECIMAL[suffix]) - len(decimals)
        unchanged = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    if unchanged or text == "0":
        return text
    text_form = str(amount)
    if exponent and text_form[-1] in _DECIMAL:
        return f"{text_form[:-1]}e{3 * _DECIMAL[text_form[-1]]}"
    return text_form


def total(quantities: Iterable[ParsedQuantity]) -> ParsedQuantity:
    """Return the sum; 0 for no parts."""
    result = ParsedQuantity("0")
    for part in quantities:
        result.binary = part.binary if not result.value else result.binary
        result.value += part.value
    return result


def _shortest(value: Fraction, base: Fraction, suffixes: dict[str, int]) -> str:
    for suffix, power in sorted(suffixes.items(), key=lambda item: -item[1]):
        scaled = value / base**power
        if scaled.denominator == 1 and (scaled or not power):
            return f"{scaled.numerator}{suffix}"
    raise AssertionError("billionths are whole")


_DECLARED = get_args(constraints.Quantity)[1]


def is_quantity(meta: constraints.Meta) -> bool:
    """Report whether a constraint is that of `clientgo.meta.Quantity`, whose fields hold integers or text."""
    return bool(meta == _DECLARED)


def quantity_fields(cls: type) -> frozenset[str]:
    """Return the JSON names of a built-in type's quantities, whose fields hold text; none for other classes."""
    built_in = cls.__module__.startswith("clientgo.kubernetes.")
    return QUANTITY_FIELDS.get(cls.__name__, frozenset()) if built_in else frozenset()
