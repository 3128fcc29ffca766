"""Where log lines go."""

import logging
import sys
from typing import TextIO

from clientgo.log.formats import FORMATS, JSONFormatter, TextFormatter
from clientgo.log.levels import level_of


def setup(*, level: str | int = "info", style: str = "text", stream: TextIO | None = None) -> None:
    """Send every logger's lines to `stream` (standard error by default), from a level's name or klog's verbosity on.

    Raises:
        ValueError: an unknown level or style.
    """
    name = level_of(level)
    if style not in FORMATS:
        raise ValueError(f"unknown log format {style!r}: use one of {', '.join(FORMATS)}")
    handler = Lines(stream if stream is not None else sys.stderr)
    handler.setFormatter(TextFormatter() if style == "text" else JSONFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(name.upper())
    # urllib3 repeats at warning level what we raise as ConnectionFailed.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


class Lines(logging.StreamHandler[TextIO]):
    """Writes lines to a stream; those that could not be written are counted in `lost`."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.lost = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Count the line. What `logging` does instead prints its arguments as they are, credentials included."""
        self.lost += 1
