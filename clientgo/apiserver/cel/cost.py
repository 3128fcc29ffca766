"""Static cost estimates of CEL expressions, as the API server makes them before it accepts a rule."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clientgo.apiserver.cel.checker import Checked
from clientgo.apiserver.cel.syntax import (
    ACCUMULATOR,
    Call,
    Fold,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    children,
)
from clientgo.apiserver.cel.types import SCALARS, Type, unwrapped

MOST = (1 << 64) - 1
"""The largest cost and size."""

TRAVERSAL = 0.1
"""Cost of a character that is read once."""

PATTERN = 0.25
"""Cost of a character of a regular expression."""

_LIST, _MAP, _STRUCT = 10, 30, 40
_FORMAT_PATTERN, _FORMAT_SIZE = 128, 64

Path = tuple[str, ...]


class Range(NamedTuple):
    """The least and the most of a cost or a size."""

    least: int
    most: int

    def plus(self, other: "Range") -> "Range":
        """Return the sum."""
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: "Range") -> "Range":
        """Return the product."""
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> "Range":
        """Return the product with a factor, rounded up."""
        return Range(min(math.ceil(self.least * factor), MOST), min(math.ceil(self.most * factor), MOST))

    def union(self, other: "Range") -> "Range":
        """Return the smallest range that has both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _fixed(value: int) -> Range:
    return Range(value, value)


_ZERO, _ONE, _UNKNOWN = _fixed(0), _fixed(1), Range(0, MOST)
Sizes = Callable[[Path], int | None]
"""Function from the path of a value, such as ("self", "items", "@items"), to its largest size."""


@dataclass(slots=True)
class _Local:
    path: Path
    size: Range | None
    entry: Range | None = None


@dataclass(slots=True)
class Argument:
    """An argument of a call."""

    node: Node | None
    type: Type
    path: Path
    size: Range


Estimate = tuple[Range, Range | None]
"""The cost of a call, and the size of its result."""


def most_cost(checked: Checked, sizes: Sizes) -> int:
    """Return the most that an expression can cost."""
    return _Estimator(checked, sizes).cost(checked.root).most


