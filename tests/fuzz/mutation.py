"""Mutations of inputs: truncated, joined, repeated, nested and, for JSON, changed as a tree.

They prefer what breaks parsers: depth, length, long numbers, empty parts, control characters, duplicates, and keywords
in wrong places.
"""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LARGEST = 64 * 1024
"""Bytes of an input at most: more says nothing new and takes its time."""

ODD = (
    b"", b"\x00", b"\n", b"\r\n", b"\t", b" ", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xae",
    b"../", b"'", b'"', b"\\", b"\\u0000", b"\\ud800", b"{}", b"[]", b"null", b"true", b"-", b"-1", b"0", b"1e400",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"1.5", b"NaN",
    b"9" * 400, b"9" * 5000, b"2024-01-01T00:00:00Z", b"9999-12-31T23:59:60+99:99", b"&a ", b"*a", b"!!int x",
)  # fmt: skip
"""What parsers of any kind stumble over."""

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1e308, "", "a", "\x00", "\n", "\ud800",
    "a" * 300, [], {}, [None], {"": None}, "2024-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
)  # fmt: skip

DEPTHS = (5, 60, 400, 1100, 6000)


class Mutator:
    """Random mutations; the same seed gives the same mutations."""

    def __init__(self, rng: Random, words: Sequence[bytes] = ()) -> None:
        self._rng = rng
        self._words = (*words, *words, *ODD)
        self._texts = [word.decode("utf-8", "replace") for word in words] or ["a"]
        self._ways: Sequence[Callable[[bytes, bytes], bytes]] = (
            self._replace_byte, self._cut, self._double, self._insert, self._insert, self._splice, self._swap,
            self._overwrite,
        )  # fmt: skip

    def mutate(self, data: bytes, other: bytes) -> bytes:
        """Return a mutation of `data`, perhaps with a part of `other`."""
        rng = self._rng
        if rng.random() < 0.02:
            data = self._deepen(data)
        elif data[:1] in (b"{", b"[") and rng.random() < 0.7:
            data = self._change_json(data)
            if rng.random() < 0.7:
                return data[:LARGEST]
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            data = rng.choice(self._ways)(data, other)
        return data[:LARGEST]

    def _at(self, data: bytes) -> int:
        return int(self._rng.random() * (len(data) + 1))

    def _span(self, data: bytes) -> tuple[int, int]:
        start = self._at(data)
        return start, start + int(self._rng.random() ** 3 * (len(data) - start + 1))

    def _replace_byte(self, data: bytes, _: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + bytes((int(self._rng.random() * 256),)) + data[at + 1 :]

    def _cut(self, data: bytes, _: bytes) -> bytes:
        start, end = self._span(data)
        return data[:start] + data[end:]

    def _double(self, data: bytes, _: bytes) -> bytes:
        start, end = self._span(data)
        times = self._rng.choice((2, 2, 3, 50))
        return data[:start] + data[start:end] * times + data[end:]

    def _insert(self, data: bytes, _: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + self._rng.choice(self._words) + data[at:]

    def _overwrite(self, data: bytes, _: bytes) -> bytes:
        start, end = self._span(data)
        return data[:start] + self._rng.choice(self._words) + data[end:]

    def _splice(self, data: bytes, other: bytes) -> bytes:
        start, end = self._span(other)
        at, until = self._span(data)
        return data[:at] + other[start:end] + data[until:]

    def _swap(self, data: bytes, _: bytes) -> bytes:
        start, end = self._span(data)
        middle = (start + end) // 2
        return data[:start] + data[middle:end] + data[start:middle] + data[end:]

    def _deepen(self, data: bytes) -> bytes:
        depth = self._rng.choice(DEPTHS)
        opening, closing = self._rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"- ", b""), (b"!", b"")))
        at, until = self._span(data)
        closed = self._rng.random() < 0.7
        inside = data[at:until] or b"0"
        return data[:at] + opening * depth + inside + (closing * depth if closed else b"") + data[until:]

    def _change_json(self, data: bytes) -> bytes:
        try:
            tree = json.loads(data)
        except (ValueError, RecursionError):
            return data
        for _ in range(self._rng.choice((1, 1, 2, 3))):
            tree = self._changed(tree)
        try:
            return json.dumps(tree, ensure_ascii=self._rng.random() < 0.5).encode("utf-8", "surrogatepass")
        except (RecursionError, ValueError):  # ValueError: a number of more digits than Python writes
            return data

    def _changed(self, tree: Any) -> Any:
        places: list[tuple[Any, Any]] = []
        _gather(tree, places)
        if not places:
            return self._value()
        holder, key = self._rng.choice(places)
        route = self._rng.random()
        if route < 0.5:
            holder[key] = self._value()
        elif route < 0.65:
            del holder[key]
        elif route < 0.8:
            other, elsewhere = self._rng.choice(places)
            holder[key] = other[elsewhere] if not _holds(other[elsewhere], holder) else self._value()
        elif isinstance(holder, dict):
            holder[self._rng.choice(self._texts)] = self._value() if route < 0.9 else holder.pop(key)
        else:
            holder.append(self._value())
        return tree

    def _value(self) -> Any:
        if self._rng.random() < 0.4:
            return self._rng.choice(self._texts)
        if self._rng.random() < 0.05:
            value: Any = 0
            for _ in range(self._rng.choice(DEPTHS[:3])):
                value = [value] if self._rng.random() < 0.5 else {self._rng.choice(self._texts): value}
            return value
        chosen = self._rng.choice(VALUES)
        return type(chosen)(chosen) if isinstance(chosen, list | dict) else chosen


def _gather(tree: Any, places: list[tuple[Any, Any]]) -> None:
    pending = [tree]
    while pending and len(places) < 2000:
        node = pending.pop()
        children = (
            list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
        )
        for key, child in children:
            places.append((node, key))
            pending.append(child)


def _holds(tree: Any, expected: Any) -> bool:
    pending = [tree]
    while pending:
        node = pending.pop()
        if node is expected:
            return True
        pending.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
    return False
