"""Warnings a server sends along with an answer (header `Warning`, code 299, RFC 7234), and what is done with them."""

import logging
import re
from collections.abc import Callable

log = logging.getLogger(__name__)

WarningHandler = Callable[[str], None]

_WARNING = re.compile(r'(\d{3}) \S+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?')
_ESCAPE = re.compile(r"\\(.)")
_REMEMBERED = 1000


def warnings_in(header: str) -> list[str]:
    """Return the texts with code 299, which Kubernetes uses; other codes are for caches, empty texts say nothing."""
    return [_ESCAPE.sub(r"\1", text) for code, text in _WARNING.findall(header) if code == "299" and text]


class WarningLogger:
    """Logs each text once; forgets what it said after a thousand texts."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, text: str) -> None:
        """Log `text` unless it was logged before."""
        if text in self._said:
            return
        if len(self._said) >= _REMEMBERED:
            self._said.clear()
        self._said.add(text)
        log.warning("the API server warns", extra={"warning": text})


def no_warnings(text: str) -> None:
    """The handler that keeps quiet."""
