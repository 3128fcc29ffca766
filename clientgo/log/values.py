"""What stands in a line for a value: something JSON can say, not too long, and nothing named like a credential."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.log.credentials import REDACTED, is_secret_name, redact
from clientgo.log.failures import text_of

Clean = Callable[[str], str]
"""Takes credentials out of a text; `str` where there can be none."""

LONGEST = 16384
"""Characters of one text that are shown."""

LONGEST_READ = 16 * LONGEST
"""Characters of one text that are looked at for credentials; a server may send any number."""

DEEPEST = 4
"""Levels of nesting of a value that are shown as such; what lies deeper, as its text."""

_SERIES = (list, tuple, set, frozenset)


def shown(key: str, value: object, clean: Clean) -> Any:
    """The value as JSON can say it; never raises."""
    if type(value) is str:  # as nearly all are; every other question comes after this one
        return REDACTED if is_secret_name(key) else cut(value, clean)
    try:
        return _shown(key, value, clean, 0)
    except Exception as error:  # noqa: BLE001  # say, a dict that another thread is changing: the line matters more
        return f"<{type(value).__name__} that can't be shown: {type(error).__name__}>"


def cut(text: str, clean: Clean) -> str:
    """The text without credentials, and without what is too long of it."""
    if len(text) <= LONGEST:
        return clean(text)
    # Read on a little, up to a word's end: half a credential would not be recognised.
    read = text if len(text) <= LONGEST_READ else text[:LONGEST_READ].rsplit(maxsplit=1)[0]
    return f"{redact(read)[:LONGEST]}… ({len(text) - LONGEST} more)"


def _shown(key: str, value: object, clean: Clean, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(key):
        return REDACTED
    if isinstance(value, str):
        return cut(value, clean)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and value.bit_length() <= 64:
        return value
    if depth < DEEPEST and isinstance(value, Mapping):
        return {text: _shown(text, item, clean, depth + 1) for text, item in _items(value)}
    # Exactly these: a named tuple has a text of its own.
    if depth < DEEPEST and isinstance(value, _SERIES) and type(value) in _SERIES:
        return [_shown(key, item, clean, depth + 1) for item in value]
    return cut(text_of(value), clean)


def _items(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    return [(text_of(key), item) for key, item in value.items()]
