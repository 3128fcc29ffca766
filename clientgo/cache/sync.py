"""Waiting until caches are filled."""

import logging
import threading
from collections.abc import Mapping
from typing import Protocol

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock

log = logging.getLogger(__name__)

POLL = 0.01
"""Seconds between looks; client-go takes 100 ms, which at start-up is longer than the list itself."""


class Synced(Protocol):
    """Anything that becomes synced once: an informer, or a handler's registration."""

    @property
    def has_synced(self) -> bool:
        """Whether it has."""


class SyncResult(msgspec.Struct, frozen=True):
    """How waiting ended: what has not synced, in order of names, and why it was not waited for any longer."""

    missing: tuple[str, ...] = ()
    cause: str = ""

    def __bool__(self) -> bool:
        return not self.missing

    def raise_error(self) -> None:
        """Do nothing if everything has synced.

        Raises:
            TimeoutError: something has not; the message names it.
        """
        if self.missing:
            raise TimeoutError(f"caches not synced: {', '.join(self.missing)}: {self.cause}")


def wait_for_cache_sync(
    stop: threading.Event, *synced: Synced, timeout: float | None = None, clock: Clock = SYSTEM_CLOCK
) -> bool:
    """Wait until all of them have synced; False if `stop` was set or `timeout` seconds passed before."""
    deadline = None if timeout is None else clock.now() + timeout
    while not all(one.has_synced for one in synced):
        if deadline is not None and clock.now() >= deadline:
            return False
        if clock.sleep(stop, POLL):
            return False
    return True


def wait_for(
    stop: threading.Event,
    what: str,
    synced: Mapping[str, Synced],
    *,
    timeout: float | None = None,
    cause: str = "stopped",
    clock: Clock = SYSTEM_CLOCK,
) -> SyncResult:
    """Wait until all of `synced`, given by their names, have; log how it goes if `what` says what is waited for.

    Ends early when `stop` is set, for the given `cause`, or `timeout` seconds have passed. What has synced by then is
    not among the missing, even if there was no time to wait at all.
    """
    waiting = dict(synced)
    deadline = None if timeout is None else clock.now() + timeout
    if what:
        log.info("Waiting", extra={"for": what})
    while _remove_done(waiting, what):
        if deadline is not None and clock.now() >= deadline:
            return _gave_up(waiting, what, "deadline exceeded")
        if clock.sleep(stop, POLL) and _remove_done(waiting, what):
            return _gave_up(waiting, what, cause)
    return SyncResult()


def _remove_done(waiting: dict[str, Synced], what: str) -> bool:
    for name in [name for name, one in waiting.items() if one.has_synced]:
        del waiting[name]
        if what:
            log.info("Done waiting", extra={"for": what, "instance": name})
    return bool(waiting)


def _gave_up(waiting: Mapping[str, Synced], what: str, cause: str) -> SyncResult:
    missing = tuple(sorted(waiting))
    if what:
        log.error("Timed out waiting", extra={"for": what, "cause": cause, "instances": list(missing)})
    return SyncResult(missing, cause)
