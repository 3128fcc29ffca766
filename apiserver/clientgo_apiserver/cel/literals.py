"""Checks of constants in checked CEL expressions: times, patterns, and lists and maps of one type."""

from collections.abc import Iterator, Mapping

from clientgo_apiserver.cel.functions.formatting import clause_error, clauses
from clientgo_apiserver.cel.functions.operators import OPERATORS, to_duration, to_timestamp
from clientgo_apiserver.cel.functions.patterns import pattern_error
from clientgo_apiserver.cel.syntax import CallNode, ListNode, LiteralNode, MapNode, SyntaxNode, children, walk
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError

_CONVERSIONS = ("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint")


def literal_errors(root: SyntaxNode, types: Mapping[SyntaxNode, ExprType]) -> list[tuple[int, str]]:
    """Return the errors of an expression's constants, as (offset, message)."""
    return list(_errors(root, types, exempt=False))


def _errors(node: SyntaxNode, types: Mapping[SyntaxNode, ExprType], *, exempt: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, CallNode):
        if node.function == "format":
            exempt = True
            yield from _format_errors(node, types)
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


def _format_errors(node: CallNode, types: Mapping[SyntaxNode, ExprType]) -> Iterator[tuple[int, str]]:
    template, args = node.target, node.args[0] if node.args else None
    if not isinstance(template, LiteralNode) or not isinstance(args, ListNode):
        return
    used = 0
    try:
        for verb, index, _ in clauses(template.value, len(args.items)):
            kind = types[args.items[index]]
            if kind.kind != "dyn" and (reason := clause_error(verb, kind.kind, str(kind))):
                yield args.items[index].offset, reason
                return
            used += 1
    except CelError as error:
        yield node.offset, str(error)
        return
    if len(args.items) > used:
        message = f"too many arguments supplied to string.format (expected {used}, got {len(args.items)})"
        yield node.offset, message


def instantiation_error(root: SyntaxNode) -> str:
    """Return the error of a constant that the real server converts before the first evaluation, or ""."""
    for node in walk(root):
        arg = node.args[0] if isinstance(node, CallNode) and node.args else None
        if not isinstance(node, CallNode) or not isinstance(arg, LiteralNode):
            continue
        if node.function in ("find", "findAll") and (reason := pattern_error(arg.value)):
            return reason
        if node.function in _CONVERSIONS and len(node.args) == 1:
            try:
                OPERATORS[node.function](arg.value)
            except CelError as error:
                return str(error)
    return ""


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
