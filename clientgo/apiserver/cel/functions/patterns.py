"""Regular expressions in RE2 syntax, matched by Google's engine and, where both agree, by Python's."""

import re
from functools import cache, lru_cache
from typing import Any

_SPECIAL = re.compile(r"\\|\(\?|\[:|\[\^?\[|\{,|&&|--|\|\||~~")
# What Python accepts and RE2 may not: possessive and counted repetitions.
_DOUBTFUL = re.compile(r"[*+?}]\+|\{")
_LONGEST_CERTAIN = 1000
_DOLLAR = re.compile(r"(\[\^?\]?[^\]]*\])|\$")
# Words of Go where those of RE2 in C++ differ.
_GO_ERRORS = {
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
}


def matches(pattern: str, text: str) -> bool:
    """Return whether an RE2 pattern matches anywhere in the text; an invalid one matches nothing."""
    simple = simple_pattern(pattern)
    if simple is not None:
        return simple.search(text) is not None
    result = _matching().eval(data={"pattern": pattern, "text": text})
    return not _failed(result) and bool(result.plain_value())


def found(pattern: str, text: str, limit: int = -1) -> list[str]:
    """Return the parts of a text that an RE2 pattern matches, at most `limit` of them unless that is negative."""
    compiled = simple_pattern(pattern) or re.compile(pattern.replace(r"\z", r"\Z"), re.ASCII)
    parts = [match[0] for match in compiled.finditer(text)]
    return parts if limit < 0 else parts[:limit]


@lru_cache(maxsize=1024)
def simple_pattern(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern that Python understands as RE2 does, which takes a twentieth of the time; None for others."""
    if _SPECIAL.search(pattern) or pattern_error(pattern):
        return None
    # Python's $ also matches before a newline at the end; within brackets it is a character.
    return _compiled(_DOLLAR.sub(lambda match: match[1] or r"\Z", pattern))


def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def pattern_error(pattern: str) -> str:
    """Return why a pattern is not in RE2 syntax, in the words of Go's regexp package, or ""."""
    if _is_certain(pattern):
        return ""
    result = _matching().eval(data={"pattern": pattern, "text": ""})
    if not _failed(result):
        return ""
    why, _, part = str(result.value()).partition("invalid regular expression: ")[2].rpartition(": ")
    if part.startswith("(?<"):
        return f"error parsing regexp: invalid named capture: `{pattern[pattern.index(part) :]}`"
    return f"error parsing regexp: {_GO_ERRORS.get(why, why)}: `{part}`"


def _is_certain(pattern: str) -> bool:
    """Return whether a pattern is valid without asking the engine, which takes long to load."""
    if len(pattern) > _LONGEST_CERTAIN or _SPECIAL.search(pattern) or _DOUBTFUL.search(pattern):
        return False
    return _compiled(pattern) is not None


def syntax_error(source: str) -> str:
    """Return the syntax errors of an expression as the engine's parser, which has the grammar of cel-go, words them."""
    try:
        _environment().compile(source, True)
    except RuntimeError as error:
        return str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]").replace(r"\u003F", "?")
    return "ERROR: <input>:1:1: Syntax error"


def _failed(result: Any) -> bool:
    return bool(result.type() == _engine().Type.ERROR)


@cache
def _engine() -> Any:
    # Imported at the first pattern: most servers need no engine, and it takes 10 ms.
    from cel_expr_python import cel  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    return cel


@cache
def _matching() -> Any:
    return _environment().compile("text.matches(pattern)")


@cache
def _environment() -> Any:
    engine = _engine()
    return engine.NewEnv(variables=dict.fromkeys(("pattern", "text"), engine.Type.DYN))
