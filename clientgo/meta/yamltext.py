"""YAML that somebody else wrote, read to plain values: whatever is wrong with it is one sentence.

The YAML library alone does not promise that. Its constructors raise what `int()` and `datetime()` do, deep nesting ends
in a `RecursionError`, and a few hundred bytes of aliases stand for billions of values, which cost nothing until
somebody walks through them.
"""

import re
from typing import Any

import yaml

from clientgo.meta.readonly import register_with_yaml

register_with_yaml()

MOST_VALUES = 1_000_000
"""Values a text may stand for; the largest bundles of definitions hold some hundred thousand."""

DEEPEST = 200
"""Levels a text may nest: readers recurse. Schemas nest some 30."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Block collections nest by what lines begin with, at most two levels for each column.
_FAR_IN = re.compile(rf"^[ ?-]{{{DEEPEST // 2}}}", re.MULTILINE)

# What PyYAML's safe constructors let through: `2024-99-99`, `!!int ""`, `!!bool x`, `!!timestamp x`, a number too long.
_UNFORESEEN = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


class NotYAML(ValueError):
    """The text can't be read; the message says why, without its `line` (counted from 1, 0 if unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(text: str) -> list[Any]:
    """The documents in `text`, empty ones as None.

    Raises:
        NotYAML: it is none, or stands for more than `MOST_VALUES` values or `DEEPEST` levels.
    """
    try:
        _check_depth(text)
        documents = list(yaml.load_all(text, Loader=_LOADER))  # nosec B506  # both are safe loaders
    except NotYAML:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        # The end of the text may be reported as a line more than there are.
        last = text.rstrip().count("\n") + 1
        raise NotYAML(" ".join(str(problem).split()), min(mark.line + 1, last) if mark is not None else 0) from error
    except RecursionError as error:
        raise NotYAML(f"it nests more than {DEEPEST} levels") from error
    except _UNFORESEEN as error:
        raise NotYAML("a value in it is not of the type it looks like") from error
    _measure(documents)
    return documents


def _check_depth(text: str) -> None:
    # Before anything is composed: the C library does that recursively, without a limit, and ends the process.
    if text.count("[") + text.count("{") <= DEEPEST and not _FAR_IN.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise NotYAML(f"it nests more than {DEEPEST} levels", getattr(event.start_mark, "line", -1) + 1)


def _measure(documents: list[Any]) -> None:
    # Each value as often as a reader would meet it, so that aliases count; a value within itself ends it too.
    pending: list[tuple[Any, int]] = [(documents, 0)]
    met = 0
    while pending:
        value, depth = pending.pop()
        children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        met += len(children)
        if met > MOST_VALUES:
            raise NotYAML(f"it stands for more than {MOST_VALUES} values")
        if depth > DEEPEST:
            raise NotYAML(f"it nests more than {DEEPEST} levels")
        pending.extend((child, depth + 1) for child in children)
