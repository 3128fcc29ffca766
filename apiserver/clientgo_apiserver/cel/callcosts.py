"""Cost estimates of calls of CEL's functions, by the sizes of their arguments."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from clientgo_apiserver.cel.syntax import LiteralNode, SyntaxNode
from clientgo_apiserver.cel.types import ExprType

MOST = (1 << 64) - 1
"""The largest cost and size."""

TRAVERSAL = 0.1
"""Cost of a character that is read once."""

LIST = 10
"""Cost of creating a list."""

_PATTERN = 0.25
"""Cost of a character of a regular expression."""

_FORMAT_PATTERN, _FORMAT_SIZE = 128, 64


class CostRange(NamedTuple):
    """The least and the most of a cost or a size."""

    least: int
    most: int

    def plus(self, other: "CostRange") -> "CostRange":
        """Return the sum."""
        return CostRange(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: "CostRange") -> "CostRange":
        """Return the product."""
        return CostRange(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> "CostRange":
        """Return the product with a factor, rounded up."""
        return CostRange(min(math.ceil(self.least * factor), MOST), min(math.ceil(self.most * factor), MOST))

    def union(self, other: "CostRange") -> "CostRange":
        """Return the smallest range that has both."""
        return CostRange(min(self.least, other.least), max(self.most, other.most))


def fixed(value: int) -> CostRange:
    """Return the range of one value."""
    return CostRange(value, value)


ZERO, ONE, UNKNOWN = fixed(0), fixed(1), CostRange(0, MOST)


@dataclass(slots=True)
class Argument:
    """An argument of a call."""

    node: SyntaxNode
    type: ExprType
    size: CostRange
    items: tuple[ExprType, CostRange] | None
    """The type and the size of a list's items."""


Estimate = tuple[CostRange, CostRange | None]
"""The cost of a call, and the size of its result."""


CallCost = Callable[[str, Argument | None, list[Argument]], Estimate]


def _of(target: Argument | None, args: list[Argument]) -> Argument:
    """Return what a function works on: its target or first argument."""
    return target if target is not None else args[0]


