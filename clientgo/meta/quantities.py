"""Quantities (`500m`, `1Gi`, `2e3`): parsing, adding and formatting as in Kubernetes, and the fields that hold them.

A sum has the notation of its first non-zero part; formatting uses the largest suffix that leaves a whole number. In
JSON a quantity may also be a number (`cpu: 2`), which the built-in types hold as the string that the server stores.
"""

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.meta import constraints
from clientgo.meta.wire import wire_type

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
        found = _FORM.fullmatch(str(text))
        if found is None:
            raise ValueError(f"invalid quantity {text!r}: expected a number with a suffix such as m, k, Mi or Gi")
        number, exponent, suffix = Fraction(found[1]), found[2], found[3] or ""
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
    amount, found = ParsedQuantity(text), _FORM.fullmatch(text)
    assert found is not None, "it has been parsed"
    number, exponent, suffix = found[1].lstrip("+-"), found[2], found[3] or ""
    whole, _, decimals = number.partition(".")
    digits = (whole.lstrip("0") or "0") + decimals
    if suffix.endswith("i"):
        unchanged = "." not in number and int(whole) % 8 != 0
    else:
        scale = (int(exponent[1:]) if exponent else 3 * _DECIMAL[suffix]) - len(decimals)
        unchanged = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    if unchanged or text == "0":
        return text
    shown = str(amount)
    if exponent and shown[-1] in _DECIMAL:
        return f"{shown[:-1]}e{3 * _DECIMAL[shown[-1]]}"
    return shown


def total(parts: Iterable[ParsedQuantity]) -> ParsedQuantity:
    """Return the sum; 0 for no parts."""
    found = ParsedQuantity("0")
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


_DECLARED = get_args(constraints.Quantity)[1]
"""The annotation of a user's quantity, which may hold integers."""

_BUILT_IN = object()
"""The annotation of a built-in type's quantity, or of a map or list of quantities."""


def numbers_to_quantities(content: Any, hint: Any) -> Any:
    """Return JSON for a class or annotation with numbers converted to the quantities that the server stores.

    A built-in type holds strings, so `2` becomes "2" and `0.5` becomes "500m". A field annotated as
    `clientgo.meta.Quantity` holds integers too; only other numbers become strings there.
    """
    origin, inside = get_origin(hint), get_args(hint)
    held = hint is _BUILT_IN and isinstance(content, int) and not isinstance(content, bool)
    if held or (isinstance(content, float) and (hint is _BUILT_IN or _DECLARED in inside[1:])):
        return str(ParsedQuantity(content))
    if origin is Annotated:
        return numbers_to_quantities(content, inside[0])
    if origin in (Union, UnionType):
        return functools.reduce(numbers_to_quantities, inside, content)
    if isinstance(content, list) and (hint is _BUILT_IN or origin in (tuple, list)):
        return [numbers_to_quantities(item, inside[0] if inside else hint) for item in content]
    if isinstance(content, dict):
        fields = _fields(hint) if isinstance(hint, type) else {}
        values = hint if hint is _BUILT_IN else inside[1] if len(inside) == 2 else Any
        return {key: numbers_to_quantities(value, fields.get(key, values)) for key, value in content.items()}
    return content


@functools.lru_cache(maxsize=1024)
def _fields(cls: type) -> Mapping[str, Any]:
    """Return the annotations of a class by JSON names; none for a class without fields."""
    if not (isinstance(cls, msgspec.StructMeta) or dataclasses.is_dataclass(cls)):
        return {}
    wire = wire_type(cls)
    hints = get_type_hints(cls, include_extras=True)
    known = QUANTITY_FIELDS.get(cls.__name__, ()) if cls.__module__.startswith("clientgo.kubernetes.") else ()
    names = zip(wire.__struct_encode_fields__, wire.__struct_fields__, strict=True)
    return {json: _BUILT_IN if json in known else hints[name] for json, name in names}
