"""How log lines look: `key=value` behind the message, as text in klog's shape or as JSON.

Library code logs through the standard `logging` with `extra={...}`; whatever stands in `extra` is printed behind the
message. A program calls `setup` once. Loggers named below `clientgo` belong to the library.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def setup(*, level: str = "info", style: str = "text", stream: TextIO | None = None) -> None:
    """Send every logger's lines to `stream` (standard error by default).

    Raises:
        ValueError: an unknown level or style.
    """
    if level not in LEVELS:
        raise ValueError(f"unknown log level {level!r}: use one of {', '.join(LEVELS)}")
    if style not in FORMATS:
        raise ValueError(f"unknown log format {style!r}: use one of {', '.join(FORMATS)}")
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(TextFormatter() if style == "text" else JSONFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # urllib3 repeats at warning level what we raise as ConnectionFailed.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


class TextFormatter(logging.Formatter):
    """`I1121 10:34:22.000000 thread file:line] "message" key="value"`, the shape of klog's lines."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it if there is one."""
        at = datetime.fromtimestamp(record.created, UTC)
        head = f"{record.levelname[0]}{at:%m%d %H:%M:%S.%f} {record.threadName} {record.filename}:{record.lineno}]"
        pairs = "".join(f" {key}={_quoted(value)}" for key, value in _extras(record).items())
        line = f"{head} {json.dumps(record.getMessage(), ensure_ascii=False)}{pairs}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JSONFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, thread, msg, and the extras."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, the traceback inside it if there is one."""
        entry: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "thread": record.threadName,
            "msg": record.getMessage(),
            **_extras(record),
        }
        if record.exc_info:
            entry["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str, ensure_ascii=False)


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _quoted(value: object) -> str:
    return str(value) if isinstance(value, int | float | bool) else json.dumps(str(value), ensure_ascii=False)
