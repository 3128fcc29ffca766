"""Static cost estimates of CEL expressions, as the API server makes them before it accepts a rule."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clientgo_apiserver.api.limits import MAX_UINT64
from clientgo_apiserver.cel.callcosts import CALLS, LIST, ONE, UNKNOWN, ZERO, Argument, CostEstimate, fixed
from clientgo_apiserver.cel.checker import CheckedExpression
from clientgo_apiserver.cel.environment import Sizes
from clientgo_apiserver.cel.syntax import (
    ACCUMULATOR,
    CallNode,
    FoldNode,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    SelectNode,
    StructNode,
    SyntaxNode,
    children,
)
from clientgo_apiserver.cel.types import SCALARS, unwrapped

_MAP, _STRUCT = 30, 40

ValuePath = tuple[str, ...]


@dataclass(slots=True)
class _Local:
    path: ValuePath
    size: CostEstimate | None
    entry: CostEstimate | None = None


def max_cost(checked: CheckedExpression, sizes: Sizes) -> int:
    """Return the maximum cost of an expression."""
    return _Estimator(checked, sizes).cost(checked.root).max


@dataclass(slots=True)
class _Estimator:
    checked: CheckedExpression
    sizes: Sizes
    paths: dict[SyntaxNode, ValuePath] = field(default_factory=dict)
    computed_sizes: dict[SyntaxNode, CostEstimate] = field(default_factory=dict)
    entries: dict[SyntaxNode, CostEstimate] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: SyntaxNode) -> CostEstimate:
        """Return the cost of an expression."""
        match node:
            case IdentNode(name=name):
                local = self._local(name)
                self.paths[node] = local.path if local else (name,)
                return ONE
            case SelectNode():
                return self._select(node)
            case CallNode():
                return self._call(node)
            case ListNode() | MapNode() | StructNode():
                return self._created(node)
            case FoldNode():
                return self._bind(node) if node.names == ("#unused",) else self._fold(node)
        return ZERO

    def _local(self, name: str) -> _Local | None:
        scopes = self.locals.get(name)
        return scopes[-1] if scopes else None

    def _path(self, node: SyntaxNode) -> ValuePath:
        local = self._local(node.name) if isinstance(node, IdentNode) else None
        return local.path if local else self.paths.get(node, ())

    def _select(self, node: SelectNode) -> CostEstimate:
        if node in self.checked.names:
            self.paths[node] = (self.checked.names[node],)
            return ONE
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        self.paths[node] = (*self._path(node.operand), node.field)
        return cost.plus(ONE) if self.checked.types[node.operand].kind in ("map", "struct", "param") else cost

    def size(self, node: SyntaxNode) -> CostEstimate:
        """Return the size of an expression's value."""
        size = self._size(node)
        return size if size is not None else UNKNOWN

    def _size(self, node: SyntaxNode) -> CostEstimate | None:
        if node in self.computed_sizes:
            return self.computed_sizes[node]
        match node:
            case LiteralNode(value=value):
                return fixed(len(value) if isinstance(value, str | bytes) else 1)
            case ListNode(items=items):
                return fixed(len(items))
            case MapNode(entries=entries):
                return fixed(len(entries))
        path = self._path(node)
        declared = self.sizes(path) if path else None
        if declared is not None:
            self.computed_sizes[node] = CostEstimate(0, declared)
            return self.computed_sizes[node]
        if unwrapped(self.checked.types[node])[0] in SCALARS:
            return ONE
        local = self._local(node.name) if isinstance(node, IdentNode) else None
        return local.size if local else None

    def _entry(self, node: SyntaxNode) -> CostEstimate | None:
        if node in self.entries:
            return self.entries[node]
        local = self._local(node.name) if isinstance(node, IdentNode) else None
        return local.entry if local else None

    def _created(self, node: ListNode | MapNode | StructNode) -> CostEstimate:
        cost = fixed({ListNode: LIST, MapNode: _MAP, StructNode: _STRUCT}[type(node)])
        for child in children(node):
            cost = cost.plus(self.cost(child))
        if isinstance(node, StructNode):
            return cost
        values = node.items if isinstance(node, ListNode) else [value for _, value, _ in node.entries]
        entry = CostEstimate(MAX_UINT64 if values else 0, 0)
        for value in values:
            entry = entry.union(self.size(value))
        self.entries[node] = entry
        return cost

    def _bind(self, node: FoldNode) -> CostEstimate:
        cost = fixed(LIST).plus(self.cost(node.start))
        name = node.accumulator
        local = _Local(self._path(node.start), self._size(node.start), self._entry(node.start))
        self.locals.setdefault(name, []).append(local)
        cost = cost.plus(self.cost(node.result))
        self.locals[name].pop()
        self._copy_size(node, node.result)
        return cost

    def _copy_size(self, node: SyntaxNode, source: SyntaxNode) -> None:
        size, entry = self._size(source), self._entry(source)
        if size is not None:
            self.computed_sizes[node] = size
        if entry is not None:
            self.entries[node] = entry

    def _fold(self, node: FoldNode) -> CostEstimate:
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
        if isinstance(node.start, LiteralNode):
            self.computed_sizes[node] = self.size(node.start)
        else:
            self.computed_sizes[node] = count
            entry = self._entry(node.step)
            if entry is not None:
                self.entries[node] = entry
        return cost.plus(count.times(each))

    def _parts(self, node: FoldNode) -> Sequence[str]:
        of_list = self.checked.types[node.items].kind == "list"
        if len(node.names) == 2:
            return ("@indices", "@items") if of_list else ("@keys", "@values")
        return ("@items",) if of_list else ("@keys",)

    def argument(self, node: SyntaxNode) -> Argument:
        """Return an expression as an argument."""
        path = self._path(node)
        path = () if path[:1] == (ACCUMULATOR,) else path
        kind = self.checked.types[node]
        declared = self.sizes((*path, "@items")) if path else None
        items = (kind.params[0], UNKNOWN if declared is None else CostEstimate(0, declared)) if kind.params else None
        return Argument(node, kind, self.size(node), items)

    def _call(self, node: CallNode) -> CostEstimate:
        if node.function == "dyn":
            cost = self.cost(node.args[0]).plus(ONE)
            self._copy_size(node, node.args[0])
            return cost
        costs = [self.cost(arg) for arg in node.args]
        args = [self.argument(arg) for arg in node.args]
        overloads = self.checked.overloads.get(node)
        if not overloads:
            return ZERO
        before, target = ZERO, None
        if node.target is not None:
            before = self.cost(node.target)
            target = self.argument(node.target)
        total, size = CostEstimate(MAX_UINT64, 0), None
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
            self.computed_sizes[node] = size
        return before.plus(total)

    def _overload_cost(
        self, node: CallNode, overload: str, target: Argument | None, args: list[Argument], costs: list[CostEstimate]
    ) -> tuple[CostEstimate, CostEstimate | None]:
        of_args = ZERO
        for cost in costs:
            of_args = of_args.plus(cost)
        if overload in ("logical_and", "logical_or"):
            return CostEstimate(costs[0].min, of_args.max), None
        if overload == "conditional":
            self._merge_entries(node, node.args[1:])
            return costs[0].plus(costs[1].union(costs[2])), args[1].size.union(args[2].size)
        if overload in ("add_list", "add_string", "add_bytes"):
            self._merge_entries(node, node.args)
        if overload == "add_list":
            return ONE.plus(of_args), args[0].size.plus(args[1].size)
        estimate = CALLS.get(overload) or CALLS.get(node.function)
        cost, size = estimate(overload, target, args) if estimate else (ONE, None)
        return cost.plus(of_args), size

    def _merge_entries(self, node: SyntaxNode, branches: Sequence[SyntaxNode]) -> None:
        first, second = (self._entry(part) for part in branches)
        if first is not None and second is not None:
            self.entries[node] = first.union(second)
