"""JSON errors in the words of Go's encoding/json, which clients and tests know from the real server.

Only used after decoding failed, so it may be slow; it scans the text once and stops at the first error.
"""

import json
import re
from typing import Any

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_SPACE = re.compile(r"[ \t\r\n]*")
_STRINGS = re.compile(rb'("(?:[^"\\]|\\.)*+")([ \t\r\n]*:)?', re.DOTALL)
_END = "unexpected end of JSON input"


class _SyntaxError(Exception):
    pass


def explain(text: str) -> str:
    """Return the first error of the text, or "" if it is JSON."""
    try:
        end = _skip(text, _value(text, _skip(text, 0), "looking for beginning of value"))
    except _SyntaxError as fault:
        return str(fault)
    return "" if end == len(text) else f"invalid character {_quote(text[end])} after top-level value"


def summarize(body: bytes, limit: int = 30) -> str:
    """Return the beginning of a body for an error message, in hexadecimal unless it looks like JSON."""
    if not body:
        return "<empty>"
    head, more = body[:limit], " ..." if len(body) > limit else ""
    return (head.decode(errors="replace") if body[:1] == b"{" else head.hex()) + more


def json_text(value: Any) -> str:
    """Encode a value as Go does: no spaces, sorted members."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def go_map(value: Any) -> str:
    """Format a value like Go's %+v: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_map(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_map(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def duplicate_fields(body: bytes) -> list[str]:
    """Return the paths of duplicate fields, in order; an empty list for invalid JSON."""
    names = [name for name, colon in _STRINGS.findall(body) if colon]
    if len(names) == len(set(names)) and b"\\" not in body:
        return []  # fast path: no name occurs twice anywhere
    found: list[str] = []

    def check(pairs: list[tuple[str, Any]]) -> Any:
        seen: dict[str, Any] = {}
        duplicates = [name for name, _ in pairs if name in seen or seen.setdefault(name, False)]
        return _Pairs(pairs, duplicates)

    try:
        tree = json.loads(body, object_pairs_hook=check)
    except ValueError:
        return []
    _collect(tree, "", found)
    return found


class _Pairs:
    def __init__(self, pairs: list[tuple[str, Any]], duplicates: list[str]) -> None:
        self.pairs = pairs
        self.duplicates = duplicates


def _collect(node: Any, path: str, found: list[str]) -> None:
    if isinstance(node, _Pairs):
        found.extend(f"{path}.{name}".lstrip(".") for name in node.duplicates)
        for name, value in node.pairs:
            _collect(value, f"{path}.{name}", found)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            _collect(value, f"{path}[{index}]", found)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _quote(char: str) -> str:
    return {"'": "'\\''", '"': "'\"'"}.get(char, f"'{char}'")


def _wrong(text: str, at: int, where: str) -> _SyntaxError:
    return _SyntaxError(_END) if at >= len(text) else _SyntaxError(f"invalid character {_quote(text[at])} {where}")


def _value(text: str, at: int, where: str) -> int:
    char = text[at : at + 1]
    if char == "{":
        return _object(text, at + 1)
    if char == "[":
        return _array(text, at + 1)
    if char == '"':
        return _string(text, at + 1)
    for word in ("true", "false", "null"):
        if char == word[0]:
            return _word(text, at, word)
    if char == "-" or char.isdigit():
        return _number(text, at)
    raise _wrong(text, at, where)


def _word(text: str, at: int, word: str) -> int:
    for offset, expected in enumerate(word):
        if text[at + offset : at + offset + 1] != expected:
            raise _wrong(text, at + offset, f"in literal {word} (expecting {_quote(expected)})")
    return at + len(word)


def _number(text: str, at: int) -> int:
    found = _NUMBER.match(text, at)
    if found is None:
        raise _wrong(text, at + 1, "in numeric literal")
    return found.end()


def _string(text: str, at: int) -> int:
    while at < len(text) and text[at] != '"':
        if text[at] < " ":
            raise _wrong(text, at, "in string literal")
        if text[at] == "\\":
            at += 1
            if text[at : at + 1] not in tuple('"\\/bfnrtu'):
                raise _wrong(text, at, "in string escape code")
        at += 1
    if at >= len(text):
        raise _SyntaxError(_END)
    return at + 1


def _object(text: str, at: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        if text[at : at + 1] != '"':
            raise _wrong(text, at, "looking for beginning of object key string")
        at = _skip(text, _string(text, at + 1))
        if text[at : at + 1] != ":":
            raise _wrong(text, at, "after object key")
        at = _skip(text, _value(text, _skip(text, at + 1), "looking for beginning of value"))
        if text[at : at + 1] == "}":
            return at + 1
        if text[at : at + 1] != ",":
            raise _wrong(text, at, "after object key:value pair")
        at = _skip(text, at + 1)


def _array(text: str, at: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        at = _skip(text, _value(text, at, "looking for beginning of value"))
        if text[at : at + 1] == "]":
            return at + 1
        if text[at : at + 1] != ",":
            raise _wrong(text, at, "after array element")
        at = _skip(text, at + 1)
