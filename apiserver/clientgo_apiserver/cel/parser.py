"""Parser of CEL expressions: tokens, precedence and literals. Macros are expanded while parsing."""

import math
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

from clientgo_apiserver.api.limits import MAX_EXPRESSION_DEPTH
from clientgo_apiserver.cel.macros import MACROS
from clientgo_apiserver.cel.syntax import (
    CallNode,
    CompileError,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    SelectNode,
    StructNode,
    SyntaxNode,
    UInt,
)

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*(?:\n|\Z))+)
    |(?P<string>[bB]?[rR]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*'))
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<mark>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_RAW = re.compile(r"([bB]?[rR]|[rR][bB])(\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"\n\r]*\"|'[^'\n\r]*')", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    )
)
_CONSTANTS = {"true": True, "false": False, "null": None}
_LEVELS = ({"<", "<=", ">", ">=", "==", "!=", "in"}, {"+", "-"}, {"*", "/", "%"})
_RECURSION = threading.Lock()  # the limit is that of the process


def parse(source: str) -> SyntaxNode:
    """Return the syntax tree of an expression.

    Raises:
        CompileError: the expression is invalid. Its errors are empty if the syntax is: this parser only has the offset.
    """
    parser = _Parser(source)
    with _RECURSION:
        limit = sys.getrecursionlimit()
        # A level of nesting takes about ten calls, which are Python's own and need no space on the thread's stack.
        sys.setrecursionlimit(limit + 20 * MAX_EXPRESSION_DEPTH)
        try:
            node = parser.expression()
            parser.expect("")
            return node
        except CompileError as error:
            raise error if error.errors else CompileError([], parser.offset) from None
        finally:
            sys.setrecursionlimit(limit)


def _balanced(name: str, operands: list[SyntaxNode], offsets: list[int]) -> SyntaxNode:
    """Return calls of an associative operator as a tree of little depth, as cel-go does."""
    if not offsets:
        return operands[0]
    middle = len(offsets) // 2
    first = _balanced(name, operands[: middle + 1], offsets[:middle])
    second = _balanced(name, operands[middle + 1 :], offsets[middle + 1 :])
    return CallNode(offsets[middle], name, [first, second])


class _Parser:
    def __init__(self, source: str) -> None:
        self._tokens = list(_tokens(source))
        self._index = 0
        self._depth = 0

    @property
    def offset(self) -> int:
        """Offset of the next token."""
        return self._tokens[min(self._index, len(self._tokens) - 1)][2]

    @property
    def _text(self) -> str:
        kind, text, _ = self._tokens[self._index]
        return text if kind in ("mark", "end") or text == "in" else f"\0{text}"

    def _next(self) -> tuple[str, str, int]:
        token = self._tokens[self._index]
        self._index += 1
        return token

    def _take(self, text: str) -> bool:
        if self._text != text:
            return False
        self._index += 1
        return True

    def expect(self, text: str) -> int:
        """Return the offset of the next token, which must be this one."""
        if self._text != text:
            raise CompileError([])
        return self._next()[2]

    def expression(self) -> SyntaxNode:
        """Parse a conditional expression."""
        self._depth += 1
        if self._depth > MAX_EXPRESSION_DEPTH:
            raise CompileError([])
        node = self._logical("||")
        if self._text == "?":
            offset = self._next()[2]
            yes = self._logical("||")
            self.expect(":")
            node = CallNode(offset, "_?_:_", [node, yes, self.expression()])
        self._depth -= 1
        return node

    def _logical(self, operator: str) -> SyntaxNode:
        def below() -> SyntaxNode:
            return self._logical("&&") if operator == "||" else self._binary(0)

        operands, offsets = [below()], []
        while self._text == operator:
            offsets.append(self._next()[2])
            operands.append(below())
        return _balanced(f"_{operator}_", operands, offsets)

    def _binary(self, level: int) -> SyntaxNode:
        if level == len(_LEVELS):
            return self._unary()
        node = self._binary(level + 1)
        while self._text in _LEVELS[level]:
            _, operator, offset = self._next()
            name = "@in" if operator == "in" else f"_{operator}_"
            node = CallNode(offset, name, [node, self._binary(level + 1)])
        return node

    def _unary(self) -> SyntaxNode:
        mark = self._text
        if mark not in ("!", "-"):
            return self._member()
        offset, count = self._tokens[self._index][2], 0
        while self._text == mark:
            following = self._tokens[self._index + 1]
            if mark == "-" and following[0] in ("int", "float"):
                break
            self._index += 1
            count += 1
        node = self._member()
        return CallNode(offset, f"{mark}_", [node]) if count % 2 else node

    def _member(self) -> SyntaxNode:
        node = self._primary()
        while True:
            if self._text == ".":
                node = self._selected(node)
            elif self._text == "[":
                offset = self._next()[2]
                name = "_[?_]" if self._take("?") else "_[_]"
                node = CallNode(offset, name, [node, self.expression()])
                self.expect("]")
            else:
                return node

    def _selected(self, node: SyntaxNode) -> SyntaxNode:
        offset = self._next()[2]
        optional = self._take("?")
        kind, name, _ = self._next()
        if kind == "escaped":
            name = name[1:-1]
        elif kind != "name" or name in (*_CONSTANTS, "in"):
            raise CompileError([])
        if optional:
            return CallNode(offset, "_?._", [node, LiteralNode(offset, name)])
        if kind == "name" and self._text == "(":
            return self._call(name, node)
        return SelectNode(offset, node, name)

    def _call(self, name: str, target: SyntaxNode | None) -> SyntaxNode:
        offset = self.expect("(")
        args = self._listed(")", self.expression, trailing=False)
        macro = MACROS.get((name, len(args), target is not None))
        if macro is not None:
            return macro(offset, target, args)
        return CallNode(offset, name, args, target)

    def _listed(self, end: str, read: Callable[[], Any], *, trailing: bool = True) -> list[Any]:
        items: list[Any] = []
        while not self._take(end):
            items.append(read())
            if not self._take(","):
                self.expect(end)
                break
            if not trailing and self._text == end:
                raise CompileError([])
        return items

    def _primary(self) -> SyntaxNode:
        kind, text, offset = self._next()
        if kind == "string":
            return LiteralNode(offset, _string(text, offset))
        if kind in ("int", "float"):
            return LiteralNode(offset, _number(text, offset))
        if kind == "name" or text == ".":
            return self._named(text, offset)
        if text == "(":
            node = self.expression()
            self.expect(")")
            return node
        if text == "[":
            return self._list(offset)
        if text == "{":
            return MapNode(offset, self._listed("}", self._entry))
        if text == "-" and self._tokens[self._index][0] in ("int", "float"):
            return LiteralNode(offset, _number("-" + self._next()[1], offset))
        raise CompileError([])

    def _list(self, offset: int) -> SyntaxNode:
        optional: set[int] = set()
        items: list[SyntaxNode] = []

        def item() -> SyntaxNode:
            if self._take("?"):
                optional.add(len(items))
            items.append(self.expression())
            return items[-1]

        self._listed("]", item)
        return ListNode(offset, items, optional)

    def _named(self, text: str, offset: int) -> SyntaxNode:
        if text in _CONSTANTS:
            return LiteralNode(offset, _CONSTANTS[text])
        if text == ".":
            kind, name, _ = self._next()
            if kind != "name":
                raise CompileError([])
            text = f".{name}"
        if text == "in":
            raise CompileError([])
        if text.lstrip(".") in _RESERVED:
            raise CompileError([(offset, f"reserved identifier: {text}")])
        mark = self._index
        type_name = text
        while self._text == "." and self._tokens[self._index + 1][0] == "name":
            type_name += "." + self._tokens[self._index + 1][1]
            self._index += 2
        if self._text == "{":
            return StructNode(self._next()[2], type_name, self._listed("}", self._struct_field))
        self._index = mark
        return self._call(text, None) if self._text == "(" else IdentNode(offset, text)

    def _entry(self) -> tuple[SyntaxNode, SyntaxNode, bool]:
        optional = self._take("?")
        key = self.expression()
        self.expect(":")
        return key, self.expression(), optional

    def _struct_field(self) -> tuple[int, str, SyntaxNode, bool]:
        optional = self._take("?")
        kind, name, _ = self._next()
        if kind not in ("name", "escaped"):
            raise CompileError([])
        offset = self.expect(":")
        return offset, name.strip("`"), self.expression(), optional