@dataclass(slots=True)
class _Estimator:
    checked: Checked
    sizes: Sizes
    paths: dict[Node, Path] = field(default_factory=dict)
    known: dict[Node, Range] = field(default_factory=dict)
    entries: dict[Node, Range] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        """Return the cost of an expression."""
        match node:
            case Ident(name=name):
                local = self._local(name)
                self.paths[node] = local.path if local else (name,)
                return _ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode() | MapNode() | StructNode():
                return self._created(node)
            case Fold():
                return self._bind(node) if node.names == ("#unused",) else self._fold(node)
        return _ZERO

    def _local(self, name: str) -> _Local | None:
        found = self.locals.get(name)
        return found[-1] if found else None

    def _path(self, node: Node) -> Path:
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.path if local else self.paths.get(node, ())

    def _select(self, node: Select) -> Range:
        if node in self.checked.names:
            return _ONE
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        self.paths[node] = (*self._path(node.operand), node.field)
        return cost.plus(_ONE) if self.checked.types[node.operand].kind in ("map", "struct", "param") else cost

    def size(self, node: Node) -> Range:
        """Return the size of an expression's value."""
        found = self._size(node)
        return found if found is not None else _UNKNOWN

    def _size(self, node: Node) -> Range | None:
        if node in self.known:
            return self.known[node]
        match node:
            case Literal(value=value):
                return _fixed(len(value) if isinstance(value, str | bytes) else 1)
            case ListNode(items=items):
                return _fixed(len(items))
            case MapNode(entries=entries):
                return _fixed(len(entries))
        path = self._path(node)
        declared = self.sizes(path) if path else None
        if declared is not None:
            self.known[node] = Range(0, declared)
            return self.known[node]
        if unwrapped(self.checked.types[node])[0] in SCALARS:
            return _ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.size if local else None

    def _entry(self, node: Node) -> Range | None:
        if node in self.entries:
            return self.entries[node]
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.entry if local else None

    def _created(self, node: ListNode | MapNode | StructNode) -> Range:
        cost = _fixed({ListNode: _LIST, MapNode: _MAP, StructNode: _STRUCT}[type(node)])
        for child in children(node):
            cost = cost.plus(self.cost(child))
        if isinstance(node, StructNode):
            return cost
        values = node.items if isinstance(node, ListNode) else [value for _, value, _ in node.entries]
        entry = Range(MOST if values else 0, 0)
        for value in values:
            entry = entry.union(self.size(value))
        self.entries[node] = entry
        return cost

    def _bind(self, node: Fold) -> Range:
        cost = _fixed(_LIST).plus(self.cost(node.start))
        name = node.accumulator
        local = _Local(self._path(node.start), self._size(node.start), self._entry(node.start))
        self.locals.setdefault(name, []).append(local)
        cost = cost.plus(self.cost(node.result))
        self.locals[name].pop()
        self._copy_size(node, node.result)
        return cost

    def _copy_size(self, node: Node, source: Node) -> None:
        size, entry = self._size(source), self._entry(source)
        if size is not None:
            self.known[node] = size
        if entry is not None:
            self.entries[node] = entry

    def _fold(self, node: Fold) -> Range:
        cost = self.cost(node.items).plus(self.cost(node.start))
        accumulated = _Local(self._path(node.start), self._size(node.start), self._entry(node.start))
        self.locals.setdefault(node.accumulator, []).append(accumulated)
        for name, part in zip(node.names, self._parts(node), strict=True):
            path, entry = self._path(node.items), self._entry(node.items)
            self.locals.setdefault(name, []).append(_Local((*path, part), entry if part != "@keys" else None))
        each = self.cost(node.condition).plus(self.cost(node.step))
        for name in node.names:
            self.locals[name].pop()
        cost = cost.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self.size(node.items)
        if isinstance(node.start, Literal):
            self.known[node] = self.size(node.start)
        else:
            self.known[node] = count
            entry = self._entry(node.step)
            if entry is not None:
                self.entries[node] = entry
        return cost.plus(count.times(each))

    def _parts(self, node: Fold) -> Sequence[str]:
        of_list = self.checked.types[node.items].kind == "list"
        if len(node.names) == 2:
            return ("@indices", "@items") if of_list else ("@keys", "@values")
        return ("@items",) if of_list else ("@keys",)

    def argument(self, node: Node) -> Argument:
        """Return an expression as an argument."""
        path = self._path(node)
        path = () if path[:1] == (ACCUMULATOR,) else path
        return Argument(node, self.checked.types[node], path, self.size(node))

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0]).plus(_ONE)
            self._copy_size(node, node.args[0])
            return cost
        costs = [self.cost(arg) for arg in node.args]
        args = [self.argument(arg) for arg in node.args]
        overloads = self.checked.overloads.get(node)
        if not overloads:
            return _ZERO
        before, target = _ZERO, None
        if node.target is not None:
            before = self.cost(node.target)
            target = self.argument(node.target)
        total, size = Range(MOST, 0), None
        for overload in overloads:
            cost, result = self._overload_cost(node, overload, target, args, costs)
            total = total.union(cost)
            if result is not None:
                size = result if size is None else size.union(result)
            if overload in ("index_list", "index_map"):
                size = self._entry(node.args[0])
                part = "@items" if overload == "index_list" else "@values"
                self.paths[node] = (*self._path(node.args[0]), part)
            if size is None:
                size = self._size(node)
        if size is not None:
            self.known[node] = size
        return before.plus(total)

    def _overload_cost(
        self, node: Call, overload: str, target: Argument | None, args: list[Argument], costs: list[Range]
    ) -> Estimate:
        of_args = _ZERO
        for cost in costs:
            of_args = of_args.plus(cost)
        if overload in ("logical_and", "logical_or"):
            return Range(costs[0].least, of_args.most), None
        if overload == "conditional":
            self._merge_entries(node, node.args[1:])
            return costs[0].plus(costs[1].union(costs[2])), args[1].size.union(args[2].size)
        if overload in ("add_list", "add_string", "add_bytes"):
            self._merge_entries(node, node.args)
            total = args[0].size.plus(args[1].size)
            return (_ONE if overload == "add_list" else total.scaled(TRAVERSAL)).plus(of_args), total
        estimate = CALLS.get(overload) or CALLS.get(node.function)
        cost, size = estimate(self, overload, target, args) if estimate else (_ONE, None)
        return cost.plus(of_args), size

    def _merge_entries(self, node: Node, parts: Sequence[Node]) -> None:
        one, other = (self._entry(part) for part in parts)
        if one is not None and other is not None:
            self.entries[node] = one.union(other)

    def items_of(self, target: Argument) -> tuple[Type, Range] | None:
        """Return the type and the size of a list's items, or None for another value."""
        if not target.type.params:
            return None
        declared = self.sizes((*target.path, "@items")) if target.path else None
        return target.type.params[0], _UNKNOWN if declared is None else Range(0, declared)


