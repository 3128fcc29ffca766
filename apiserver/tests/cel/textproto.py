"""Reader of protocol buffers' text format, as far as the test data of CEL use it."""

import ast
import re
from typing import Any

_TOKEN = re.compile(
    r"#[^\n]*|\s+|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?P<type>\[[\w./]+\])"
    r"|(?P<word>[-+]?[\w.]+(?:[-+]\d+)?)|(?P<mark>[{}<>\[\]:;,])"
)
_NUMBERS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"), "true": True, "false": False}


def read_message(text: str) -> dict[str, list[Any]]:
    """Return the fields of a message, each with its values in order; strings are bytes, enums are texts."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"invalid text format at {text[position : position + 30]!r}")
        position = match.end()
        if match.lastgroup is not None:
            tokens.append((match.lastgroup, match[0]))
    tokens.reverse()
    return _fields(tokens, "")


def _fields(tokens: list[tuple[str, str]], end: str) -> dict[str, list[Any]]:
    fields: dict[str, list[Any]] = {}
    while tokens:
        _, name = tokens.pop()
        if name == end:
            return fields
        if name in {",", ";"}:
            continue
        if tokens[-1][1] == ":":
            tokens.pop()
        if tokens[-1][1] == "[":
            tokens.pop()
            values = fields.setdefault(name, [])
            while tokens[-1][1] != "]":
                values.append(_value(tokens))
                if tokens[-1][1] == ",":
                    tokens.pop()
            tokens.pop()
        else:
            fields.setdefault(name, []).append(_value(tokens))
    return fields


def _value(tokens: list[tuple[str, str]]) -> Any:
    kind, text = tokens.pop()
    if text in {"{", "<"}:
        return _fields(tokens, "}" if text == "{" else ">")
    if kind == "string":
        value = _bytes(text)
        while tokens and tokens[-1][0] == "string":  # adjacent strings are one
            value += _bytes(tokens.pop()[1])
        return value
    if text in _NUMBERS:
        return _NUMBERS[text]
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text.rstrip("f"))
    except ValueError:
        return text


def _bytes(text: str) -> bytes:
    """Return the bytes of a string literal; its escapes are those of C, and \\u and \\U."""
    literal = re.sub(r"\\(?:U([0-9a-fA-F]{8})|u([0-9a-fA-F]{4})|.)", _escaped, text)
    value: bytes = ast.literal_eval("b" + "".join(_ascii(character) for character in literal).replace("\n", "\\n"))
    return value


def _ascii(character: str) -> str:
    return character if character.isascii() else "".join(f"\\x{byte:02x}" for byte in character.encode())


def _escaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    if digits:
        return "".join(f"\\x{byte:02x}" for byte in chr(int(digits, 16)).encode())
    return "?" if match[0] == "\\?" else match[0]
