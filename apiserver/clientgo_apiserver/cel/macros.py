"""Macros of CEL: has(), the quantifiers, map, filter and their forms with two variables, sortBy and optMap."""

from collections.abc import Callable

from clientgo_apiserver.cel.syntax import (
    ACCUMULATOR,
    CallNode,
    CompileError,
    FoldNode,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    SelectNode,
    SyntaxNode,
)

Macro = Callable[[int, SyntaxNode | None, list[SyntaxNode]], SyntaxNode]


def _accumulated(offset: int) -> IdentNode:
    return IdentNode(offset, ACCUMULATOR)


def _variables(nodes: list[SyntaxNode], message: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in nodes:
        if not isinstance(node, IdentNode):
            raise CompileError([(node.offset, message)])
        if node.name in ("__result__", ACCUMULATOR):
            raise CompileError([(node.offset, "iteration variable overwrites accumulator variable")])
        if node.name in names:
            raise CompileError([(node.offset, f"duplicate variable name: {node.name}")])
        names.append(node.name)
    return tuple(names)


def _has(offset: int, _: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
    (arg,) = args
    if not isinstance(arg, SelectNode):
        raise CompileError([(arg.offset, "invalid argument to has() macro")])
    return SelectNode(offset, arg.operand, arg.field, test_only=True)


def _quantifier(kind: str) -> Macro:
    def expand(at: int, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
        assert target is not None
        names = _variables(args[:-1], "argument must be a simple name")
        test, result = args[-1], _accumulated(at)
        if kind == "one":
            more = CallNode(at, "_+_", [_accumulated(at), LiteralNode(at, 1)])
            step = CallNode(at, "_?_:_", [test, more, _accumulated(at)])
            counted = CallNode(at, "_==_", [result, LiteralNode(at, 1)])
            return FoldNode(at, target, names, ACCUMULATOR, LiteralNode(at, 0), LiteralNode(at, True), step, counted)
        every = kind == "all"
        going = _accumulated(at) if every else CallNode(at, "!_", [_accumulated(at)])
        condition = CallNode(at, "@not_strictly_false", [going])
        step = CallNode(at, "_&&_" if every else "_||_", [_accumulated(at), test])
        return FoldNode(at, target, names, ACCUMULATOR, LiteralNode(at, every), condition, step, result)

    return expand


def _collect(
    target: SyntaxNode, names: tuple[str, ...], start: SyntaxNode, step: SyntaxNode, test: SyntaxNode | None
) -> SyntaxNode:
    at = start.offset
    if test is not None:
        step = CallNode(at, "_?_:_", [test, step, _accumulated(at)])
    return FoldNode(at, target, names, ACCUMULATOR, start, LiteralNode(at, True), step, _accumulated(at))


def _listed(at: int, item: SyntaxNode) -> SyntaxNode:
    return CallNode(at, "_+_", [_accumulated(at), ListNode(at, [item])])


def _map(at: int, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
    assert target is not None
    names = _variables(args[:1], "argument is not an identifier")
    return _collect(target, names, ListNode(at, []), _listed(at, args[-1]), args[1] if len(args) == 3 else None)


def _filter(at: int, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
    assert target is not None
    names = _variables(args[:1], "argument is not an identifier")
    return _collect(target, names, ListNode(at, []), _listed(at, args[0]), args[1])


def _transform(kind: str) -> Macro:
    def expand(at: int, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
        assert target is not None
        names = _variables(args[:2], "argument must be a simple name")
        start: SyntaxNode = MapNode(at, [])
        if kind == "list":
            start, step = ListNode(at, []), _listed(at, args[-1])
        elif kind == "map":
            step = CallNode(at, "cel.@mapInsert", [_accumulated(at), IdentNode(at, names[0]), args[-1]])
        else:
            step = CallNode(at, "cel.@mapInsert", [_accumulated(at), args[-1]])
        return _collect(target, names, start, step, args[2] if len(args) == 4 else None)

    return expand


def _bind(at: int, name: str, value: SyntaxNode, body: SyntaxNode) -> SyntaxNode:
    return FoldNode(at, ListNode(at, []), ("#unused",), name, value, LiteralNode(at, False), IdentNode(at, name), body)


def _sort_by(at: int, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
    assert target is not None
    names = _variables(args[:1], "argument is not an identifier")
    name = "@__sortBy_input__"
    keys = _collect(IdentNode(at, name), names, ListNode(at, []), _listed(at, args[1]), None)
    return _bind(at, name, target, CallNode(at, "@sortByAssociatedKeys", [keys], IdentNode(at, name)))


def _optional(function: str) -> Macro:
    def expand(at: int, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
        assert target is not None
        (name,) = _variables(args[:1], f"{function}() variable name must be a simple identifier")
        mapped = _bind(at, name, CallNode(at, "value", [], target), args[1])
        if function == "optMap":
            mapped = CallNode(at, "optional.of", [mapped])
        return CallNode(at, "_?_:_", [CallNode(at, "hasValue", [], target), mapped, CallNode(at, "optional.none", [])])

    return expand


MACROS: dict[tuple[str, int, bool], Macro] = {
    ("has", 1, False): _has,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("sortBy", 2, True): _sort_by,
    ("existsOne", 3, True): _quantifier("one"),
    **{("all", count, True): _quantifier("all") for count in (2, 3)},
    **{("exists", count, True): _quantifier("any") for count in (2, 3)},
    **{("exists_one", count, True): _quantifier("one") for count in (2, 3)},
    **{("transformList", count, True): _transform("list") for count in (3, 4)},
    **{("transformMap", count, True): _transform("map") for count in (3, 4)},
    **{("transformMapEntry", count, True): _transform("entry") for count in (3, 4)},
    **{(name, 2, True): _optional(name) for name in ("optMap", "optFlatMap")},
}
