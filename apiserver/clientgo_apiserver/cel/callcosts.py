"""Cost estimates of calls of CEL's functions, by the sizes of their arguments."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from clientgo_apiserver.api.limits import AUTHORIZATION_CHECK_COST, FORMAT_PATTERN_SIZE, FORMAT_TEXT_SIZE, MAX_UINT64
from clientgo_apiserver.cel.syntax import LiteralNode, SyntaxNode
from clientgo_apiserver.cel.types import ExprType

TRAVERSAL = 0.1
"""Cost of a character that is read once."""

LIST = 10
"""Cost of creating a list."""

_PATTERN = 0.25
"""Cost of a character of a regular expression."""


class CostEstimate(NamedTuple):
    """Minimum and maximum of a cost or a size (cel-go: CostEstimate, SizeEstimate)."""

    min: int
    max: int

    def plus(self, other: "CostEstimate") -> "CostEstimate":
        """Return the sum."""
        return CostEstimate(min(self.min + other.min, MAX_UINT64), min(self.max + other.max, MAX_UINT64))

    def times(self, other: "CostEstimate") -> "CostEstimate":
        """Return the product."""
        return CostEstimate(min(self.min * other.min, MAX_UINT64), min(self.max * other.max, MAX_UINT64))

    def scaled(self, factor: float) -> "CostEstimate":
        """Return the product with a factor, rounded up."""
        return CostEstimate(
            min(math.ceil(self.min * factor), MAX_UINT64), min(math.ceil(self.max * factor), MAX_UINT64)
        )

    def union(self, other: "CostEstimate") -> "CostEstimate":
        """Return the smallest range that has both."""
        return CostEstimate(min(self.min, other.min), max(self.max, other.max))


def fixed(value: int) -> CostEstimate:
    """Return the range of one value."""
    return CostEstimate(value, value)


ZERO, ONE, UNKNOWN = fixed(0), fixed(1), CostEstimate(0, MAX_UINT64)


@dataclass(slots=True)
class Argument:
    """An argument of a call."""

    node: SyntaxNode
    type: ExprType
    size: CostEstimate
    items: tuple[ExprType, CostEstimate] | None
    """The type and the size of a list's items."""


Estimate = tuple[CostEstimate, CostEstimate | None]
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
        return cost, CostEstimate(0, target.size.max) if results else None

    return estimate


def _contains(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    return target.size.scaled(TRAVERSAL).times(args[0].size.scaled(TRAVERSAL)), None


def _compared(overload: str, _: Argument | None, args: list[Argument]) -> Estimate:
    first, second = args
    if overload == "equals" and first.type == second.type:
        special = _EQUAL.get(first.type.name)
        if special is not None:
            return special, None
        if first.type.name == "kubernetes.URL":
            return CostEstimate(1, second.size.max if second.size != UNKNOWN else 1).scaled(TRAVERSAL), None
    smallest = min(first.size.max, second.size.max)
    return CostEstimate(int(smallest > 0), smallest).scaled(TRAVERSAL), None


def _concatenated(_: str, __: Argument | None, args: list[Argument]) -> Estimate:
    total = args[0].size.plus(args[1].size)
    return total.scaled(TRAVERSAL), total


def _replace(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    size, old, new = target.size, args[0].size, args[1].size
    max_count, max_kept = math.ceil(size.max / old.min) if old.min else min(size.max + 1, MAX_UINT64), 0
    if not old.min:
        max_kept = size.max
    elif new.max <= old.min:
        max_count, max_kept = 0, size.max
    min_count, min_kept = math.ceil(size.min / old.max) if old.max else min(size.min + 1, MAX_UINT64), 0
    if not old.max:
        min_kept = size.min
    elif old.max <= new.min:
        min_count, min_kept = 0, size.min
    result = CostEstimate(min_count, min(max_count, MAX_UINT64)).times(new).plus(CostEstimate(min_kept, max_kept))
    return size.scaled(2 * TRAVERSAL), result


def _split(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    max_size, limit = target.size.max, args[1].node if len(args) > 1 else None
    if isinstance(limit, LiteralNode) and isinstance(limit.value, int):
        max_size = limit.value % (MAX_UINT64 + 1)
    return target.size.scaled(2 * TRAVERSAL), CostEstimate(0, max_size)


def _join(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    items = target.items
    size = target.size.times(items[1]) if items else ZERO
    if args:
        separators = CostEstimate(max(target.size.min - 1, 0), max(target.size.max - 1, 0))
        size = size.plus(args[0].size.times(separators))
    return size.scaled(TRAVERSAL), size


def _ip(overload: str, _: Argument | None, args: list[Argument]) -> Estimate:
    return (ONE if overload == "cidr_ip" else args[0].size.scaled(TRAVERSAL)), None


def _contains_network(overload: str, _: Argument | None, args: list[Argument]) -> Estimate:
    address = CostEstimate(4, 16)
    cost = address.plus(address).scaled(TRAVERSAL)
    if "contains_cidr" in overload:
        cost = cost.plus(address.scaled(TRAVERSAL)).plus(ONE)
    return cost.plus(args[0].size.scaled(TRAVERSAL)) if overload.endswith("_string") else cost, None


def _validate(_: str, __: Argument | None, args: list[Argument]) -> Estimate:
    return args[0].size.scaled(TRAVERSAL).scaled(FORMAT_PATTERN_SIZE * _PATTERN), None


def _converted(min_factor: float, max_factor: float, extra: int = 0) -> CallCost:
    def estimate(_: str, __: Argument | None, args: list[Argument]) -> Estimate:
        size = args[0].size
        bounds = (int(size.min * min_factor) + extra, int(size.max * max_factor) + extra)
        result = CostEstimate(*(min(bound, MAX_UINT64) for bound in bounds))
        return size.scaled(TRAVERSAL), result

    return estimate


def _sets(factor: int) -> CallCost:
    return lambda _, __, args: (args[0].size.times(args[1].size).scaled(factor).plus(ONE), None)


def _allocating(cost: CostEstimate, size: CostEstimate) -> Estimate:
    return cost.plus(fixed(1 + LIST)), size


def _flatten(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    depth = args[0].node if args else LiteralNode(0, 1)
    is_constant = isinstance(depth, LiteralNode) and isinstance(depth.value, int)
    factor = max(depth.value, 0) if is_constant and isinstance(depth, LiteralNode) else MAX_UINT64
    return _allocating(target.size.scaled(factor), target.size)


def _slice(_: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    bounds = [
        arg.node.value if isinstance(arg.node, LiteralNode) else default
        for arg, default in zip(args, (0, target.size.max), strict=True)
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
    size = CostEstimate(0, MAX_UINT64)
    if isinstance(count, LiteralNode) and isinstance(count.value, int):
        size = fixed(max(count.value, 0))
    return _allocating(size, size)


_ORDERED = ("bytes", "string")
_EQUAL = {
    **dict.fromkeys(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"), ONE),
    "kubernetes.NamedFormat": CostEstimate(1, FORMAT_TEXT_SIZE).scaled(TRAVERSAL),
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
    **dict.fromkeys(("add_string", "add_bytes"), _concatenated),
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
    **dict.fromkeys(["check"], lambda *_: (fixed(AUTHORIZATION_CHECK_COST), None)),
}
