"""Log formatters: text in klog's format, JSON, and lines for people.

A text line has klog's header, so parsers of Kubernetes' logs can read it: severity, date and time (in UTC), process id,
file and line, then the quoted message and its values. Severities are klog's four; debug lines are `I`. Line breaks are
escaped; only a traceback follows on further lines, each message of it in one line.

A line is formatted as it is and scanned once. Only if it may contain a credential is it formatted again, with each
value redacted.
"""

import logging
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback, text_of
from clientgo.log.credentials import may_hold_credentials, redact
from clientgo.log.facts import FAINT, describe, facts_of, key_text, paint
from clientgo.log.fields import current_fields
from clientgo.log.logger import LogMessage
from clientgo.log.tracebacks import exception_lines
from clientgo.log.values import Clean, one_line, to_json, truncate

DEBUG_VERBOSITY = 4
"""Lowest klog verbosity that means debug, by Kubernetes' logging conventions; lower ones mean info."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_SEVERITIES = "IIIWEF"
_VERBOSITY = {"info": 0, "debug": DEBUG_VERBOSITY}
_COLORS = {"DEBUG": FAINT, "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_SHORT = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class LineFormatter(logging.Formatter):
    """Base of formatters whose lines are printable and without credentials; `line` formats one record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the lines of a traceback if there is one; never raises."""
        line = self.line(record, str)
        return self.line(record, redact) if may_hold_credentials(line) else line

    def line(self, record: logging.LogRecord, clean: Clean) -> str:
        """Return the line with each text passed through `clean`."""
        raise NotImplementedError


class TextFormatter(LineFormatter):
    """Formatter of klog's text: `I1121 10:34:22.000000    4711 file.py:123] "message" key="value"`."""

    def line(self, record: logging.LogRecord, clean: Clean) -> str:
        """Return the line, followed by its traceback."""
        pairs = {**_facts(record, clean), "thread": record.threadName}
        severity = _SEVERITIES[min(max(record.levelno, 0) // 10, 5)]
        line = (
            f"{severity}{_time('%m%d %H:%M:%S', record.created)} {record.process or 0:7d} "
            f"{record.filename}:{record.lineno}] {_value(_message(record, clean))}"
            f"{''.join([f' {key_text(key)}={_value(value)}' for key, value in pairs.items()])}"
        )
        return "\n".join([one_line(text) for text in (line, *_traceback(record, clean))])


class JSONFormatter(LineFormatter):
    """Formatter of one JSON object per line: ts, level, v, logger, caller, thread, msg, the values, and stacktrace.

    `v` is klog's verbosity; warnings and errors have none, as in Kubernetes' own components.
    """

    def line(self, record: logging.LogRecord, clean: Clean) -> str:
        """Return the object."""
        level = record.levelname.lower()
        entry: dict[str, Any] = {
            "ts": f"{_time('%Y-%m-%dT%H:%M:%S', record.created)}Z",
            "level": level,
            **({"v": _VERBOSITY[level]} if level in _VERBOSITY else {}),
            "logger": record.name,
            "caller": f"{record.filename}:{record.lineno}",
            "thread": record.threadName,
            "msg": _message(record, clean),
            **_facts(record, clean),
        }
        if lines := _traceback(record, clean):
            entry["stacktrace"] = "\n".join(lines)
        return one_line(to_json(entry))


class HumanFormatter(LineFormatter):
    """Formatter of lines for people: `10:34:22.000 WARN  Foo default/x  message: reason  key=value`, in local time."""

    def __init__(self, *, colors: bool = False) -> None:
        super().__init__()
        self._colors = colors

    def line(self, record: logging.LogRecord, clean: Clean) -> str:
        """Return the line, followed by its traceback."""
        at = datetime.fromtimestamp(record.created, UTC).astimezone()
        level = _SHORT.get(record.levelname, record.levelname)
        header = (
            paint(f"{at:%H:%M:%S}.{at.microsecond // 1000:03}", FAINT, on=self._colors),
            paint(f"{level:5}", _COLORS.get(record.levelname, FAINT), on=self._colors),
            describe(_message(record, clean), _facts(record, clean), colors=self._colors),
        )
        # The lines of code are faint, the messages of the errors are not.
        frames = [paint(frame, FAINT, on=self._colors and frame[:1] == " ") for frame in _traceback(record, clean)]
        return "\n".join([" ".join(header), *frames])


def _time(shape: str, seconds: float) -> str:
    """Return the time in UTC with microseconds; `shape` is for strftime, down to the second."""
    whole_seconds, microseconds = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(shape, whole_seconds)}.{microseconds:06}"


# Lines come in bursts, so many have the same second.
@lru_cache(maxsize=8)
def _second(shape: str, seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(shape)


def _message(record: logging.LogRecord, clean: Clean) -> str:
    if isinstance(record.msg, LogMessage):
        return truncate(record.msg.plain(), clean)
    try:
        message = run_callback(record.getMessage)
    except CallbackFailed as error:  # the line is logged without its arguments
        message = f"{text_of(record.msg)} (its arguments don't fit: {type(error.__cause__).__name__})"
    return truncate(message, clean)


def _facts(record: logging.LogRecord, clean: Clean) -> dict[str, Any]:
    # The values of the call override those of the context.
    extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
    return facts_of({**current_fields(), **extra}, clean)


def _traceback(record: logging.LogRecord, clean: Clean) -> list[str]:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return []
    try:
        lines = run_callback(lambda: list(exception_lines(error)))
    except CallbackFailed as failure:  # an attribute of the exception that raises, or has another type
        lines = [f"{type(error).__qualname__} that cannot be shown: {failure}"]
    return [truncate(line, clean) for line in lines]


def _value(value: Any) -> str:
    # Nearly all values are strings or integers, for which the encoder's dispatch takes longer than the encoding.
    if type(value) is str:
        return encode_basestring(value)
    return str(value) if type(value) is int else to_json(value)