def _tokens(source: str) -> list[tuple[str, str, int]]:
    tokens, at = [], 0
    while at < len(source):
        match = _RAW.match(source, at)
        kind = "string" if match else ""
        if match is None:
            match = _TOKEN.match(source, at)
            if match is None:
                raise CompileError([], at)
            kind = match.lastgroup or ""
        if kind != "space":
            tokens.append((kind, match[0], at))
        at = match.end()
    return [*tokens, ("end", "", len(source))]


def _number(text: str, offset: int) -> Any:
    if text[-1] in "uU":
        value = int(text[:-1], 0 if "0x" in text else 10)
        if value >= 1 << 64 or value < 0:
            raise CompileError([(offset, "invalid uint literal")])
        return UInt(value)
    if "0x" not in text and any(mark in text for mark in ".eE"):
        number = float(text)
        if math.isinf(number):
            raise CompileError([(offset, "invalid double literal")])
        return number
    value = int(text, 0 if "0x" in text else 10)
    if not -(1 << 63) <= value < 1 << 63:
        raise CompileError([(offset, "invalid int literal")])
    return value


def _string(text: str, offset: int) -> str | bytes:
    prefix = text[: min(text.index(quote) for quote in "'\"" if quote in text)].lower()
    body = text[len(prefix) :]
    width = 3 if body[:3] in ('"""', "'''") and len(body) > 5 else 1
    body = body[width:-width]
    binary = "b" in prefix
    if "r" in prefix:
        return body.encode() if binary else body
    if not binary:
        return _ESCAPE.sub(lambda match: _unescaped(match, offset), body)
    pieces, at = [], 0
    for escape in _ESCAPE.finditer(body):
        pieces.append(body[at : escape.start()].encode())
        wide = escape[3] or escape[4]
        pieces.append(_unescaped(escape, offset).encode("utf-8" if wide or escape[6] else "latin-1"))
        at = escape.end()
    return b"".join((*pieces, body[at:].encode()))


def _unescaped(match: re.Match[str], offset: int) -> str:
    digits = match[1] or match[2] or match[3] or match[4]
    if digits:
        return chr(int(digits, 16))
    if match[5]:
        return chr(int(match[5], 8))
    if match[6] in _ESCAPED:
        return _ESCAPED[match[6]]
    if match[6] in "\\?'\"`":
        return match[6]
    raise CompileError([])
