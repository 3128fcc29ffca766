"""Interpreter of checked CEL expressions: compiles them to closures."""

from collections.abc import Callable
from itertools import chain
from typing import Any

from clientgo_apiserver.api.limits import AUTHORIZATION_CHECK_COST, Meter
from clientgo_apiserver.cel.callcosts import CALLS, Argument, fixed
from clientgo_apiserver.cel.checker import CheckedExpression, functions, type_named
from clientgo_apiserver.cel.functions.kubernetes import FUNCTIONS
from clientgo_apiserver.cel.functions.operators import optional_member
from clientgo_apiserver.cel.syntax import (
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
    keyword_field,
)
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError, OptionalValue, StructValue, kind_of

Scope = dict[str, Any]
Evaluator = Callable[[Scope], Any]

Overloads = list[tuple[ExprType, ...]] | None
"""Parameters of the possible overloads, one of which the values must fit; None if the checker has decided."""

_MISSING = object()
_METER = "#meter"
_SHORT = 64
"""Length up to which the cost of a call is not counted: reading costs a tenth of a unit for each character."""


def program(checked: CheckedExpression) -> Evaluator:
    """Return a function from variables to the value of an expression, which raises CelError."""
    run, cost = _Compiler(checked).compile(checked.root), _own_cost(checked.root)

    def evaluate(values: Scope) -> Any:
        meter = Meter()
        try:
            meter.spend(cost)
            return run({**values, _METER: meter})
        finally:
            meter.settle()

    return evaluate


class _Compiler:
    def __init__(self, checked: CheckedExpression) -> None:
        self._checked = checked

    def compile(self, node: SyntaxNode) -> Evaluator:
        """Return the program of an expression."""
        match node:
            case LiteralNode(value=value):
                return lambda _: value
            case IdentNode():
                return self._ident(self._checked.names.get(node, node.name))
            case SelectNode():
                return self._select(node)
            case CallNode():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case StructNode():
                return self._struct(node)
            case FoldNode():
                return self._fold(node)
        raise AssertionError(node)

    def _ident(self, name: str) -> Evaluator:
        named_type = type_named(name)

        def run(scope: Scope) -> Any:
            value = scope.get(name, _MISSING)
            if value is _MISSING:
                if named_type is None:
                    raise CelError(f"no such attribute(s): {name}")
                return named_type
            if isinstance(value, CelError):
                raise value
            return value

        return run

    def _select(self, node: SelectNode) -> Evaluator:
        if node in self._checked.names:
            return self._ident(self._checked.names[node])
        operand, name, testing = self.compile(node.operand), node.field, node.test_only

        def run(scope: Scope) -> Any:
            value = operand(scope)
            if isinstance(value, OptionalValue):
                inner = optional_member(value, name)
                return bool(inner.values) if testing else inner
            if not isinstance(value, dict):
                return _no_member(value, name, testing)
            member = value.get(name, _MISSING)
            if member is _MISSING and isinstance(value, StructValue):
                member = value.get(keyword_field(name), _MISSING)
            if testing:
                return member is not _MISSING
            if member is _MISSING:
                raise CelError(f"no such key: {name}")
            if isinstance(member, CelError):
                raise member
            return member

        return run

    def _call(self, node: CallNode) -> Evaluator:
        name = node.function.lstrip(".")
        if name in _LAZY:
            return _LAZY[name](*map(self.compile, node.args))
        if name == "check" and node.target is not None:
            return _checked_access(self.compile(node.target), self.compile(node.args[0]))
        nodes = [*([node.target] if node.target is not None else []), *node.args]
        args = [self.compile(arg) for arg in nodes]
        checks = self._argument_checks(node, name, nodes)
        function, cost_of = FUNCTIONS[name], self._cost_of(node, nodes)
        if cost_of is None:
            return _called(function, args, checks)

        def priced(scope: Scope, values: list[Any]) -> Any:
            lengths = [*map(_length, values)]
            if max(lengths) > _SHORT:
                scope[_METER].spend(cost_of(lengths))
            return function(*values)

        return _checked_call(priced, args, checks)

    def _cost_of(self, node: CallNode, nodes: list[SyntaxNode]) -> Callable[[list[int]], int] | None:
        """Return a function from the lengths of a call's arguments to its cost; None if it does not depend on them."""
        ids = self._checked.overloads.get(node, ())
        overload = ids[0] if len(ids) == 1 else ""
        estimate = CALLS.get(overload) or CALLS.get(node.function)
        if estimate is None:
            return None
        types = [self._checked.types[arg] for arg in nodes]

        def cost_of(lengths: list[int]) -> int:
            args = [
                Argument(arg, kind, fixed(length), None)
                for arg, kind, length in zip(nodes, types, lengths, strict=True)
            ]
            target = args.pop(0) if node.target is not None else None
            return estimate(overload, target, args)[0].max

        return cost_of

    def _argument_checks(self, node: CallNode, name: str, nodes: list[SyntaxNode]) -> Overloads:
        """Return the parameters of the possible overloads if the types of the arguments are known only at run time."""
        # An index may be any number: the overloads do not limit it.
        if name == "_[_]" or all(self._checked.types[arg].kind != "dyn" for arg in nodes):
            return None
        ids = self._checked.overloads.get(node, ())
        return [overload.params for overload in functions()[name] if overload.id in ids]

    def _list(self, node: ListNode) -> Evaluator:
        items = [(self.compile(item), index in node.optional) for index, item in enumerate(node.items)]
        if not node.optional:
            programs = [item for item, _ in items]
            return lambda scope: [item(scope) for item in programs]
        return lambda scope: list(
            chain.from_iterable(item(scope).values if optional else (item(scope),) for item, optional in items)
        )

    def _map(self, node: MapNode) -> Evaluator:
        entries = [(self.compile(key), self.compile(value), optional) for key, value, optional in node.entries]

        def run(scope: Scope) -> Any:
            entries_by_key: dict[Any, Any] = {}
            for key, value, optional in entries:
                name, computed = key(scope), value(scope)
                if kind_of(name) not in ("bool", "int", "uint", "string"):
                    raise CelError(f"unsupported key type: {kind_of(name)}")
                if name in entries_by_key:
                    raise CelError(f"failed with repeated key: {name}")
                for member in computed.values if optional else (computed,):
                    entries_by_key[name] = member
            return entries_by_key

        return run

    def _struct(self, node: StructNode) -> Evaluator:
        fields = [(name, self.compile(value), optional) for _, name, value, optional in node.fields]

        def run(scope: Scope) -> Any:
            struct = StructValue()
            struct.type_name = node.type_name
            for name, value, optional in fields:
                computed = value(scope)
                for member in computed.values if optional else (computed,):
                    struct[name] = member
            return struct

        return run

    def _fold(self, node: FoldNode) -> Evaluator:
        items, start, result = map(self.compile, (node.items, node.start, node.result))
        condition, step, name = self.compile(node.condition), self.compile(node.step), node.accumulator
        names = node.names
        if names == ("#unused",):
            return lambda scope: result({**scope, name: start(scope)})
        always = isinstance(node.condition, LiteralNode)
        cost = _own_cost(node.condition) + _own_cost(node.step)

        def run(scope: Scope) -> Any:
            iterable = items(scope)
            inner = {**scope, name: start(scope)}
            spend = scope[_METER].spend
            for values in _iterated(iterable, len(names)):
                spend(cost)
                if not always and not condition(inner):
                    break
                inner.update(zip(names, values, strict=True))
                try:
                    inner[name] = step(inner)
                except CelError as error:
                    # Errors are values: a quantifier's later items may make up for this one.
                    inner[name] = error
            return result(inner)

        return run


