"""Values of CEL at run time: their types, equality and order, and errors of evaluation."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from clientgo_apiserver.cel.syntax import UInt
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.releases.release import current

AnyNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
AnyAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class CelError(Exception):
    """An error of evaluation, such as a division by zero."""


class SetList(list[Any]):
    """A list of type set: the order does not count, and concatenation adds only new items."""


class MapList(list[Any]):
    """A list of type map: items are merged and compared by their keys."""

    keys: tuple[str, ...] = ()

    def key(self, item: Any) -> tuple[Any, ...]:
        """Return the key of an item."""
        return tuple(item.get(name) for name in self.keys)


class StructValue(dict[str, Any]):
    """An object with declared fields."""

    type_name = "object"


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """A value that may be absent: at most one."""

    values: tuple[Any, ...] = ()


NONE = OptionalValue()


@dataclass(slots=True, unsafe_hash=True)
class QuantityValue:
    """An amount with a unit, such as 1Gi; `integer`: Kubernetes represents it as a 64-bit integer.

    It changes in one case only: see `kubernetes._added`.
    """

    amount: Fraction
    integer: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class CidrValue:
    """A CIDR: an address with the length of its network's prefix."""

    address: AnyAddress
    network: AnyNetwork


@dataclass(frozen=True, slots=True)
class SemverValue:
    """A semantic version; `order` sorts versions by precedence."""

    numbers: tuple[int, int, int]
    order: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class UrlValue:
    """A parsed URL."""

    scheme: str
    host: str
    path: str
    query: str


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A named format; `check` returns the errors of a text."""

    name: str
    check: Callable[[str], list[str]]


_KINDS: dict[type, str] = {
    bool: "bool",
    UInt: "uint",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    datetime: "timestamp",
    timedelta: "duration",
    StructValue: "struct",
    OptionalValue: "optional_type",
    ExprType: "type",
    QuantityValue: "kubernetes.Quantity",
    ipaddress.IPv4Address: "net.IP",
    ipaddress.IPv6Address: "net.IP",
    CidrValue: "net.CIDR",
    SemverValue: "kubernetes.Semver",
    UrlValue: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
}
_NUMBERS = frozenset(("int", "uint", "double"))
_ORDERED = frozenset(("bool", "string", "bytes", "timestamp", "duration"))


def kind_of(value: Any) -> str:
    """Return the name of a value's type."""
    kind_name = _KINDS.get(type(value))
    return (
        kind_name
        if kind_name is not None
        else next((name for cls, name in _KINDS.items() if isinstance(value, cls)), "dyn")
    )


def type_name(value: Any) -> str:
    """Return the name of a value's type as conversions between types and strings show it."""
    kind = kind_of(value)
    proto_names = {
        "timestamp": "google.protobuf.Timestamp",
        "duration": "google.protobuf.Duration",
        "null": "null_type",
    }
    return value.type_name if isinstance(value, StructValue) else proto_names.get(kind, kind)


def equal(first: Any, second: Any) -> bool:
    """Return whether two values are equal; numbers are compared across their types."""
    kind, kind2 = kind_of(first), kind_of(second)
    if kind != kind2:
        if kind in _NUMBERS and kind2 in _NUMBERS:
            return float(first) == float(second) if "double" in (kind, kind2) else bool(first == second)
        return {kind, kind2} == {"map", "struct"} and _equal_maps(first, second)
    if kind == "list":
        return _equal_lists(first, second)
    if kind in ("map", "struct"):
        return _equal_maps(first, second)
    if kind == "optional_type":
        return _equal_lists(list(first.values), list(second.values))
    if kind == "kubernetes.Quantity":
        return bool(first.amount == second.amount)
    if kind == "type":
        return (first.kind, first.name) == (second.kind, second.name)
    return bool(first == second)


def _equal_maps(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    same_keys = len(first) == len(second) and all(has_key(second, key) for key in first)
    return same_keys and all(equal(value, second[key]) for key, value in first.items())


def has_key(entries: dict[Any, Any], key: Any) -> bool:
    """Return whether a map has a key; unlike in Python, `true` is not the key `1`."""
    if isinstance(key, list | dict) or key not in entries:
        return False
    is_bool = isinstance(key, bool)
    return isinstance(key, str) or any(each == key and isinstance(each, bool) is is_bool for each in entries)


def _equal_lists(first: list[Any], second: list[Any]) -> bool:
    if len(first) != len(second):
        return False
    for special, against in ((first, second), (second, first)):
        if isinstance(special, SetList):
            is_mutual = current().at_least("1.37")  # before, duplicates could make different sets equal
            return all(contains(against, item) for item in special) and (
                not is_mutual or all(contains(special, item) for item in against)
            )
        if isinstance(special, MapList):
            by_key = [(special.key(item), item) for item in against]
            return all(
                any(key == special.key(item) and equal(item, candidate) for key, candidate in by_key)
                for item in special
            )
    return all(map(equal, first, second))


def contains(items: list[Any], target: Any) -> bool:
    """Return whether a list has an item equal to this one."""
    return any(equal(candidate, target) for candidate in items)


def less(first: Any, second: Any) -> bool:
    """Return whether a value is less than another.

    Raises:
        CelError: the values have no order.
    """
    kind, kind2 = kind_of(first), kind_of(second)
    if kind in _NUMBERS and kind2 in _NUMBERS:
        if first != first or second != second:
            raise CelError("NaN values cannot be ordered")
        # As in cel-go, an integer is compared with a double by the double that is nearest to it.
        return float(first) < float(second) if "double" in (kind, kind2) else bool(first < second)
    if kind != kind2 or kind not in _ORDERED:
        raise CelError("no such overload")
    return bool(first.encode() < second.encode() if kind == "string" else first < second)


def concatenated(first: list[Any], second: list[Any]) -> list[Any]:
    """Return the concatenation of lists; those of type set and map merge the items of the other."""
    if isinstance(first, SetList):
        return SetList([*first, *(item for item in second if not contains(first, item))])
    if isinstance(first, MapList):
        replacing = {repr(first.key(item)): item for item in second}
        merged = MapList([replacing.pop(repr(first.key(item)), item) for item in first])
        merged.extend(replacing.values())
        merged.keys = first.keys
        return merged
    return [*first, *second]
