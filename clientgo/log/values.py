"""Values of log lines: conversion to what JSON can encode, truncated and redacted by name; escaping."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.internal.callbacks import callback_failure, text_of
from clientgo.log.credentials import REDACTED, is_secret_name, redact

MAX_TEXT = 16384
"""Maximum number of characters shown of one text."""

MAX_SCANNED = 16 * MAX_TEXT
"""Maximum number of characters of one text scanned for credentials; a server may send any number."""

MAX_DEPTH = 4
"""Maximum nesting of a value; deeper values are shown as text."""

Clean = Callable[[str], str]
"""`redact`, or `str` for a line without credentials."""

_SEQUENCES = (list, tuple, set, frozenset)

# Created once: json.dumps creates one per call.
to_json = json.JSONEncoder(ensure_ascii=False).encode
"""Return the value as JSON."""


def one_line(text: str) -> str:
    """Escape control characters, line separators, bidirectional marks and surrogates as JSON does."""
    # One check of the whole line; nearly all lines need no escaping.
    return text if text.isprintable() else "".join([c if c.isprintable() else json.dumps(c)[1:-1] for c in text])


def to_json_value(key: str, value: object, clean: Clean) -> Any:
    """Convert the value to one that JSON can encode, redacted by its name and truncated; never raises."""
    if type(value) is str:  # the common case
        return REDACTED if is_secret_name(key) else truncate(value, clean)
    try:
        return _json_value(key, value, clean, 0)
    except BaseException as error:  # noqa: BLE001  # such as a dict that another thread changes: the line must be logged
        callback_failure(error)
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def truncate(text: str, clean: Clean) -> str:
    """Redact the text and truncate it to `MAX_TEXT` characters."""
    if len(text) <= MAX_TEXT:
        return clean(text)
    # Scan more than is shown, up to the end of a word: a part of a credential would not be recognised.
    read = text if len(text) <= MAX_SCANNED else text[:MAX_SCANNED].rsplit(maxsplit=1)[0]
    return f"{redact(read)[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more)"


def _json_value(key: str, value: object, clean: Clean, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(key):
        return REDACTED
    if isinstance(value, str):
        return truncate(value, clean)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and value.bit_length() <= 64:
        return value
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {text: _json_value(text, item, clean, depth + 1) for text, item in _items(value)}
    # Exactly these types: a named tuple is shown by its own repr.
    if depth < MAX_DEPTH and isinstance(value, _SEQUENCES) and type(value) in _SEQUENCES:
        return [_json_value(key, item, clean, depth + 1) for item in value]
    return truncate(text_of(value), clean)


def _items(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    return [(text_of(key), item) for key, item in value.items()]
