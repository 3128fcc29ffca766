"""What was sent and what came back, in the log: for whoever looks for a fault, and only if asked for.

Bodies are shown at klog's verbosities 8 (1,024 characters of each), 9 (10,240) and 10 (all), as client-go does;
`show_bodies` asks for them, whatever the other loggers show. Headers are never shown: they carry credentials. Of a
body, what a Secret holds is masked, as are tokens that the API server hands out or checks, and whatever else is
recognised as a credential; what is no JSON is not shown, for nothing in it can be told apart.
"""

import logging
from typing import Any

import msgspec

from clientgo.log import REDACTED, redact

log = logging.getLogger(__name__)

SHORT, LONG, WHOLE = 6, 5, 4
"""The logger's levels for klog's 8, 9 and 10: one below DEBUG, which is klog's 4, for each step above that."""

_LIMITS = ((WHOLE, 0), (LONG, 10240), (SHORT, 1024))

_GUARDED_PATHS = frozenset({"secrets", "token", "tokenreviews"})
_GUARDED_KINDS = frozenset({"Secret", "SecretList", "TokenRequest", "TokenReview"})
# `value` is where a JSON patch has it; the annotation is kubectl's copy of all that was applied.
_GUARDED_KEYS = frozenset({"data", "stringData", "token", "value", "kubectl.kubernetes.io/last-applied-configuration"})


def show_bodies(verbosity: int) -> None:
    """Log bodies as klog's `-v verbosity` would, from now on; below 8, don't."""
    log.setLevel(max(WHOLE, SHORT + 8 - verbosity) if verbosity >= 8 else logging.NOTSET)


class BodyLog:
    """Logs the bodies of one client's requests and answers; `on` says whether anybody wants them."""

    @property
    def on(self) -> bool:
        """Whether bodies are shown at present."""
        return log.isEnabledFor(SHORT)

    def sent(self, method: str, target: str, body: bytes | None) -> None:
        """A request goes out."""
        if body:
            log.debug("request body", extra={"verb": method, "url": target, "body": _shown(target, body)})

    def received(self, method: str, target: str, status: int, body: bytes) -> None:
        """An answer came."""
        extra = {"verb": method, "url": target, "status": status, "body": _shown(target, body)}
        log.debug("response body", extra=extra)


def _shown(target: str, body: bytes) -> str:
    text = readable(target, body)
    limit = next((limit for level, limit in _LIMITS if log.isEnabledFor(level)), 0)
    if not limit or len(text) <= limit:
        return text
    return f"{text[:limit]} [truncated {len(text) - limit} chars]"


def readable(target: str, body: bytes) -> str:
    """The body as text that shows no credential; `target` is the path that it was sent to or came from."""
    guarded = not _GUARDED_PATHS.isdisjoint(target.partition("?")[0].split("/"))
    try:
        masked = _masked(msgspec.json.decode(body), guarded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return f"<{len(body)} bytes that are no JSON>"
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
    # Which keys a Secret has is often the very question, and no secret.
    return dict.fromkeys(value, REDACTED) if isinstance(value, dict) else REDACTED
