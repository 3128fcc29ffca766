"""Syntax trees of CEL expressions, and the errors found in them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ACCUMULATOR = "@result"


class UInt(int):
    """An unsigned integer of CEL."""


@dataclass(slots=True, eq=False)
class SyntaxNode:
    """An expression; `offset` is where errors point to."""

    offset: int


@dataclass(slots=True, eq=False)
class LiteralNode(SyntaxNode):
    """A constant."""

    value: Any


@dataclass(slots=True, eq=False)
class IdentNode(SyntaxNode):
    """A variable, or a qualified name the checker has resolved."""

    name: str


@dataclass(slots=True, eq=False)
class SelectNode(SyntaxNode):
    """A field of an object or map, or the test whether there is one."""

    operand: SyntaxNode
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class CallNode(SyntaxNode):
    """A function or operator; methods have a target."""

    function: str
    args: list[SyntaxNode]
    target: SyntaxNode | None = None


@dataclass(slots=True, eq=False)
class ListNode(SyntaxNode):
    """A list; `optional` has the indices of items that are added only if they have a value."""

    items: list[SyntaxNode]
    optional: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class MapNode(SyntaxNode):
    """A map, as (key, value, whether it is added only if it has a value)."""

    entries: list[tuple[SyntaxNode, SyntaxNode, bool]]


@dataclass(slots=True, eq=False)
class StructNode(SyntaxNode):
    """An object with a named type, as (offset, field, value, whether it is set only if it has a value)."""

    type_name: str
    fields: list[tuple[int, str, SyntaxNode, bool]]


@dataclass(slots=True, eq=False)
class FoldNode(SyntaxNode):
    """A comprehension: what macros such as all() and map() become."""

    items: SyntaxNode
    names: tuple[str, ...]
    accumulator: str
    start: SyntaxNode
    condition: SyntaxNode
    step: SyntaxNode
    result: SyntaxNode


class CompileError(Exception):
    """Errors of an expression, as (offset, message); none if its syntax is invalid, at `offset`."""

    def __init__(self, errors: list[tuple[int, str]], offset: int = 0) -> None:
        super().__init__(errors)
        self.errors = errors
        self.offset = offset

    def text(self, source: str) -> str:
        """Return the errors as the API server shows them, each with its line and a mark."""
        return "\n".join(_shown(source, offset, message) for offset, message in sorted(self.errors, key=lambda e: e[0]))


def _shown(source: str, offset: int, message: str) -> str:
    before = source[:offset].split("\n")
    line, column = len(before), len(before[-1])
    text = source.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {text}\n | {'.' * column}^"


def keyword_field(name: str) -> str:
    """Return the escaped name of a field named like a keyword, for which rules may also use the keyword itself."""
    return f"__{name}__"


def children(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the expressions right below an expression."""
    match node:
        case SelectNode(operand=operand):
            yield operand
        case CallNode(args=args, target=target):
            yield from (target, *args) if target is not None else args
        case ListNode(items=items):
            yield from items
        case MapNode(entries=entries):
            for key, value, _ in entries:
                yield from (key, value)
        case StructNode(fields=fields):
            yield from (value for _, _, value, _ in fields)
        case FoldNode(items=items):
            yield from (items, node.start, node.condition, node.step, node.result)


def walk(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield an expression and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def qualified_name(node: SyntaxNode) -> str:
    """Return the dotted name that an expression spells, or ""."""
    if isinstance(node, IdentNode):
        return node.name
    if isinstance(node, SelectNode) and not node.test_only:
        prefix = qualified_name(node.operand)
        return f"{prefix}.{node.field}" if prefix else ""
    return ""
