"""Configuration of logging: output, format and levels, which can be changed at run time."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import TextIO

from clientgo.log.choices import FORMATS, LEVELS
from clientgo.log.formats import DEBUG_VERBOSITY, HumanFormatter, JSONFormatter, TextFormatter


def setup(*, level: str | int = "info", style: str = "auto", stream: TextIO | None = None) -> None:
    """Log to `stream` (standard error by default), from a level's name or klog's verbosity on.

    The style "auto" means "human" on a terminal, and otherwise "text", which is klog's format. Replaces the handler of
    an earlier call and those that write to the terminal; others, such as a file's or a test's, remain.

    Raises:
        ValueError: an unknown level or style.
    """
    name = level_of(level)
    handler = LineHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(formatter_for(style, handler.stream, os.environ))
    root = logging.getLogger()
    root.handlers[:] = [handler, *(existing for existing in root.handlers if not _is_replaced(existing))]
    root.setLevel(name.upper())
    # urllib3 logs as warnings what we raise as ConnectionFailed.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def _is_replaced(handler: logging.Handler) -> bool:
    # The exact type: subclasses are those of programs and test frameworks.
    to_terminal = type(handler) is logging.StreamHandler and handler.stream in (sys.stdout, sys.stderr)
    return to_terminal or isinstance(handler, LineHandler)


def formatter_for(style: str, stream: TextIO, environ: Mapping[str, str]) -> logging.Formatter:
    """Return the formatter of a style.

    Raises:
        ValueError: an unknown style.
    """
    if style not in FORMATS:
        raise ValueError(f"unknown log format {style!r}: use one of {', '.join(FORMATS)}")
    if style == "human" or (style == "auto" and stream.isatty()):
        return HumanFormatter(colors=has_colors(stream, environ))
    return JSONFormatter() if style == "json" else TextFormatter()


def has_colors(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return True for a terminal, unless NO_COLOR is set or TERM is "dumb"."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


class LineHandler(logging.StreamHandler[TextIO]):
    """Stream handler that counts lines it could not write in `lost`."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.lost = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Count the line. The default of `logging` would print its arguments, credentials included."""
        self.lost += 1


def verbosity(number: int) -> str:
    """Return the level for klog's `-v number`: `info` from 0, `debug` from 4; raise `ValueError` below 0."""
    if number < 0:
        raise ValueError(f"unknown log verbosity {number}: use 0 or more, {DEBUG_VERBOSITY} for debug")
    return "debug" if number >= DEBUG_VERBOSITY else "info"


def level_of(level: str | int) -> str:
    """Return the level for a name, a verbosity or a verbosity as text; raise `ValueError` for anything else."""
    if isinstance(level, int):
        return verbosity(level)
    name = level.strip().lower()
    if name.isascii() and name.isdigit():
        return verbosity(int(name[:9]))
    if name not in LEVELS:
        raise ValueError(f"unknown log level {level!r}: use one of {', '.join(LEVELS)}, or a number as in -v 4")
    return name


def set_level(level: str | int, *, logger: str = "") -> None:
    """Set the lowest level (or klog's verbosity) to log, for all loggers or for `logger` and its children.

    Raises:
        ValueError: unknown level; nothing is changed.
    """
    logging.getLogger(logger or None).setLevel(level_of(level).upper())


def current_level(*, logger: str = "") -> str:
    """Return the effective level of `logger`, by default that of the root logger."""
    return logging.getLevelName(logging.getLogger(logger or None).getEffectiveLevel()).lower()
