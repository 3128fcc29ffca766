"""Shallow JSON parser: splits objects and arrays without recursion, for objects nested too deep for the decoder.

The decoder is recursive, also for skipped values, and fails at about a thousand levels (Python 3.11; later releases at
the end of the stack), which a custom resource without a schema can have. Such an object must not hide the others of its
list or stop their watch: this parser reads the others, and its name and version, by counting brackets and skipping
strings. It is linear in the bytes and about as fast as decoding them: a fifth of a second for 6 MB.

It does not validate: brackets are counted, not paired, and values are not parsed.
"""

import functools
import re
from collections.abc import Iterator, Mapping

import msgspec

from clientgo.internal.callbacks import describe_error, text_of
from clientgo.internal.patterns import lazy_pattern

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for a body that it cannot decode: not JSON or of other types, not UTF-8, nested too deep."""

_NAMES = ("name", "namespace", "uid", "resourceVersion")


def reason(error: BaseException) -> str:
    """Return the reason why an object cannot be decoded."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return text_of(error) if isinstance(error, ValueError) else describe_error(error)


def names_alone(data: bytes) -> bytes:
    """Return the object with only its name, namespace, uid and version; empty if they cannot be read.

    Its managed fields are nested as deep as it is, so its metadata may be too deep as well.
    """
    try:
        metadata = members(members(data).get("metadata", b"{}"))
    except msgspec.DecodeError:
        return b""
    return b'{"metadata":%s}' % only(metadata, _NAMES)


def only(raw_members: Mapping[str, bytes], names: tuple[str, ...]) -> bytes:
    """Return an object with those of the undecoded members that have these names."""
    return b"{%s}" % b",".join(b'"%s":%s' % (name.encode(), raw_members[name]) for name in names if name in raw_members)


_SHALLOW = 16
"""Levels of brackets that one regular expression skips, six times as fast as counting."""

_OPENING, _CLOSING = b"[{", b"]}"


_ESCAPE = lazy_pattern(
    rb"\\(?:u(?P<half>[dD][89abAB][0-9a-fA-F]{2})(?P<pair>\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def with_whole_characters(data: bytes) -> bytes:
    """Return JSON with U+FFFD for each escape of half a surrogate pair, as Go reads it; the decoder rejects it."""
    # Go's encoder writes no such escapes: only the search takes time, a millisecond for 10 MB.
    return _ESCAPE.sub(_whole_character, data) if b"\\ud" in data or b"\\uD" in data else data


def _whole_character(match: re.Match[bytes]) -> bytes:
    is_half = match["low"] or (match["half"] and not match["pair"])
    return rb"\ufffd" if is_half else match[0]


class _Patterns:
    """Regular expressions, compiled at the first use, which takes a millisecond."""

    def __init__(self) -> None:
        string = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
        inside = rf'[^"\[\]{{}}]++|{string}'
        nested = rf"[\[{{](?:{inside})*+[\]}}]"
        for _ in range(_SHALLOW - 1):
            nested = rf"[\[{{](?:{inside}|{nested})*+[\]}}]"
        end = r"(?P<end>[\]}])\s*+\Z"
        self.begin = _compiled(rf"\s*+([\[{{])\s*+(?:{end})?")
        self.key = _compiled(rf"({string})\s*+:\s*+")
        # Except values nested deeper than _SHALLOW.
        self.value = _compiled(rf'{string}|[^\s,\]}}\[{{"]++|{nested}')
        # Or a whole string, whose brackets do not count. One without a closing quote extends to the end: a search for
        # the quote would begin again at each escaped one.
        self.bracket = _compiled(rf"{string}?|[\[{{]|[\]}}]")
        self.after = _compiled(rf"\s*+(?:,\s*+|{end})")
        self.null = _compiled(r"\s*+null")


def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.DOTALL)


_patterns = functools.cache(_Patterns)


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object: names without unescaping, values undecoded.

    Raises:
        msgspec.DecodeError: it is not an object.
    """
    return {key.decode(errors="replace"): value for key, value in _members(data, b"{", b"}")}


def elements(data: bytes) -> list[bytes]:
    """Return the undecoded elements of a JSON array; none for `null`.

    Raises:
        msgspec.DecodeError: it is not an array.
    """
    return [] if _patterns().null.match(data) else [value for _, value in _members(data, b"[", b"]")]


def _members(data: bytes, opening: bytes, closing: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield names (empty in an array) and values."""
    patterns, name = _patterns(), b""
    match = patterns.begin.match(data)
    if match is None or match[1] != opening:
        raise _expected(opening.decode(), data, 0)
    while match["end"] is None:
        position = match.end()
        if opening == b"{":
            key = patterns.key.match(data, position)
            if key is None:
                raise _expected("a name", data, position)
            name, position = key[1][1:-1], key.end()
        end = _value_end(data, position)
        yield name, data[position:end]
        match = patterns.after.match(data, end)
        if match is None:
            raise _expected(closing.decode(), data, end)
    if match["end"] != closing:
        raise _expected(closing.decode(), data, match.start())


def _value_end(data: bytes, position: int) -> int:
    value = _patterns().value.match(data, position)
    if value is not None:
        return value.end()
    depth = 0
    for bracket in _patterns().bracket.finditer(data, position):
        byte = data[bracket.start()]
        depth += (byte in _OPENING) - (byte in _CLOSING)
        if depth <= 0:
            break
    if depth or data[position : position + 1] not in (b"[", b"{"):
        raise _expected("a value", data, position)
    return bracket.end()


def _expected(what: str, data: bytes, position: int) -> msgspec.DecodeError:
    return msgspec.DecodeError(f"expected {what}: {data[position : position + 40]!r}")
