"""A record as one line, of text or of JSON.

Text has the header that klog prints, so that what parses Kubernetes' logs parses these: severity, date and time (UTC
here), process id, place, and then the message and its values, quoted. Severities are klog's four: debug lines are `I`.
What klog would spread over several lines stays in one; only a traceback follows on lines of its own.

A line is made as it is first, and looked through once; only if something in it might be a credential is it made again,
value by value, without.
"""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from clientgo.log.credentials import may_hold_credentials, redact
from clientgo.log.failures import described
from clientgo.log.fields import current_fields
from clientgo.log.levels import DEBUG_FROM
from clientgo.log.values import Clean, cut, shown

FORMATS = ("text", "json")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_OURS = frozenset({"ts", "level", "v", "logger", "caller", "thread", "msg", "stacktrace"})
_VERBOSITY = {"info": 0, "debug": DEBUG_FROM}
_KNOWN_NAMES = 512
# Made once: json.dumps makes one a call.
_json = json.JSONEncoder(ensure_ascii=False).encode


class TextFormatter(logging.Formatter):
    """`I1121 10:34:22.000000    4711 file.py:123] "message" key="value"`, the shape of klog's lines."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it if there is one; never raises."""
        return _without_credentials(_text, record)


class JSONFormatter(logging.Formatter):
    """One JSON object a line: ts, level, v, logger, caller, thread, msg, and the values.

    `v` is klog's verbosity; warnings and errors have none, as in Kubernetes' own components.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, the traceback inside it if there is one; never raises."""
        return _without_credentials(_object, record)


def _without_credentials(make: Callable[[logging.LogRecord, Clean], str], record: logging.LogRecord) -> str:
    line = make(record, str)
    return make(record, redact) if may_hold_credentials(line) else line


def _text(record: logging.LogRecord, clean: Clean) -> str:
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
    """The time in UTC, to the microsecond; `shape` is strftime's, down to the second."""
    whole, parts = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(shape, whole)}.{parts:06}"


# Lines come in bursts, and a second is the same for all of its lines.
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
    except Exception as error:  # noqa: BLE001  # a line whose arguments don't fit it says so, and is not lost
        message = f"{record.msg} (its arguments don't fit: {type(error).__name__})"
    return cut(message, clean)


def _fields(record: logging.LogRecord, clean: Clean) -> dict[str, Any]:
    # The line's own values are last, and win: they are closer to what happened.
    own = {key: value for key, value in vars(record).items() if key not in _STANDARD}
    return {_name(key): shown(key, value, clean) for key, value in {**current_fields(), **own}.items()}


@lru_cache(maxsize=_KNOWN_NAMES)
def _name(key: str) -> str:
    """As it is printed: `name_` stands for `name`, which `logging` refuses; a header's name gets the `_` instead."""
    plain = key.removesuffix("_")
    return f"{plain}_" if plain in _OURS else plain


def _traceback(record: logging.LogRecord, clean: Clean) -> list[str]:
    error = record.exc_info[1] if record.exc_info else None
    return [cut(line, clean) for line in described(error)] if error is not None else []


@lru_cache(maxsize=_KNOWN_NAMES)
def _key(key: str) -> str:
    return key if key.isidentifier() else _json(key)


def _value(value: Any) -> str:
    # Nearly all are texts or numbers, and what the encoder does before it finds that out takes longer than they do.
    if type(value) is str:
        return encode_basestring(value)
    return str(value) if type(value) is int else _json(value)


def _one_line(text: str) -> str:
    # One look at the whole line tells whether there is anything to do, which there nearly never is.
    return text if text.isprintable() else "".join([c if c.isprintable() else _escaped(c) for c in text])


def _escaped(char: str) -> str:
    # As JSON would: control characters, line separators, marks that turn the writing round, halves of pairs.
    return json.dumps(char)[1:-1]
