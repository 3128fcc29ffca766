"""Trying to write one event: which failures may heal, and how often it is worth a try."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from clientgo.clock import Clock
from clientgo.errors import AlreadyExists, ApiError, ConfigError, LeaseNotHeld
from clientgo.meta.codec import Undecodable

log = logging.getLogger(__name__)

E = TypeVar("E")

MAX_TRIES = 12
"""How often one event is tried (client-go)."""

PAUSE = 10.0
"""Seconds between tries (client-go)."""

_NAMESPACE_TERMINATING = "NamespaceTerminating"


class Attempt(msgspec.Struct, Generic[E], frozen=True):
    """How one try ended: with the server's answer, or without one and `again` says whether to try again."""

    answer: E | None = None
    again: bool = False


def try_once(write: Callable[[], E], about: Mapping[str, object]) -> Attempt[E]:
    """Call `write` once; whatever it raises is logged and judged. `about` says in the log which event it is."""
    try:
        return Attempt(write())
    except ApiError as error:
        level = logging.DEBUG if _expected(error) else logging.ERROR
        log.log(level, "server rejected event; will not retry", extra={"err": error, **about})
        return Attempt()
    except LeaseNotHeld as error:
        log.info("event was not sent", extra={"err": error, **about})
        return Attempt()
    # A sink is its user's: whatever it raises must not end the thread that sends.
    except Exception as error:  # noqa: BLE001
        log.error("unable to write event", extra={"err": error, **about})
        return Attempt(again=not _hopeless(error))


def try_often(
    write: Callable[[], E],
    about: Mapping[str, object],
    *,
    pause: Callable[[int], float],
    stop: threading.Event,
    clock: Clock,
) -> Attempt[E]:
    """Call `write` up to 12 times, `pause(tries so far)` seconds apart; a set `stop` ends waiting and tries."""
    for tries in range(1, MAX_TRIES):
        attempt = try_once(write, about)
        if not attempt.again:
            return attempt
        if clock.sleep(stop, pause(tries)):
            log.error("unable to write event: shutting down", extra=dict(about))
            return attempt
    attempt = try_once(write, about)
    if attempt.again:
        log.error("unable to write event: retry limit exceeded", extra=dict(about))
    return attempt


def _expected(error: ApiError) -> bool:
    return isinstance(error, AlreadyExists) or error.has_cause(_NAMESPACE_TERMINATING)


def _hopeless(error: Exception) -> bool:
    # The request itself can't be built, and would be built the same next time. An answer that can't be read is a
    # ValueError too and may well be another one then.
    return isinstance(error, TypeError | ValueError | ConfigError) and not isinstance(error, Undecodable)
