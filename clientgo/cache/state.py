"""State of informers: the steps of reflectors, snapshots for debug pages, and waiting until caches have synced."""

import threading
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger
from clientgo.meta.names import ObjectName
from clientgo.metrics import safe_provider

log = get_logger(__name__)

POLL = 0.01
"""Seconds between two checks; client-go's 100 ms would be longer than the first list itself."""


SHOWN_FAILURES = 20
"""Maximum number of failing objects in an `InformerState`."""


class ObjectFailure(msgspec.Struct, frozen=True, gc=False):
    """An object that a cache cannot handle as its program wants, and why.

    `hook` is what failed: `decode`, `index NAME`, `handler NAME` or a handler's label. Other objects are not affected.
    """

    hook: str
    name: ObjectName
    error: str


def count_failure(kind: str, callback: str) -> None:
    """Count a failure of a callback (`index` or `handler`) for an object of a kind."""
    labels = {"kind": kind, "callback": callback}
    safe_provider().counter(
        "informer_callback_failures_total", "Calls of index functions and handlers that failed for an object.", labels
    ).inc()


def count_dropped(kind: str) -> None:
    """Count a deletion that a handler has failed for up to its last attempt."""
    labels = {"kind": kind}
    safe_provider().counter(
        "informer_dropped_deletions_total", "Deletions that a handler failed for, up to its last attempt.", labels
    ).inc()


class InformerState(msgspec.Struct, frozen=True):
    """Snapshot of an informer; times are those of its clock's `now()`.

    `lists` and `watches` count requests, including those that failed; `undecodable` counts the objects that exist and
    are not in the store, `waiting` the notifications that wait for the slowest handler. `last_event` is the time of the
    last list, event or bookmark, `last_active` that of the last request or response; `watching_since` is the time at
    which the open watch was requested (None without one). `last_error` is empty after a success. With several
    namespaces, times and errors are the worst ones: the longest silence, the newest watch, every error.

    `failing` counts the failures of single objects now, in decoding, indexes and handlers; `failures` has the first of
    them, with the names of the objects.
    """

    name: str
    kind: str
    synced: bool
    objects: int = 0
    resource_version: str = ""
    lists: int = 0
    watches: int = 0
    undecodable: int = 0
    last_event: float | None = None
    watching_since: float | None = None
    last_error: str = ""
    waiting: int = 0
    last_active: float | None = None
    failing: int = 0
    failures: tuple[ObjectFailure, ...] = ()


class WatchStep(Enum):
    """Step of a reflector."""

    STREAM = "list by a watch, which goes on"
    LIST = "list"
    OPEN = "open a watch at the last version"
    READ = "read the open watch"
    RETURN = "return, to list again"


class WatchOutcome(Enum):
    """Outcome of a step; an error that requires another list is raised instead."""

    LISTED = "the list is in the sink"
    STREAMED = "the list is in the sink, and its watch is open"
    STREAM_ENDED = "the stream ended before the list"
    NEWER_REQUIRED = "the server rejected the version of a streamed list"
    NOT_STREAMED = "the server cannot stream the list now, or at all"
    STREAM_UNAVAILABLE = "the server cannot respond to a streamed list now"
    OPENED = "the watch is open"
    UNAVAILABLE = "the server cannot respond now"
    CLOSED = "the watch ended"
    SHORT = "the watch ended within a second, and the one before too"
    FAILED_INTERNALLY = "the server failed internally"
    EXPIRED = "the version has expired"


NEXT: Mapping[WatchOutcome, tuple[WatchStep, bool]] = {
    WatchOutcome.LISTED: (WatchStep.OPEN, False),
    WatchOutcome.STREAMED: (WatchStep.READ, False),
    WatchOutcome.STREAM_ENDED: (WatchStep.STREAM, True),  # the next one might end early, too
    WatchOutcome.NEWER_REQUIRED: (WatchStep.STREAM, False),
    WatchOutcome.NOT_STREAMED: (WatchStep.LIST, False),
    WatchOutcome.STREAM_UNAVAILABLE: (WatchStep.STREAM, True),
    WatchOutcome.OPENED: (WatchStep.READ, False),
    WatchOutcome.UNAVAILABLE: (WatchStep.OPEN, True),
    WatchOutcome.CLOSED: (WatchStep.OPEN, False),
    WatchOutcome.SHORT: (WatchStep.OPEN, True),
    WatchOutcome.FAILED_INTERNALLY: (WatchStep.OPEN, False),
    # The next list, at the last version, means "at least as new as that".
    WatchOutcome.EXPIRED: (WatchStep.RETURN, False),
}
"""The step after each outcome, and whether it waits for the backoff."""


