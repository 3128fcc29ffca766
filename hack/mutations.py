"""Every small way to break a module, one at a time: what a careful test suite should notice.

Not broken is what only people read or only a type checker checks: docstrings, annotations, the words of errors, log
lines and f-strings, lists of public names. A test that pinned those would only say everything twice.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST | None]
"""Makes a node another one; None if the node is changed in place."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_FOR_PEOPLE = ("debug", "info", "warning", "error", "exception", "TypeVar", "ParamSpec", "dataclass")
"""Calls whose arguments are not broken; that they are made at all is."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one thing broken."""

    line: int
    kind: str
    text: str
    original: str
    """The source line it stands for."""


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a module, in a fixed order, each different from the module and valid Python."""
    tree = ast.parse(source)
    lines, same = source.splitlines(), ast.unparse(tree)
    kept = _kept(tree)
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in kept:
            continue
        for kind, change in _changes(node):
            text = _changed(source, index, change)
            if text != same:
                line: int = getattr(node, "lineno", 0)
                yield Mutant(line, kind, text, lines[line - 1].strip())


def _changed(source: str, index: int, change: Change) -> str:
    """The module with its `index`-th node changed; read anew each time, so that no mutant sees another's change."""
    tree = ast.parse(source)
    target = list(ast.walk(tree))[index]
    made = change(target)
    return ast.unparse(tree if made is None else _Swap(target, made).visit(tree))


class _Swap(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The new node for the old one, and every other node as it is."""
        return self.new if node is self.old else self.generic_visit(node)


def _kept(tree: ast.AST) -> set[int]:
    """The ids of the nodes that are not to be broken."""
    return {id(below) for node in ast.walk(tree) for part in _parts_for_people(node) for below in ast.walk(part)}


def _parts_for_people(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr():
            yield node
        case ast.Assign(targets=[ast.Name(id="__slots__" | "__all__" | "__hash__")]):
            yield node
        case ast.Raise(exc=ast.Call(args=args, keywords=keywords)):
            yield from [*args, *keywords]
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args, keywords=keywords):
            yield from [*args, *keywords] if name in _FOR_PEOPLE else []
        case _:
            yield from _annotations(node)


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.FunctionDef(returns=ast.expr() as annotation):
            yield annotation
        case ast.Subscript(value=ast.Name(id="Generic" | "Callable" | "dict" | "list" | "tuple"), slice=parameters):
            yield parameters


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.expr():
            yield from _of_expression(node)
        case ast.stmt():
            yield from _of_statement(node)
        case ast.comprehension(ifs=[_, *_]):
            yield "filter negated", lambda n: _set(n, "ifs", [_negated(n.ifs[0]), *n.ifs[1:]])  # type: ignore[attr-defined]


def _of_expression(node: ast.expr) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare(ops=[op, *_]) if (other := _COMPARISONS.get(type(op))) is not None:
            yield "comparison", lambda n: _set(n, "ops", [other(), *n.ops[1:]])  # type: ignore[attr-defined]
        case ast.BinOp(op=sign) if (result := _ARITHMETIC.get(type(sign))) is not None:
            yield "arithmetic", lambda n: _set(n, "op", result())
        case ast.BoolOp(op=both):
            yield "and/or", lambda n: _set(n, "op", ast.Or() if isinstance(both, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "operator dropped", lambda n: n.operand  # type: ignore[attr-defined]
        case ast.IfExp():
            yield "branches swapped", lambda n: _set(n, "test", _negated(n.test))  # type: ignore[attr-defined]
        case ast.Constant(value=value):
            if (changed := _another(value)) is not None:
                yield "constant", lambda n: _set(n, "value", changed)


def _another(value: object) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "!"
    return None


def _of_statement(node: ast.stmt) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.If() | ast.While():
            yield "condition negated", lambda n: _set(n, "test", _negated(n.test))  # type: ignore[attr-defined]
        case ast.AugAssign(op=sign):
            if (result := _ARITHMETIC.get(type(sign))) is not None:
                yield "arithmetic", lambda n: _set(n, "op", result())
            yield "statement dropped", lambda _: ast.Pass()
        case ast.Return(value=ast.Constant(value=False | None | 0 | "")):
            # None in its place is as false; a constant is broken as such.
            return
        case ast.Return(value=ast.expr()):
            yield "nothing returned", lambda n: _set(n, "value", ast.Constant(None))
        case ast.Break():
            yield "break to continue", lambda _: ast.Continue()
        case ast.Continue():
            yield "continue to break", lambda _: ast.Break()
        case ast.Expr() | ast.Assign() | ast.Raise() | ast.Return() | ast.Delete():
            yield "statement dropped", lambda _: ast.Pass()


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _set(node: ast.AST, name: str, value: object) -> None:
    setattr(node, name, value)
