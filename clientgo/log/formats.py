"""Log formatters: text in klog's format, and JSON.

A text line has klog's header, so parsers of Kubernetes' logs can read it: severity, date and time (in UTC), process id,
file and line, then the quoted message and its values. Severities are klog's four; debug lines are `I`. Line breaks are
escaped; only a traceback follows on further lines, each message of it in one line.

A line is formatted as it is and scanned once. Only if it may contain a credential is it formatted again, with each
value redacted.
"""

import json
import logging
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from clientgo.log.credentials import REDACTED, is_secret_name, may_hold_credentials, redact
from clientgo.log.fields import current_fields

FORMATS = ("text", "json")

DEBUG_VERBOSITY = 4
"""Lowest klog verbosity that means debug, by Kubernetes' logging conventions; lower ones mean info."""

MAX_EXCEPTIONS = 20
"""Maximum number of exceptions shown of one chain or group."""

MAX_TEXT = 16384
"""Maximum number of characters shown of one text."""

MAX_SCANNED = 16 * MAX_TEXT
"""Maximum number of characters of one text scanned for credentials; a server may send any number."""

MAX_DEPTH = 4
"""Maximum nesting of a value; deeper values are shown as text."""

Clean = Callable[[str], str]
"""`redact`, or `str` for a line without credentials."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_OURS = frozenset({"ts", "level", "v", "logger", "caller", "thread", "msg", "stacktrace"})
_VERBOSITY = {"info": 0, "debug": DEBUG_VERBOSITY}
_KNOWN_NAMES = 512
_SEQUENCES = (list, tuple, set, frozenset)
# Created once: json.dumps creates one per call.
_json = json.JSONEncoder(ensure_ascii=False).encode


class TextFormatter(logging.Formatter):
    """Formatter of klog's text: `I1121 10:34:22.000000    4711 file.py:123] "message" key="value"`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the lines of a traceback if there is one; never raises."""
        return _without_credentials(_klog_line, record)


class JSONFormatter(logging.Formatter):
    """Formatter of one JSON object per line: ts, level, v, logger, caller, thread, msg, and the values.

    `v` is klog's verbosity; warnings and errors have none, as in Kubernetes' own components.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, with the traceback in `stacktrace` if there is one; never raises."""
        return _without_credentials(_object, record)


def _without_credentials(make: Callable[[logging.LogRecord, Clean], str], record: logging.LogRecord) -> str:
    line = make(record, str)
    return make(record, redact) if may_hold_credentials(line) else line


def _klog_line(record: logging.LogRecord, clean: Clean) -> str:
    pairs = {**_fields(record, clean), "thread": record.threadName}
    line = (
        f"{_severity(record.levelno)}{_time('%m%d %H:%M:%S', record.created)} {record.process or 0:7d} "
        f"{record.filename}:{record.lineno}] {_value(_message(record, clean))}"
        f"{''.join([f' {_key(key)}={_value(value)}' for key, value in pairs.items()])}"
    )
    return "\n".join([_one_line(text) for text in (line, *_traceback(record, clean))])


def _object(record: logging.LogRecord, clean: Clean) -> str:
    level = record.levelname.lower()
    entry: dict[str, Any] = {
        "ts": f"{_time('%Y-%m-%dT%H:%M:%S', record.created)}Z",
        "level": level,
        **({"v": _VERBOSITY[level]} if level in _VERBOSITY else {}),
        "logger": record.name,
        "caller": f"{record.filename}:{record.lineno}",
        "thread": record.threadName,
        "msg": _message(record, clean),
        **_fields(record, clean),
    }
    if lines := _traceback(record, clean):
        entry["stacktrace"] = "\n".join(lines)
    return _one_line(_json(entry))


def _time(shape: str, seconds: float) -> str:
    """Return the time in UTC with microseconds; `shape` is for strftime, down to the second."""
    whole, parts = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(shape, whole)}.{parts:06}"


