"""Warnings of the API server: the header `Warning`, code 299 (RFC 7234), and their handlers."""

import re
from collections.abc import Callable

from clientgo.log import get_logger

log = get_logger(__name__)

WarningHandler = Callable[[str], None]

_WARNING = re.compile(r'(\d{3}) \S+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?')
_ESCAPE = re.compile(r"\\(.)")
_REMEMBERED = 1000


def warnings_in(header: str) -> list[str]:
    """Return the non-empty texts with code 299, which Kubernetes uses; other codes are for caches."""
    return [_ESCAPE.sub(r"\1", text) for code, text in _WARNING.findall(header) if code == "299" and text]


class WarningLogger:
    """Logs each text once; forgets the logged texts after a thousand."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def __call__(self, text: str) -> None:
        """Log `text` unless it was logged before."""
        if text in self._logged:
            return
        if len(self._logged) >= _REMEMBERED:
            self._logged.clear()
        self._logged.add(text)
        log.warning("API server warning", extra={"warning": text})


def no_warnings(text: str) -> None:
    """Ignore a warning."""