class Position(msgspec.Struct):
    """Progress of one reflector, and what follows from it for the next request.

    Written in the reflector's thread only; others read single attributes without a lock.
    """

    version: str = ""
    """Last resourceVersion received, at which the next watch starts."""
    newest_required: bool = False
    """True if the server rejected the version as expired or too new: the next list requests the newest state."""
    needs_verification: bool = False
    """True after a failed connection: the server that responds next may not be the same."""
    unordered: bool = False
    """True while a watch without a version sends ADDED events, which are a list, in any order."""
    short_watches: int = 0
    """Number of watches in a row that lasted less than a second, with or without events."""
    lists: int = 0
    """Number of requested lists, including streamed ones and those that failed."""
    watches: int = 0
    """Number of requested watches, including those that failed."""
    last_request_at: float | None = None
    """Time of the last request, including those that failed."""
    last_event_at: float | None = None
    """Time of the last response, event or bookmark."""
    watching_since: float | None = None
    """Time at which the open watch was requested; None without one."""

    def listed(self, version: str) -> None:
        """Continue after a complete list of this version, which is in the sink."""
        self.version = version
        self.newest_required = self.needs_verification = False

    def after(self, version: str, *, added: bool) -> str:
        """Return the version up to which everything is received with an event of this version."""
        if self.unordered:
            if added:
                return self.version
            self.unordered = False
        # The last event wins: the server sends them in order, so versions are not compared here.
        return version or self.version

    def state(self, last_error: str) -> "ReflectorState":
        """Return a snapshot."""
        active = max((at for at in (self.last_request_at, self.last_event_at) if at is not None), default=None)
        return ReflectorState(self.lists, self.watches, self.last_event_at, self.watching_since, last_error, active)


class ReflectorState(NamedTuple):
    """Snapshot of one reflector, or of several together, with the fields of `InformerState`."""

    lists: int
    watches: int
    last_event: float | None
    watching_since: float | None
    last_error: str
    last_active: float | None = None


def combined(states: Sequence[ReflectorState]) -> ReflectorState:
    """Combine the states of several reflectors: sums of requests, and the worst times and errors."""
    return ReflectorState(
        sum(state.lists for state in states),
        sum(state.watches for state in states),
        _worst(min, [state.last_event for state in states]),
        _worst(max, [state.watching_since for state in states]),
        "; ".join(dict.fromkeys(state.last_error for state in states if state.last_error)),
        _worst(min, [state.last_active for state in states]),
    )


def _worst(choose: Callable[[list[float]], float], times: list[float | None]) -> float | None:
    times_seen = [time for time in times if time is not None]
    return choose(times_seen) if times_seen and len(times_seen) == len(times) else None


class Synced(Protocol):
    """An informer, or the registration of a handler."""

    @property
    def has_synced(self) -> bool:
        """True once it has synced."""


class SyncResult(msgspec.Struct, frozen=True):
    """Result of a wait: the sorted names of those that have not synced, and why the wait ended."""

    missing: tuple[str, ...] = ()
    cause: str = ""

    def __bool__(self) -> bool:
        return not self.missing


def wait_for_cache_sync(
    stop: threading.Event, *synced: Synced, timeout: float | None = None, clock: Clock = SYSTEM_CLOCK
) -> bool:
    """Wait until all have synced; return False if `stop` is set or `timeout` seconds pass first."""
    return bool(wait_for(stop, "", {str(n): cache for n, cache in enumerate(synced)}, timeout=timeout, clock=clock))


def wait_for(
    stop: threading.Event,
    title: str,
    synced: Mapping[str, Synced],
    *,
    timeout: float | None = None,
    cause: str = "stopped",
    clock: Clock = SYSTEM_CLOCK,
) -> SyncResult:
    """Wait until all of `synced`, given by name, have synced; log the progress if there is a `title`.

    The wait ends early with `cause` when `stop` is set, and when `timeout` seconds have passed. What has synced by then
    is not missing, even if the timeout is 0. One whose `has_synced` raises has not synced yet; that is logged once.
    """
    waiting = dict(synced)
    failed: set[str] = set()
    deadline = None if timeout is None else clock.now() + timeout
    if title:
        log.info("Waiting", extra={"for": title})
    while _remove_synced(waiting, title, failed):
        if deadline is not None and clock.now() >= deadline:
            return _timed_out(waiting, title, "deadline exceeded")
        if clock.poll(stop, POLL) and _remove_synced(waiting, title, failed):
            return _timed_out(waiting, title, cause)
    return SyncResult()


def _remove_synced(waiting: dict[str, Synced], title: str, failed: set[str]) -> bool:
    for name in [name for name, cache in waiting.items() if _has_synced(name, cache, failed)]:
        del waiting[name]
        if title:
            log.info("Done waiting", extra={"for": title, "instance": name})
    return bool(waiting)


def _has_synced(name: str, synced: Synced, failed: set[str]) -> bool:
    try:
        return run_callback(lambda: bool(synced.has_synced))
    except CallbackFailed as error:
        if name not in failed:
            failed.add(name)
            log.error("has_synced raised", extra={"instance": name, "err": error})
        return False


def _timed_out(waiting: Mapping[str, Synced], title: str, cause: str) -> SyncResult:
    missing = tuple(sorted(waiting))
    if title:
        log.error("Timed out waiting", extra={"for": title, "cause": cause, "instances": list(missing)})
    return SyncResult(missing, cause)
