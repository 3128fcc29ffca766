"""Static check of regular expressions: inputs on which a backtracking engine takes more than linear time.

A pattern becomes an automaton of its characters (Glushkov's construction). Backtracking visits every run of it over an
input that does not match. There are more than linearly many if a word leads from one loop to itself and as well to
another loop that reads it too, and exponentially many if a loop reads a word in two ways (Weber and Seidl, 1991).
A search is an anchored match behind a loop over all characters.

Approximate in the safe direction: look-arounds and back references restrict nothing (except a look-behind at the start
of a search), possessive parts may backtrack, and counts above `_EXACT` are unbounded.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from re import _constants as op  # type: ignore[attr-defined]  # part of CPython, without stubs
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_EXACT = 20
_SAMPLES = (*map(chr, range(256)), "\u4e2d", "\u0663", "\u2003", "\u2028", "\ud800")
"""Characters that stand for all others; bit i of a set is `_SAMPLES[i]`."""
_ALL = (1 << len(_SAMPLES)) - 1
_LINE_FEED = 1 << ord("\n")
_END = 0
"""Characters of the end of the text, which is read as a position of its own."""
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


@dataclass
class _Part:
    """Part of an automaton: positions it can begin and end with, and the number of ways to be empty."""

    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    empty: int = 0


@cache
def _members(category: str, flags: int) -> int:
    flags &= re.ASCII | re.IGNORECASE
    return sum(1 << bit for bit, char in enumerate(_SAMPLES) if re.fullmatch(category, char, flags))


class _Automaton:
    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._flags = pattern.flags | (re.ASCII if isinstance(pattern.pattern, bytes) else 0)
        self.chars: list[int] = []
        self.edges: defaultdict[int, Counter[int]] = defaultdict(Counter)
        items = list(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
        self.guard, items = self._guard(items)
        self.whole = self._sequence(items, self._flags)

    def _guard(self, items: list[Any]) -> tuple[int | None, list[Any]]:
        """Return the characters a search may begin behind (None: only at the start of the text), and the pattern."""
        match items:
            case [(op.AT, op.AT_BEGINNING), *rest] if self._flags & re.MULTILINE:
                return _LINE_FEED, rest
            case [(op.AT, op.AT_BEGINNING | op.AT_BEGINNING_STRING), *rest]:
                return None, rest
            case [(op.ASSERT_NOT, (-1, behind)), *rest] if len(behind) == 1:
                return _ALL & ~self._set(behind[0], self._flags), rest
            case [(op.ASSERT, (-1, behind)), *rest]:
                return _ALL, [*behind, *rest]
        return _ALL, items

    def search(self) -> int:
        """Add the loop over all characters in front of the pattern; return its position."""
        every, behind = self._position(_ALL), self._position(self.guard or 0)
        self.edges[every] += Counter({every: 1, behind: 1})
        self.edges[behind] += self.whole.first
        return every

    def without_success(self, *, full: bool) -> dict[int, dict[int, int]]:
        """Return the edges between positions from which the match can still fail.

        A prefix that matches is enough unless the whole text must match; a loop over all characters reaches the end.
        """
        last = self.whole.last
        loops = {a for a in range(len(self.chars)) if a in self.edges[a] and self.chars[a] == _ALL}
        ends = {a for a in last if self.chars[a] == _END}
        certain = {a for a in loops if a in last or not ends.isdisjoint(self.edges[a])} | (set() if full else {*last})
        return {
            a: {b: ways for b, ways in self.edges[a].items() if b not in certain}
            for a in range(len(self.chars))
            if a not in certain
        }

    def _position(self, chars: int) -> int:
        self.chars.append(chars)
        return len(self.chars) - 1

    def _set(self, item: Any, flags: int) -> int:
        match item:
            case (op.ANY, _):
                return _ALL if flags & re.DOTALL else _ALL & ~_LINE_FEED
            case (op.LITERAL, code):
                char = re.escape(chr(code))
            case (op.NOT_LITERAL, code):
                char = f"[^{re.escape(chr(code))}]"
            case (op.RANGE, (low, high)):
                char = f"[{re.escape(chr(low))}-{re.escape(chr(high))}]"
            case (op.CATEGORY, category):
                char = _CATEGORIES[category]
            case (op.IN, [(op.NEGATE, _), *parts]):
                return _ALL & ~self._union(parts, flags)
            case (op.IN, parts):
                return self._union(parts, flags)
        return _members(char, int(flags))

    def _union(self, pieces: Iterable[Any], flags: int) -> int:
        chars = 0
        for part in pieces:
            chars |= self._set(part, flags)
        return chars

    def _sequence(self, items: Iterable[Any], flags: int) -> _Part:
        part = _Part(empty=1)
        for item in items:
            part = self._then(part, self._part(item, flags))
        return part

    def _then(self, a: _Part, b: _Part) -> _Part:
        self._connect(a.last, b.first)
        first = a.first + _times(b.first, a.empty)
        return _Part(first, b.last + _times(a.last, b.empty), min(2, a.empty * b.empty))

    def _connect(self, last: Counter[int], first: Counter[int]) -> None:
        for a, ways in last.items():
            self.edges[a] += _times(first, ways)

    def _part(self, item: Any, flags: int) -> _Part:
        match item:
            case (op.BRANCH, (_, branches)):
                pieces = [self._sequence(branch, flags) for branch in branches]
                full = _Part()
                for part in pieces:
                    full = _Part(full.first + part.first, full.last + part.last, min(2, full.empty + part.empty))
                return full
            case (op.SUBPATTERN, (_, add, remove, inner)):
                return self._sequence(inner, (flags | add) & ~remove)
            case (op.ATOMIC_GROUP, inner):
                return self._sequence(inner, flags)
            case (op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT, (low, high, inner)):
                return self._repeat(low, high, lambda: self._sequence(inner, flags))
            case (op.ASSERT | op.ASSERT_NOT, (_, inner)):
                return _Part(self._sequence(inner, flags).first, empty=1)
            case (op.AT, op.AT_END | op.AT_END_STRING):
                return self._single(_END)
            case (op.AT | op.GROUPREF, _):
                return _Part(empty=1)
        return self._single(self._set(item, flags))

    def _single(self, chars: int) -> _Part:
        position = self._position(chars)
        return _Part(Counter({position: 1}), Counter({position: 1}))

    def _repeat(self, low: int, high: int, build: Callable[[], _Part]) -> _Part:
        if high <= _EXACT:
            full = _Part(empty=1)
            for number in range(high, 0, -1):  # nested, x(x(x)?)?, so that the empty rest is one way
                full = self._then(build(), full)
                full.empty = 1 if number > low else full.empty
            return full
        full = build()
        self._connect(full.last, full.first)
        full.empty = 1 if low == 0 or full.empty else 0
        return full


def _times(counts: Counter[int], ways: int) -> Counter[int]:
    return Counter({key: min(2, count * ways) for key, count in counts.items() if ways})


def super_linear(pattern: re.Pattern[Any], method: str = "fullmatch") -> str:
    """Return why a method of the pattern can take more than linear time, with an example, or "" if it cannot."""
    automaton = _Automaton(pattern)
    anchored = method in ("fullmatch", "match") or automaton.guard is None
    start = None if anchored else automaton.search()
    graph = _Graph(automaton.chars, automaton.without_success(full=method == "fullmatch"))
    for p in graph.cycles:
        if p != start and (word := graph.two_ways(p)):
            return f"exponential: repeats {word!r}"
        for q in graph.cycles.keys() & graph.reached[p] - {p}:
            if word := graph.two_loops(p, q):
                return f"polynomial: repeats {word!r}"
    return ""


_Steps = Callable[[tuple[int, ...]], Iterator[tuple[tuple[int, ...], int]]]


class _Graph:
    def __init__(self, chars: list[int], edges: dict[int, dict[int, int]]) -> None:
        self._chars = chars
        self._edges = edges
        self.reached = {a: self._reach(a) for a in edges}
        # Positions of loops, with all positions of the same loop.
        self.cycles = {a: {b for b in self.reached[a] if a in self.reached[b]} for a in edges if a in self.reached[a]}

    def two_ways(self, p: int) -> str:
        """Return a word that leads from `p` to itself on two paths."""
        cycle = self.cycles[p]

        def steps(state: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
            a, b, differ = state
            for x in self._edges[a].keys() & cycle:
                for y in self._edges[b].keys() & cycle:
                    twice = x == y and a == b and self._edges[a][x] > 1
                    yield (x, y, int(differ or x != y or twice)), self._chars[x] & self._chars[y]

        return _path((p, p, 0), (p, p, 1), steps)

    def two_loops(self, p: int, q: int) -> str:
        """Return a word that leads from `p` to itself and to `q`, and from `q` to itself."""

        def steps(state: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
            a, b, c = state
            for x in self._edges[a].keys() & self.cycles[p]:
                for z in self._edges[c].keys() & self.cycles[q]:
                    if common := self._chars[x] & self._chars[z]:
                        for y in self._edges[b]:
                            yield (x, y, z), common & self._chars[y]

        return _path((p, p, q), (p, q, q), steps)

    def _reach(self, start: int) -> set[int]:
        result, pending = set[int](), [start]
        while pending:
            for after in self._edges[pending.pop()]:
                if after not in result:
                    result.add(after)
                    pending.append(after)
        return result


def _path(start: tuple[int, ...], goal: tuple[int, ...], steps: _Steps) -> str:
    """Return the characters of a shortest path of at least one step, or ""."""
    words, pending = {start: ""}, deque([start])
    while pending:
        state = pending.popleft()
        for after, chars in steps(state):
            if not chars:
                continue
            word = words[state] + _char(chars)
            if after == goal:
                return word
            if after not in words:
                words[after] = word
                pending.append(after)
    return ""


def _char(chars: int) -> str:
    printable = chars & sum(1 << code for code in range(33, 127)) or chars
    return _SAMPLES[(printable & -printable).bit_length() - 1]