def _reading(factor: float, *, sized: bool = False) -> CallCost:
    def estimate(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
        size = _of(target, args).size
        return size.scaled(factor), size if sized else None

    return estimate


def _argument_reading(factor: float, index: int) -> CallCost:
    return lambda _, __, args: (args[index].size.scaled(factor), None)


def _nominal(_: str, __: Argument | None, ___: list[Argument]) -> Estimate:
    return ONE, None


def _compared_items(_: str, target: Argument | None, __: list[Argument]) -> Estimate:
    if target is None:
        return ONE, None
    items = target.items
    if items is None:
        return target.size.scaled(TRAVERSAL), None
    kind, size = items
    each = ONE.plus(size.scaled(TRAVERSAL)) if kind.kind in ("string", "bytes") else ONE
    return target.size.times(each), None


def _pattern(*, results: bool) -> CallCost:
    def estimate(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
        if target is None:
            return ONE, None
        text = target.size.plus(ONE).scaled(TRAVERSAL)
        cost = text.times(args[0].size.scaled(_PATTERN))
        return cost, CostRange(0, target.size.most) if results else None

    return estimate


def _contains(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    return target.size.scaled(TRAVERSAL).times(args[0].size.scaled(TRAVERSAL)), None


def _compared(overload: str, _: Argument | None, args: list[Argument]) -> Estimate:
    one, other = args
    if overload == "equals" and one.type == other.type:
        special = _EQUAL.get(one.type.name)
        if special is not None:
            return special, None
        if one.type.name == "kubernetes.URL":
            return CostRange(1, other.size.most if other.size != UNKNOWN else 1).scaled(TRAVERSAL), None
    smallest = min(one.size.most, other.size.most)
    return CostRange(int(smallest > 0), smallest).scaled(TRAVERSAL), None


def _replace(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    size, old, new = target.size, args[0].size, args[1].size
    most_count, most_kept = math.ceil(size.most / old.least) if old.least else min(size.most + 1, MOST), 0
    if not old.least:
        most_kept = size.most
    elif new.most <= old.least:
        most_count, most_kept = 0, size.most
    least_count, least_kept = math.ceil(size.least / old.most) if old.most else min(size.least + 1, MOST), 0
    if not old.most:
        least_kept = size.least
    elif old.most <= new.least:
        least_count, least_kept = 0, size.least
    result = CostRange(least_count, min(most_count, MOST)).times(new).plus(CostRange(least_kept, most_kept))
    return size.scaled(2 * TRAVERSAL), result


def _split(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    most, limit = target.size.most, args[1].node if len(args) > 1 else None
    if isinstance(limit, LiteralNode) and isinstance(limit.value, int):
        most = limit.value % (MOST + 1)
    return target.size.scaled(2 * TRAVERSAL), CostRange(0, most)


def _join(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    items = target.items
    size = target.size.times(items[1]) if items else ZERO
    if args:
        separators = CostRange(max(target.size.least - 1, 0), max(target.size.most - 1, 0))
        size = size.plus(args[0].size.times(separators))
    return size.scaled(TRAVERSAL), size


def _ip(overload: str, _: Argument | None, args: list[Argument]) -> Estimate:
    return (ONE if overload == "cidr_ip" else args[0].size.scaled(TRAVERSAL)), None


def _contains_network(overload: str, _: Argument | None, args: list[Argument]) -> Estimate:
    address = CostRange(4, 16)
    cost = address.plus(address).scaled(TRAVERSAL)
    if "contains_cidr" in overload:
        cost = cost.plus(address.scaled(TRAVERSAL)).plus(ONE)
    return cost.plus(args[0].size.scaled(TRAVERSAL)) if overload.endswith("_string") else cost, None


def _validate(_: str, __: Argument | None, args: list[Argument]) -> Estimate:
    return args[0].size.scaled(TRAVERSAL).scaled(_FORMAT_PATTERN * _PATTERN), None


def _converted(least: float, most: float, extra: int = 0) -> CallCost:
    def estimate(_: str, __: Argument | None, args: list[Argument]) -> Estimate:
        size = args[0].size
        result = CostRange(min(int(size.least * least) + extra, MOST), min(int(size.most * most) + extra, MOST))
        return size.scaled(TRAVERSAL), result

    return estimate


def _sets(factor: int) -> CallCost:
    return lambda _, __, args: (args[0].size.times(args[1].size).scaled(factor).plus(ONE), None)


def _allocating(cost: CostRange, size: CostRange) -> Estimate:
    return cost.plus(fixed(1 + LIST)), size


def _flatten(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    depth = args[0].node if args else LiteralNode(0, 1)
    known = isinstance(depth, LiteralNode) and isinstance(depth.value, int)
    factor = max(depth.value, 0) if known and isinstance(depth, LiteralNode) else MOST
    return _allocating(target.size.scaled(factor), target.size)


def _slice(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    bounds = [
        arg.node.value if isinstance(arg.node, LiteralNode) else default
        for arg, default in zip(args, (0, target.size.most), strict=True)
    ]
    size = fixed(max(bounds[1] - bounds[0], 0))
    return _allocating(size, size)


def _quadratic(kind: str) -> CallCost:
    def estimate(overload: str, target: Argument | None, args: list[Argument]) -> Estimate:
        compared = args[0] if kind == "keys" else _of(target, args)
        text = kind != "distinct" and overload.split("_")[1] in ("string", "bytes")
        squared = compared.size.times(compared.size)
        return _allocating(squared.scaled(2.1 if text else 2.0), squared)

    return estimate


def _copying(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    size = _of(target, args).size
    return _allocating(size, size)


def _range(_: str, __: Argument | None, args: list[Argument]) -> Estimate:
    count = args[0].node
    size = CostRange(0, MOST)
    if isinstance(count, LiteralNode) and isinstance(count.value, int):
        size = fixed(max(count.value, 0))
    return _allocating(size, size)


_ORDERED = ("bytes", "string")
_EQUAL = {
    **dict.fromkeys(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"), ONE),
    "kubernetes.NamedFormat": CostRange(1, _FORMAT_SIZE).scaled(TRAVERSAL),
}
CALLS: dict[str, CallCost] = {
    **dict.fromkeys(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"], _compared_items),
    **dict.fromkeys(
        ["url", "jsonpatch.escapeKey", "lowerAscii", "upperAscii", "substring", "trim"], _reading(TRAVERSAL, sized=True)
    ),
    **dict.fromkeys("cidr isIP isCIDR quantity isQuantity semver isSemver".split(), _argument_reading(TRAVERSAL, 0)),  # noqa: SIM905
    **dict.fromkeys(["find", "findAll"], _pattern(results=True)),
    **dict.fromkeys(["containsIP", "containsCIDR"], _contains_network),
    **{f"{order}{_}_{kind}": _compared for order in ("less", "greater") for _ in ("", "_equals") for kind in _ORDERED},
    **dict.fromkeys(("equals", "not_equals"), _compared),
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _argument_reading(TRAVERSAL, 0)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "ip.isCanonical": _argument_reading(2 * TRAVERSAL, 0),
    "validate": _validate,
    "matches_string": _pattern(results=False),
    "contains_string": _contains,
    "in_list": _argument_reading(1, 1),
    "string_format": _reading(TRAVERSAL),
    "string_to_bytes": _converted(1, 4),
    "bytes_to_string": _converted(0.25, 1),
    "strings_quote": _converted(1, 2, 2),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "flatten": _flatten,
    "slice": _slice,
    "lists.range": _range,
    "reverse": _copying,
    "distinct": _quadratic("distinct"),
    "sort": _quadratic("list"),
    "@sortByAssociatedKeys": _quadratic("keys"),
    **dict.fromkeys(["check"], lambda *_: (fixed(350_000), None)),
}