Call_ = Callable[[_Estimator, str, "Argument | None", list[Argument]], Estimate]


def _of(target: Argument | None, args: list[Argument]) -> Argument:
    """Return what a function works on: its target or first argument."""
    return target if target is not None else args[0]


def _reading(factor: float, *, sized: bool = False) -> Call_:
    def estimate(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
        size = _of(target, args).size
        return size.scaled(factor), size if sized else None

    return estimate


def _argument_reading(factor: float, index: int) -> Call_:
    return lambda _, __, ___, args: (args[index].size.scaled(factor), None)


def _nominal(_: _Estimator, __: str, ___: Argument | None, ____: list[Argument]) -> Estimate:
    return _ONE, None


def _compared_items(estimator: _Estimator, _: str, target: Argument | None, __: list[Argument]) -> Estimate:
    if target is None:
        return _ONE, None
    items = estimator.items_of(target)
    if items is None:
        return target.size.scaled(TRAVERSAL), None
    kind, size = items
    each = _ONE.plus(size.scaled(TRAVERSAL)) if kind.kind in ("string", "bytes") else _ONE
    return target.size.times(each), None


def _pattern(*, results: bool) -> Call_:
    def estimate(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
        if target is None:
            return _ONE, None
        text = target.size.plus(_ONE).scaled(TRAVERSAL)
        cost = text.times(args[0].size.scaled(PATTERN))
        return cost, Range(0, target.size.most) if results else None

    return estimate


def _contains(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    return target.size.scaled(TRAVERSAL).times(args[0].size.scaled(TRAVERSAL)), None


def _compared(_: _Estimator, overload: str, __: Argument | None, args: list[Argument]) -> Estimate:
    one, other = args
    if overload == "equals" and one.type == other.type:
        special = _EQUAL.get(one.type.name)
        if special is not None:
            return special, None
        if one.type.name == "kubernetes.URL":
            return Range(1, other.size.most if other.size != _UNKNOWN else 1).scaled(TRAVERSAL), None
    smallest = min(one.size.most, other.size.most)
    return Range(int(smallest > 0), smallest).scaled(TRAVERSAL), None


def _replace(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
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
    result = Range(least_count, min(most_count, MOST)).times(new).plus(Range(least_kept, most_kept))
    return size.scaled(2 * TRAVERSAL), result


def _split(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    most, limit = target.size.most, args[1].node if len(args) > 1 else None
    if isinstance(limit, Literal) and isinstance(limit.value, int):
        most = limit.value % (MOST + 1)
    return target.size.scaled(2 * TRAVERSAL), Range(0, most)


def _join(estimator: _Estimator, _: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    items = estimator.items_of(target)
    size = target.size.times(items[1]) if items else _ZERO
    if args:
        separators = Range(max(target.size.least - 1, 0), max(target.size.most - 1, 0))
        size = size.plus(args[0].size.times(separators))
    return size.scaled(TRAVERSAL), size


def _ip(_: _Estimator, overload: str, __: Argument | None, args: list[Argument]) -> Estimate:
    return (_ONE if overload == "cidr_ip" else args[0].size.scaled(TRAVERSAL)), None


def _contains_network(_: _Estimator, overload: str, __: Argument | None, args: list[Argument]) -> Estimate:
    address = Range(4, 16)
    cost = address.plus(address).scaled(TRAVERSAL)
    if "contains_cidr" in overload:
        cost = cost.plus(address.scaled(TRAVERSAL)).plus(_ONE)
    return cost.plus(args[0].size.scaled(TRAVERSAL)) if overload.endswith("_string") else cost, None


def _validate(_: _Estimator, __: str, ___: Argument | None, args: list[Argument]) -> Estimate:
    return args[0].size.scaled(TRAVERSAL).scaled(_FORMAT_PATTERN * PATTERN), None


def _converted(least: float, most: float, extra: int = 0) -> Call_:
    def estimate(_: _Estimator, __: str, ___: Argument | None, args: list[Argument]) -> Estimate:
        size = args[0].size
        result = Range(min(int(size.least * least) + extra, MOST), min(int(size.most * most) + extra, MOST))
        return size.scaled(TRAVERSAL), result

    return estimate


def _sets(factor: int) -> Call_:
    return lambda _, __, ___, args: (args[0].size.times(args[1].size).scaled(factor).plus(_ONE), None)


def _allocating(cost: Range, size: Range) -> Estimate:
    return cost.plus(_fixed(1 + _LIST)), size


def _flatten(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    depth = args[0].node if args else Literal(0, 1)
    known = isinstance(depth, Literal) and isinstance(depth.value, int)
    factor = max(depth.value, 0) if known and isinstance(depth, Literal) else MOST
    return _allocating(target.size.scaled(factor), target.size)


def _slice(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
    assert target is not None
    bounds = [arg.node.value if isinstance(arg.node, Literal) else default for arg, default in zip(args, (0, MOST), strict=True)]
    size = Range(0, min(max(bounds[1] - bounds[0], 0), target.size.most))
    return _allocating(size, size)


def _quadratic(kind: str) -> Call_:
    def estimate(_: _Estimator, overload: str, target: Argument | None, args: list[Argument]) -> Estimate:
        compared = args[0] if kind == "keys" else _of(target, args)
        text = kind != "distinct" and overload.split("_")[1] in ("string", "bytes")
        squared = compared.size.times(compared.size)
        return _allocating(squared.scaled(2.1 if text else 2.0), squared)

    return estimate


def _copying(_: _Estimator, __: str, target: Argument | None, args: list[Argument]) -> Estimate:
    size = _of(target, args).size
    return _allocating(size, size)


def _range(_: _Estimator, __: str, ___: Argument | None, args: list[Argument]) -> Estimate:
    count = args[0].node
    size = Range(0, MOST)
    if isinstance(count, Literal) and isinstance(count.value, int):
        size = _fixed(max(count.value, 0))
    return _allocating(size, size)


_ORDERED = ("bytes", "string")
_EQUAL = {
    **dict.fromkeys(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"), _ONE),
    "kubernetes.NamedFormat": Range(1, _FORMAT_SIZE).scaled(TRAVERSAL),
}
CALLS: dict[str, Call_] = {
    **dict.fromkeys("isSorted sum max min indexOf lastIndexOf".split(), _compared_items),
    **dict.fromkeys("url lowerAscii upperAscii substring trim".split(), _reading(TRAVERSAL, sized=True)),
    **dict.fromkeys("cidr isIP isCIDR quantity isQuantity semver isSemver".split(), _argument_reading(TRAVERSAL, 0)),
    **dict.fromkeys("find findAll".split(), _pattern(results=True)),
    **dict.fromkeys("containsIP containsCIDR".split(), _contains_network),
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
    **dict.fromkeys("check".split(), lambda *_: (_fixed(350_000), None)),
}