def _own_cost(node: SyntaxNode) -> int:
    """Return about what an expression costs, without the iterations of folds in it, which count themselves."""
    if isinstance(node, FoldNode):
        return _own_cost(node.items)
    return int(not isinstance(node, LiteralNode)) + sum(map(_own_cost, children(node)))


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def _called(function: Callable[..., Any], args: list[Evaluator], overloads: Overloads) -> Evaluator:
    """Return the call of a function, without more calls than it needs."""
    if overloads is None and len(args) == 1:
        only = args[0]
        return lambda scope: function(only(scope))
    if overloads is None and len(args) == 2:
        first, second = args
        return lambda scope: function(first(scope), second(scope))
    return _checked_call(lambda _, values: function(*values), args, overloads)


def _checked_call(call: Callable[[Scope, list[Any]], Any], args: list[Evaluator], overloads: Overloads) -> Evaluator:
    def run(scope: Scope) -> Any:
        values = [arg(scope) for arg in args]
        if overloads is not None and not any(all(map(_fits, values, params)) for params in overloads):
            raise CelError("no such overload")
        return call(scope, values)

    return run


def _checked_access(target: Evaluator, verb: Evaluator) -> Evaluator:
    """Return a check of the authorizer, of which an expression can afford two."""

    def run(scope: Scope) -> Any:
        scope[_METER].spend(AUTHORIZATION_CHECK_COST)
        return FUNCTIONS["check"](target(scope), verb(scope))

    return run


def _iterated(iterable: Any, count: int) -> Any:
    if isinstance(iterable, dict):
        return list(iterable.items()) if count == 2 else [(key,) for key in iterable]
    if not isinstance(iterable, list):
        raise CelError("got '" + kind_of(iterable) + "', expected iterable type")
    return enumerate(iterable) if count == 2 else [(item,) for item in iterable]


def _fits(value: Any, param: ExprType) -> bool:
    kind = kind_of(value)
    if param.kind in ("dyn", "param") or kind == param.kind:
        return True
    return kind == param.name or (kind == "struct" and param.kind == "map") or (kind == "type" and param.kind == "type")


def _no_member(value: Any, name: str, testing: bool) -> bool:
    """Return that a value has no such member, or raise that it has none; the index of a list is a number."""
    if isinstance(value, list):
        raise CelError("unsupported index type 'string' in list")
    if testing:
        return False
    raise CelError(f"no such key: {name}")


def _boolean(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise CelError("no such overload")


def _logical(deciding: bool) -> Callable[[Evaluator, Evaluator], Evaluator]:
    def make(first: Evaluator, right: Evaluator) -> Evaluator:
        def run(scope: Scope) -> Any:
            try:
                if _boolean(first(scope)) is deciding:
                    return deciding
            except CelError:
                try:
                    decided = _boolean(right(scope)) is deciding
                except CelError:
                    decided = False
                if decided:
                    return deciding
                raise
            return _boolean(right(scope))

        return run

    return make


def _conditional(test: Evaluator, yes: Evaluator, no: Evaluator) -> Evaluator:
    return lambda scope: yes(scope) if _boolean(test(scope)) else no(scope)


def _not_strictly_false(value: Evaluator) -> Evaluator:
    def run(scope: Scope) -> Any:
        try:
            return value(scope) is not False
        except CelError:
            return True

    return run


def _optional(operand: Evaluator, name: Evaluator) -> Evaluator:
    return lambda scope: optional_member(operand(scope), name(scope))


_LAZY: dict[str, Callable[..., Evaluator]] = {
    "_&&_": _logical(False),
    "_||_": _logical(True),
    "_?_:_": _conditional,
    "@not_strictly_false": _not_strictly_false,
    "_?._": _optional,
    "_[?_]": _optional,
}
