"""Checks of constants in checked CEL expressions: times, patterns, and lists and maps of one type."""

from collections.abc import Iterator, Mapping

from clientgo.apiserver.cel.functions.operators import to_duration, to_timestamp
from clientgo.apiserver.cel.functions.patterns import pattern_error
from clientgo.apiserver.cel.syntax import CallNode, ListNode, LiteralNode, MapNode, SyntaxNode, children
from clientgo.apiserver.cel.types import ExprType
from clientgo.apiserver.cel.values import CelError


def literal_errors(root: SyntaxNode, types: Mapping[SyntaxNode, ExprType]) -> list[tuple[int, str]]:
    """Return the errors of an expression's constants, as (offset, message)."""
    return list(_errors(root, types, exempt=False))


def _errors(node: SyntaxNode, types: Mapping[SyntaxNode, ExprType], *, exempt: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, CallNode):
        exempt = exempt or node.function == "format"
        first = node.args[0] if node.args else None
        if isinstance(first, LiteralNode) and not _valid(node.function, first.value):
            yield first.offset, f"invalid {node.function} argument"
    elif isinstance(node, ListNode) and not exempt:
        yield from _mixed([(item, index in node.optional) for index, item in enumerate(node.items)], types)
    elif isinstance(node, MapNode) and not exempt:
        yield from _mixed([(key, False) for key, _, _ in node.entries], types)
        yield from _mixed([(value, optional) for _, value, optional in node.entries], types)
    for child in children(node):
        yield from _errors(child, types, exempt=exempt)


def _mixed(items: list[tuple[SyntaxNode, bool]], types: Mapping[SyntaxNode, ExprType]) -> Iterator[tuple[int, str]]:
    kinds = [types[item].params[0] if optional and types[item].params else types[item] for item, optional in items]
    for (item, _), kind in zip(items, kinds, strict=True):
        if kind != kinds[0]:
            yield item.offset, f"expected type '{kinds[0]}' but found '{kind}'"
            return


def _valid(function: str, value: object) -> bool:
    try:
        if function == "duration":
            to_duration(value)
        elif function == "timestamp":
            to_timestamp(value)
        elif function == "matches" and isinstance(value, str):
            return not pattern_error(value)
    except CelError:
        return False
    return True
