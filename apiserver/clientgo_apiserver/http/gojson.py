"""JSON errors in the words of Go's encoding/json, which clients and tests know from the real server.

Only used after decoding failed, so it may be slow; it scans the text once and stops at the first error.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.gotext import escaped

_SPACE = lazy_pattern(r"[ \t\r\n]*")
_UNCLOSED = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrtu])*+'
_STRING = lazy_pattern(_UNCLOSED)
_TOKEN = lazy_pattern(rf'{_UNCLOSED}"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null')
_CLOSING = {"{": "}", "[": "]"}
UNMARSHAL_ERRORS = "yaml: unmarshal errors:"
_encode = msgspec.json.Encoder().encode
_END = "unexpected end of JSON input"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# What may come at each place, and how Go names the place.
_VALUE, _KEY = "looking for beginning of value", "looking for beginning of object key string"
_TOP, _COLON, _PAIR, _ELEMENT = (
    *("after top-level value", "after object key"),
    *("after object key:value pair", "after array element"),
)


def explain(text: str) -> str:
    """Return the first error of the text, or "" if it is JSON; each character stands for a byte (Latin-1), as in Go."""
    at, expected, empty, brackets = 0, _VALUE, False, ""
    while True:
        at += len(_SPACE.match(text, at)[0])  # type: ignore[index]  # matches anywhere
        char = text[at : at + 1]
        if not char:
            return "" if expected == _TOP else _END
        if brackets and char == _CLOSING[brackets[-1]] and (empty or expected in (_PAIR, _ELEMENT)):
            brackets = brackets[:-1]
            at, expected, empty = at + 1, _after_value(brackets), False
        elif expected == _VALUE and char in "{[":
            brackets += char
            at, expected, empty = at + 1, _KEY if char == "{" else _VALUE, True
        elif expected == _VALUE or (expected == _KEY and char == '"'):
            token = _TOKEN.match(text, at)
            if token is None:
                return _wrong_token(text, at)
            at, expected, empty = token.end(), _COLON if expected == _KEY else _after_value(brackets), False
        elif (expected, char) == (_COLON, ":"):
            at, expected = at + 1, _VALUE
        elif char == "," and expected in (_PAIR, _ELEMENT):
            at, expected = at + 1, _KEY if expected == _PAIR else _VALUE
        else:
            return f"invalid character {_quote(char)} {expected}"


def _after_value(brackets: str) -> str:
    return _TOP if not brackets else _PAIR if brackets[-1] == "{" else _ELEMENT


def _wrong_token(text: str, at: int) -> str:
    char = text[at]
    if char == '"':
        at += len(_STRING.match(text, at)[0])  # type: ignore[index]  # matches a quote
        context = "in string literal"
        if text[at : at + 1] == "\\":
            at, context = at + 1, "in string escape code"
    elif char == "-":
        at, context = at + 1, "in numeric literal"
    else:
        word = {"t": "true", "f": "false", "n": "null"}.get(char, "")
        if not word:
            return f"invalid character {_quote(char)} {_VALUE}"
        same = next(count for count in range(len(word), -1, -1) if text.startswith(word[:count], at))
        at, context = at + same, f"in literal {word} (expecting {_quote(word[same])})"
    return f"invalid character {_quote(text[at])} {context}" if at < len(text) else _END


def summarize(body: bytes, limit: int = 30) -> str:
    """Return the beginning of a body for an error message, in hexadecimal unless it looks like JSON."""
    if not body:
        return "<empty>"
    head, more = body[:limit], " ..." if len(body) > limit else ""
    return (head.decode(errors="replace") if body[:1] == b"{" else head.hex()) + more


def go_json(value: Any) -> str:
    """Encode a value as Go does, without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def in_text_order(value: Any, before: Any, *, copied: bool) -> Any:
    """Return a patched value in the order of its JSON text: members are sorted in objects that the patch has changed.

    `copied`: the patch copies its values into the text; otherwise their members are sorted, too.
    """
    if value is before or (copied and type(value) is not type(before)):
        return value
    if isinstance(value, dict):
        earlier = before if isinstance(before, dict) else {}
        return {name: in_text_order(value[name], earlier.get(name), copied=copied) for name in sorted(value)}
    if isinstance(value, list) and not copied:
        return [in_text_order(item, None, copied=copied) for item in value]
    return value


def duplicate_yaml_keys(body: bytes) -> list[str]:
    """Return the error of the keys that occur twice in one map of the first YAML document, if there are any."""
    errors: list[str] = []

    def visit(node: yaml.Node | None) -> None:
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                if key.value in seen:
                    errors.append(f'  line {key.start_mark.line + 1}: key "{key.value}" already set in map')
                seen.add(key.value)
                visit(value)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                visit(item)

    visit(next(yaml.compose_all(body, Loader=_Loader), None))
    return ["\n".join([UNMARSHAL_ERRORS, *errors])] if errors else []


def _count_strings(body: bytes) -> int:
    """Return twice the number of names and strings in a JSON text: its quotes that are not escaped."""
    if b"\\" not in body:
        return body.count(b'"')
    return body.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"')


def duplicate_fields(body: bytes, value: Any) -> list[str]:
    """Return the paths of duplicate fields of a JSON text, in order; `value` is what it was decoded to."""
    if (encoded := _encode(value)) == body.rstrip(b"\n") or _count_strings(body) == _count_strings(encoded):
        return []  # fast path: no name was lost, as each but the last of a duplicate is
    return [path for path, is_duplicate in fields_of(body) if is_duplicate]


def fields_of(body: bytes) -> Iterator[tuple[str, bool]]:
    """Yield the path of each field of a JSON text, in order, and whether its object had one of the name before."""
    # Numbers as texts: only names matter, and Python limits the digits of an int.
    return _fields(json.loads(body, object_pairs_hook=_Pairs, parse_int=str), "")


class _Pairs:
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _fields(node: Any, path: str) -> Iterator[tuple[str, bool]]:
    if isinstance(node, _Pairs):
        names: set[str] = set()
        for name, value in node.pairs:
            yield f"{path}.{name}".lstrip("."), name in names
            names.add(name)
            yield from _fields(value, f"{path}.{name}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _fields(value, f"{path}[{index}]")


def merged_fields(body: bytes) -> Any:
    """Parse JSON as Go decodes it to a type: a field that occurs again is merged with the one before."""
    # Longer integers are out of range anyway, and Python limits their digits.
    return json.loads(body, object_pairs_hook=_merged_pairs, parse_int=lambda digits: int(digits[:400]))


def _merged_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        fields[name] = _merged(fields.get(name), value)
    return fields


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merged(old.get(name), value) for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return [*map(_merged, old, new), *new[len(old) :]]
    return new


def _quote(char: str) -> str:
    """Quote a character as Go does one byte."""
    if char == "'":
        return r"'\''"
    is_plain = char.isprintable() and char != "\\"
    return f"'{char if is_plain else escaped(char)}'"
