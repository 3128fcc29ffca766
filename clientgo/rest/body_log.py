"""Logging of request and response bodies, off by default.

As in client-go, klog's verbosity 8 logs 1,024 characters of each body, 9 logs 10,240, and 10 everything. `show_bodies`
sets the verbosity, independently of other loggers. Headers are never logged: they carry credentials. In bodies, the
data of Secrets, tokens of the token APIs and everything that looks like a credential are masked. Bodies other than JSON
are not logged, because credentials in them cannot be recognized.
"""

import logging
from typing import Any

import msgspec

from clientgo.log import REDACTED, get_logger, redact
from clientgo.meta.objects import LAST_APPLIED
from clientgo.meta.shallow_json import UNREADABLE

log = get_logger(__name__)

SHORT, LONG, WHOLE = 6, 5, 4
"""The logger's levels for klog's 8, 9 and 10: one below DEBUG, which is klog's 4, for each step above 4."""

_LIMITS = ((WHOLE, 0), (LONG, 10240), (SHORT, 1024))

_GUARDED_PATHS = frozenset({"secrets", "token", "tokenreviews"})
_GUARDED_KINDS = frozenset({"Secret", "SecretList", "TokenRequest", "TokenReview"})
# `value` is where a JSON patch has it; the annotation is kubectl's copy of all that was applied.
_GUARDED_KEYS = frozenset({"data", "stringData", "token", "value", LAST_APPLIED})


def show_bodies(verbosity: int) -> None:
    """Log bodies as klog's `-v verbosity` does; below 8, log none."""
    log.setLevel(max(WHOLE, SHORT + 8 - verbosity) if verbosity >= 8 else logging.NOTSET)


def bodies_are_logged() -> bool:
    """Return whether bodies are logged."""
    return log.isEnabledFor(SHORT)


def log_sent(method: str, target: str, body: bytes | None) -> None:
    """Log the body of a request."""
    if body:
        log.debug("request body", extra={"verb": method, "url": target, "body": _truncated(target, body)})


def log_received(method: str, target: str, status: int, body: bytes) -> None:
    """Log the body of a response."""
    extra = {"verb": method, "url": target, "status": status, "body": _truncated(target, body)}
    log.debug("response body", extra=extra)


def _truncated(target: str, body: bytes) -> str:
    text = readable(target, body)
    limit = next((limit for level, limit in _LIMITS if log.isEnabledFor(level)), 0)
    if not limit or len(text) <= limit:
        return text
    return f"{text[:limit]} [truncated {len(text) - limit} chars]"


def readable(target: str, body: bytes) -> str:
    """Return the body as text without credentials; `target` is the path of the request."""
    guarded = not _GUARDED_PATHS.isdisjoint(target.partition("?")[0].split("/"))
    try:
        masked = _masked(msgspec.json.decode(body), guarded)
    except UNREADABLE:
        return f"<{len(body)} bytes, not JSON>"
    return redact(msgspec.json.encode(masked).decode())


def _masked(value: Any, guarded: bool) -> Any:
    if isinstance(value, list):
        return [_masked(item, guarded) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    guarded = guarded or (isinstance(kind, str) and kind in _GUARDED_KINDS)
    return {
        key: _hidden(item) if guarded and key in _GUARDED_KEYS else _masked(item, guarded)
        for key, item in value.items()
    }


def _hidden(value: Any) -> Any:
    # The keys of a Secret are not secret, and often the reason for looking.
    return dict.fromkeys(value, REDACTED) if isinstance(value, dict) else REDACTED
