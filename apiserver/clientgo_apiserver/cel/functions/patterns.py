"""Regular expressions in RE2 syntax, matched in linear time by Google's engine.

Python's `re` is not used, although it is faster for short texts: patterns come from requests, and a pattern such as
`^([a-z0-9]+-?)+$` takes exponential time there, holding the interpreter lock.
"""

from functools import cache, lru_cache
from typing import Any, cast

_MAX_PATTERNS = 128
"""Compiled patterns to cache. Each takes up to 8 MiB, RE2's default limit, if texts are hostile."""

_MAX_TEXTS, _SHORT = 512, 64
"""Matched texts to cache, and how long they are at most."""

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
    # A write matches the same texts when it decodes and when it validates, and so does the next write of the object.
    return (_matched_short if len(text) <= _SHORT else _matched)(pattern, text)


def _matched(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    # As bytes, because the engine would convert the offsets of a match in a str.
    return not isinstance(compiled, str) and compiled.search(text.encode(errors="replace")) is not None


_matched_short = lru_cache(maxsize=_MAX_TEXTS)(_matched)


def find_all(pattern: str, text: str, limit: int = -1) -> list[str]:
    """Return the parts of a text that a valid RE2 pattern matches, at most `limit` of them unless that is negative.

    As in Go, an empty match right after another match is left out.
    """
    found_texts: list[str] = []
    end = -1
    for match in _compiled(pattern).finditer(text.encode(errors="replace").decode()):
        if 0 <= limit <= len(found_texts):
            break
        if match.end() > match.start() or match.start() != end:
            found_texts.append(match[0])
        end = match.end()
    return found_texts


def pattern_error(pattern: str) -> str:
    """Return why a pattern is not in RE2 syntax, in the words of Go's regexp package, or ""."""
    compiled = _compiled(pattern)
    return compiled if isinstance(compiled, str) else ""


@lru_cache(maxsize=_MAX_PATTERNS)
def _compiled(pattern: str) -> Any:
    """Return a compiled pattern, or a text with its error."""
    engine, options = _re2()
    try:
        return engine.compile(pattern, options)
    except engine.error as error:
        return _go_error(pattern, error.args[0].decode())
    except UnicodeEncodeError:
        return "error parsing regexp: invalid UTF-8"


def _go_error(pattern: str, message: str) -> str:
    reason, _, part = message.partition(": ")
    if part.startswith("(?<"):
        return f"error parsing regexp: invalid named capture: `{pattern[pattern.index(part) :]}`"
    return f"error parsing regexp: {_GO_ERRORS.get(reason, reason)}: `{part}`"


def syntax_error(source: str) -> str:
    """Return the syntax errors of an expression as the engine's parser, which has the grammar of cel-go, words them.

    The text is empty if the engine is not installed: Python is newer than it, or the environment is that of `make run`.
    """
    try:
        _cel_environment().compile(source, True)
    except RuntimeError as error:
        return str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]").replace(r"\u003F", "?")
    except ModuleNotFoundError:
        pass
    return ""


@cache
def _re2() -> tuple[Any, Any]:
    # Imported at the first pattern, 7 ms: servers without patterns need no engine.
    import re2  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    options = re2.Options()
    options.log_errors = False
    return re2, options


@cache
def _cel_environment() -> Any:
    # Imported at the first syntax error: most servers need no second parser, and it takes 10 ms.
    from cel_expr_python import cel  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    return cast(Any, cel).NewEnv(variables={})
