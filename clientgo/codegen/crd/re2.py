"""RE2 syntax, in which the API server reads patterns: a parser that finds what Go's regexp package rejects.

Python's `re` has lookaround, backreferences, possessive repetition and atomic groups, and RE2 has none of them; RE2 has
`\\pL`, `[[:alpha:]]` and `\\z`, and Python has none of these. No package of ours has Go's parser, so it is spelled out.
"""

import re
import sys
from collections.abc import Mapping

_MOST_REPEATS = 1000
"""Repetitions of a part, those of the parts around it multiplied: Go's limit."""

_DEEPEST = 100
"""Groups inside of groups; Go allows 1000, of operations as well."""

_PUNCTUATION = r"[\x00-/:-@\[-`{-\x7f]"
_CHARACTER = rf"(?:[aftnrv]|x(?:[0-9A-Fa-f]{{2}}|\{{[0-9A-Fa-f]+\}})|0[0-7]{{0,2}}|[1-7][0-7]{{1,2}}|{_PUNCTUATION})"
_SET = r"(?:[dDsSwW]|[pP](?:[A-Z]|\{\^?[A-Za-z_]+\}))"
_ESCAPE = re.compile(rf"\\(?:[AbBz]|Q.*?(?:\\E|$)|{_SET}|{_CHARACTER})", re.DOTALL)
_ESCAPED_SET = re.compile(rf"\\{_SET}")
_ESCAPED_CHARACTER = re.compile(rf"\\{_CHARACTER}")
_POSIX = re.compile(r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]")
_REPEAT = re.compile(r"(?:[*+?]|\{(?P<least>[0-9]+)(?P<range>,(?P<most>[0-9]*))?\})(?P<lazy>\??)")
_OPEN = re.compile(r"\((?:\?(?:P?<(?P<name>[^>]*)>|(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<end>[:)])))?")
_NAME = re.compile(r"[0-9A-Za-z_]+")

_NOT_IN_RE2: Mapping[str, str] = {
    "(?=": "lookahead",
    "(?!": "lookahead",
    "(?<=": "lookbehind",
    "(?<!": "lookbehind",
    "(?>": "an atomic group",
    "(?(": "a conditional group",
    "(?#": "a comment",
    "(?P=": "a backreference",
}


class NotRE2(ValueError):
    """The pattern is not in RE2 syntax; the message says why."""


def check_re2(pattern: str) -> None:
    """Check the syntax of a pattern.

    Raises:
        NotRE2: the API server would reject it.
    """
    _Parser(pattern).check()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0

    def check(self) -> None:
        self._alternatives(0)
        if self._place < len(self._pattern):
            raise NotRE2("unexpected )")

    def _alternatives(self, depth: int) -> int:
        """Read up to a closing parenthesis or the end; return the most repetitions of a part."""
        if depth > _DEEPEST:
            raise NotRE2(f"more than {_DEEPEST} nested groups")
        most, inner = 1, 0
        repeated = False
        while self._place < len(self._pattern) and self._pattern[self._place] != ")":
            if found := _REPEAT.match(self._pattern, self._place):
                inner *= self._repetitions(found, repeatable=inner > 0, repeated=repeated)
                if inner > _MOST_REPEATS:
                    raise NotRE2(f"more than {_MOST_REPEATS} repetitions, those around {found[0]!r} included")
                repeated, self._place = True, found.end()
            else:
                atom, repeated = self._atom(depth), False
                inner = inner if atom is None else atom
            most = max(most, inner)
        return most

    def _repetitions(self, found: re.Match[str], *, repeatable: bool, repeated: bool) -> int:
        if repeated:
            kind = "possessive repetition" if found[0] == "+" else "repetition of a repetition"
            raise NotRE2(f"{kind} is not supported: {found[0]!r}")
        if not repeatable:
            raise NotRE2(f"missing argument to repetition operator: {found[0]!r}")
        if found["least"] is None:
            return 1
        least = int(found["least"])
        most = least if not found["most"] else int(found["most"])
        if max(least, most) > _MOST_REPEATS or most < least:
            raise NotRE2(f"invalid repeat count: {found[0]!r}")
        return max(most, 1)

    def _atom(self, depth: int) -> int | None:
        """Read one part; return the most repetitions in it, 0 if nothing may repeat it, or None for flags."""
        char = self._pattern[self._place]
        if char == "(":
            return self._group(depth)
        if char == "[":
            self._class()
        elif char == "\\":
            self._take(_ESCAPE)
        else:
            self._place += 1
            return int(char != "|")
        return 1

    def _group(self, depth: int) -> int | None:
        start = self._pattern[self._place :]
        for text, kind in _NOT_IN_RE2.items():
            if start.startswith(text):
                raise NotRE2(f"{kind} is not supported: {text!r}")
        found = _OPEN.match(self._pattern, self._place)
        if found is None or (start.startswith("(?") and len(found[0]) == 1):
            raise NotRE2(f"invalid or unsupported group syntax: {start[:4]!r}")
        self._place = found.end()
        if found["name"] is not None and not _NAME.fullmatch(found["name"]):
            raise NotRE2(f"invalid group name: {found['name']!r}")
        if found["end"] == ")":
            return None
        most = self._alternatives(depth + 1)
        if self._place >= len(self._pattern):
            raise NotRE2("missing )")
        self._place += 1
        return most

    def _take(self, form: re.Pattern[str]) -> str:
        found = form.match(self._pattern, self._place)
        if found is None:
            text = self._pattern[self._place : self._place + 2]
            kind = "a backreference is not supported" if text[1:].isdigit() else "invalid or unsupported escape"
            raise NotRE2(f"{kind}: {text!r}")
        if found[0].startswith(r"\x") and _code_point(found[0]) > sys.maxunicode:
            raise NotRE2(f"invalid escape: {found[0]!r}")
        self._place = found.end()
        return found[0]

    def _class(self) -> None:
        start, self._place = self._place, self._place + 1
        if self._pattern.startswith("^", self._place):
            self._place += 1
        first = True
        while first or not self._pattern.startswith("]", self._place):
            first = False
            if self._place >= len(self._pattern):
                raise NotRE2(f"missing closing ]: {self._pattern[start : start + 10]!r}")
            self._class_part()
        self._place += 1

    def _class_part(self) -> None:
        if self._pattern.startswith("[:", self._place) and ":]" in self._pattern[self._place + 2 :]:
            if found := _POSIX.match(self._pattern, self._place):
                self._place = found.end()
                return
            raise NotRE2(f"invalid character class: {self._pattern[self._place : self._place + 12]!r}")
        if found := _ESCAPED_SET.match(self._pattern, self._place):
            self._place = found.end()
            return
        start = self._place
        low = self._class_character()
        if self._pattern.startswith("-", self._place) and not self._pattern.startswith("-]", self._place):
            self._place += 1
            if self._place < len(self._pattern) and self._class_character() < low:
                raise NotRE2(f"invalid character class range: {self._pattern[start : self._place]!r}")

    def _class_character(self) -> int:
        if self._pattern[self._place] == "\\":
            return _code_point(self._take(_ESCAPED_CHARACTER))
        self._place += 1
        return ord(self._pattern[self._place - 1])


def _code_point(escaped: str) -> int:
    body = escaped[1:]
    if body[0] == "x":
        return int(body[1:].strip("{}"), 16)
    if body.isdigit():
        return int(body, 8)
    return {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}.get(body, ord(body[0]))
