"""Macros of CEL: has(), the quantifiers, map, filter and their forms with two variables, sortBy and optMap."""

from collections.abc import Callable

from clientgo.apiserver.cel.syntax import ACCUMULATOR, Call, CompileError, Fold, Ident, ListNode, Literal, MapNode, Node, Select

Macro = Callable[[int, Node | None, list[Node]], Node]


def _accumulated(offset: int) -> Ident:
    return Ident(offset, ACCUMULATOR)


def _variables(nodes: list[Node], message: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in nodes:
        if not isinstance(node, Ident):
            raise CompileError([(node.offset, message)])
        if node.name in ("__result__", ACCUMULATOR):
            raise CompileError([(node.offset, "iteration variable overwrites accumulator variable")])
        if node.name in names:
            raise CompileError([(node.offset, f"duplicate variable name: {node.name}")])
        names.append(node.name)
    return tuple(names)


def _has(offset: int, _: Node | None, args: list[Node]) -> Node:
    (arg,) = args
    if not isinstance(arg, Select):
        raise CompileError([(arg.offset, "invalid argument to has() macro")])
    return Select(offset, arg.operand, arg.field, test_only=True)


def _quantifier(kind: str) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        names = _variables(args[:-1], "argument must be a simple name")
        test, result = args[-1], _accumulated(at)
        if kind == "one":
            more = Call(at, "_+_", [_accumulated(at), Literal(at, 1)])
            step = Call(at, "_?_:_", [test, more, _accumulated(at)])
            counted = Call(at, "_==_", [result, Literal(at, 1)])
            return Fold(at, target, names, ACCUMULATOR, Literal(at, 0), Literal(at, True), step, counted)
        every = kind == "all"
        going = _accumulated(at) if every else Call(at, "!_", [_accumulated(at)])
        condition = Call(at, "@not_strictly_false", [going])
        step = Call(at, "_&&_" if every else "_||_", [_accumulated(at), test])
        return Fold(at, target, names, ACCUMULATOR, Literal(at, every), condition, step, result)

    return expand


def _collect(at: int, target: Node, names: tuple[str, ...], start: Node, step: Node, test: Node | None) -> Node:
    if test is not None:
        step = Call(at, "_?_:_", [test, step, _accumulated(at)])
    return Fold(at, target, names, ACCUMULATOR, start, Literal(at, True), step, _accumulated(at))


def _listed(at: int, item: Node) -> Node:
    return Call(at, "_+_", [_accumulated(at), ListNode(at, [item])])


def _map(at: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    names = _variables(args[:1], "argument is not an identifier")
    return _collect(at, target, names, ListNode(at, []), _listed(at, args[-1]), args[1] if len(args) == 3 else None)


def _filter(at: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    names = _variables(args[:1], "argument is not an identifier")
    return _collect(at, target, names, ListNode(at, []), _listed(at, args[0]), args[1])


def _transform(kind: str) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        names = _variables(args[:2], "argument must be a simple name")
        start: Node = MapNode(at, [])
        if kind == "list":
            start, step = ListNode(at, []), _listed(at, args[-1])
        elif kind == "map":
            step = Call(at, "cel.@mapInsert", [_accumulated(at), Ident(at, names[0]), args[-1]])
        else:
            step = Call(at, "cel.@mapInsert", [_accumulated(at), args[-1]])
        return _collect(at, target, names, start, step, args[2] if len(args) == 4 else None)

    return expand


def _bind(at: int, name: str, value: Node, body: Node) -> Node:
    return Fold(at, ListNode(at, []), ("#unused",), name, value, Literal(at, False), Ident(at, name), body)


def _sort_by(at: int, target: Node | None, args: list[Node]) -> Node:
    assert target is not None
    names = _variables(args[:1], "argument is not an identifier")
    name = "@__sortBy_input__"
    keys = _collect(at, Ident(at, name), names, ListNode(at, []), _listed(at, args[1]), None)
    return _bind(at, name, target, Call(at, "@sortByAssociatedKeys", [keys], Ident(at, name)))


def _optional(function: str) -> Macro:
    def expand(at: int, target: Node | None, args: list[Node]) -> Node:
        assert target is not None
        (name,) = _variables(args[:1], f"{function}() variable name must be a simple identifier")
        mapped = _bind(at, name, Call(at, "value", [], target), args[1])
        if function == "optMap":
            mapped = Call(at, "optional.of", [mapped])
        return Call(at, "_?_:_", [Call(at, "hasValue", [], target), mapped, Call(at, "optional.none", [])])

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