# Lines come in bursts, so many have the same second.
@lru_cache(maxsize=8)
def _second(shape: str, seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(shape)


def _severity(level: int) -> str:
    if level < logging.WARNING:
        return "I"
    if level < logging.ERROR:
        return "W"
    return "E" if level < logging.CRITICAL else "F"


def _message(record: logging.LogRecord, clean: Clean) -> str:
    try:
        message = record.getMessage()
    except Exception as error:  # noqa: BLE001  # the line is logged without its arguments
        message = f"{record.msg} (its arguments don't fit: {type(error).__name__})"
    return truncate(message, clean)


def _fields(record: logging.LogRecord, clean: Clean) -> dict[str, Any]:
    # The values of the call override those of the context.
    own = {key: value for key, value in vars(record).items() if key not in _STANDARD}
    return {_name(key): to_json_value(key, value, clean) for key, value in {**current_fields(), **own}.items()}


@lru_cache(maxsize=_KNOWN_NAMES)
def _name(key: str) -> str:
    """Return the printed name: `name_` is printed as `name`, which `logging` rejects; a header's name gets a `_`."""
    plain = key.removesuffix("_")
    return f"{plain}_" if plain in _OURS else plain


def _traceback(record: logging.LogRecord, clean: Clean) -> list[str]:
    error = record.exc_info[1] if record.exc_info else None
    return [truncate(line, clean) for line in exception_lines(error)] if error is not None else []


@lru_cache(maxsize=_KNOWN_NAMES)
def _key(key: str) -> str:
    return key if key.isidentifier() else _json(key)


def _value(value: Any) -> str:
    # Nearly all values are strings or integers, for which the encoder's dispatch takes longer than the encoding.
    if type(value) is str:
        return encode_basestring(value)
    return str(value) if type(value) is int else _json(value)


def _one_line(text: str) -> str:
    # One check of the whole line; nearly all lines need no escaping.
    return text if text.isprintable() else "".join([c if c.isprintable() else _escaped(c) for c in text])


def _escaped(char: str) -> str:
    # As JSON does: control characters, line separators, bidirectional marks, surrogates.
    return json.dumps(char)[1:-1]


def to_json_value(key: str, value: object, clean: Clean) -> Any:
    """Convert the value to one that JSON can encode, redacted by its name and truncated; never raises."""
    if type(value) is str:  # the common case
        return REDACTED if is_secret_name(key) else truncate(value, clean)
    try:
        return _json_value(key, value, clean, 0)
    except Exception as error:  # noqa: BLE001  # such as a dict that another thread changes: the line must be logged
        return f"<{type(value).__name__} that can't be shown: {type(error).__name__}>"


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


def exception_lines(error: BaseException) -> Iterator[str]:
    """Yield the lines of the traceback, causes first, each message in one line; may contain credentials."""
    yield from _exception_lines(error, seen=set())


def _exception_lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    # A chain of exceptions may have a cycle, and may be arbitrarily long.
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen and len(seen) < MAX_EXCEPTIONS:
        yield from _exception_lines(before, seen)
        yield "which was the cause of:" if before is error.__cause__ else "and while that was handled:"
    if error.__traceback__ is not None:
        yield "Traceback (most recent call last):"
        for entry in traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__)).format():
            yield from entry.splitlines()
    message = text_of(error)
    yield f"{type(error).__qualname__}: {message}" if message else type(error).__qualname__
    for note in getattr(error, "__notes__", ()):
        yield f"  {text_of(note)}"
    if isinstance(error, BaseExceptionGroup):
        for number, one in enumerate(error.exceptions, 1):
            if len(seen) >= MAX_EXCEPTIONS:
                return
            yield f"  {number} of {len(error.exceptions)}:"
            yield from (f"    {line}" for line in _exception_lines(one, seen))


def text_of(value: object) -> str:
    """Return `str(value)`, or the name of its type if that fails."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # a failing __str__ must not prevent the line from being logged
        return f"<{type(value).__name__} that can't be shown>"
