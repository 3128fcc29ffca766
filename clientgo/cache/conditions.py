"""Waiting for something to happen to objects: conditions are tried on each change, one after the other.

    until([is_running], pods, pod.metadata.resource_version, timeout=60)
    until_with_sync([is_running], SharedInformer(pods), timeout=60)

A condition takes an event and tells whether it holds; whatever it raises ends the waiting. When one holds, the next is
tried on the same event first. Like the watcher it is made of, this is for those who want no store of their own.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from clientgo.cache.informer import SharedInformer
from clientgo.cache.retrywatcher import RESTART_DELAY, RetryWatcher
from clientgo.cache.store import Indexer
from clientgo.cache.sync import wait_for_cache_sync
from clientgo.cache.tombstone import DeletedFinalStateUnknown, last_known
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.lifecycle import Group, StillRunning
from clientgo.meta.listwatch import AnyEvent, ListerWatcher, Watch, WatchEvent
from clientgo.meta.objects import ApiObject

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

Condition = Callable[[WatchEvent[T]], bool]
"""Whether what is waited for has happened; raises to give up."""

Precondition = Callable[[Indexer[T]], bool]
"""Whether what is waited for is there already, from a synced store."""

_GRACE = 5.0
"""Seconds an informer's threads are given to end; one that hangs in a list can't be made to."""


class WatchClosed(ClientGoError):
    """The watch ended before the conditions held."""


class Interrupted(TimeoutError):
    """The time was up before the conditions held; `last` is the last event seen, or None."""

    def __init__(self, message: str, last: object = None) -> None:
        super().__init__(message)
        self.last = last


class _Closable(Protocol):
    def close(self) -> None: ...


def until_without_retry(
    conditions: Sequence[Condition[T]],
    watch: Watch[T],
    *,
    timeout: float | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> WatchEvent[T] | None:
    """Read one watch until all conditions have held, one after the other; the event that met the last.

    None if there are no conditions. The watch is closed.

    Raises:
        Interrupted: `timeout` seconds passed before.
        WatchClosed: the watch ended before.
        ApiError, ConnectionFailed: the watch failed.
    """
    with _deadline(watch, timeout, clock) as late:
        return _met(conditions, watch, late)


def until(
    conditions: Sequence[Condition[T]],
    source: ListerWatcher[T],
    resource_version: str,
    *,
    timeout: float | None = None,
    restart_delay: float = RESTART_DELAY,
    clock: Clock = SYSTEM_CLOCK,
) -> WatchEvent[T] | None:
    """Watch from `resource_version` on, with as many watches as it takes, until all conditions have held.

    Raises:
        Interrupted: `timeout` seconds passed before.
        Gone: the server no longer has what comes next; `until_with_sync` copes with that.
        Unauthorized, Forbidden: the watch may not be opened.
        ValueError: the version is "" or "0".
    """
    watcher = RetryWatcher(source, resource_version, restart_delay=restart_delay, clock=clock)
    with _deadline(watcher, timeout, clock) as late:
        return _met(conditions, watcher, late)


def until_with_sync(
    conditions: Sequence[Condition[T]],
    informer: SharedInformer[T],
    *,
    precondition: Precondition[T] | None = None,
    timeout: float | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> WatchEvent[T] | None:
    """Run a fresh informer until all conditions have held; what exists comes as ADDED.

    Once the store is filled `precondition` is asked: if it holds, the conditions are not tried and None is returned.
    A change that was missed while the watch was down may be told with a later one; a deletion's state may be old.

    Raises:
        Interrupted: `timeout` seconds passed before.
    """
    events: _Events[T] = _Events()
    informer.add_event_handler(on_add=events.added, on_update=events.updated, on_delete=events.deleted)
    group = Group()
    informer.start(group)
    group.start(_close_after, events, group.stop_event, name="until-stop")  # a crash must not leave us waiting
    try:
        with _deadline(events, timeout, clock) as late:
            if precondition is not None and _holds_already(precondition, informer, events, clock):
                return None
            return _met(conditions, events, late)
    finally:
        group.stop()
        informer.close()
        _join(group)


class _Events(Generic[T]):
    """What an informer tells, as a watch would."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self._events: queue.SimpleQueue[WatchEvent[T] | None] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[WatchEvent[T]]:
        while (event := self._events.get()) is not None:
            yield event

    def close(self) -> None:
        """End a blocked iteration."""
        self.closed.set()
        self._events.put(None)

    def added(self, obj: T) -> None:
        self._events.put(WatchEvent("ADDED", obj))

    def updated(self, _: T, new: T) -> None:
        self._events.put(WatchEvent("MODIFIED", new))

    def deleted(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        obj = last_known(deleted)
        if obj is not None:
            self._events.put(WatchEvent("DELETED", obj))


def _holds_already(
    precondition: Precondition[T], informer: SharedInformer[T], events: _Events[T], clock: Clock
) -> bool:
    if not wait_for_cache_sync(events.closed, informer, clock=clock):
        raise Interrupted("UntilWithSync: unable to sync caches: deadline exceeded")
    return precondition(informer.indexer)


def _met(
    conditions: Sequence[Condition[T]], events: Iterable[AnyEvent[T]], late: threading.Event
) -> WatchEvent[T] | None:
    coming = iter(events)
    last: WatchEvent[T] | None = None
    for condition in conditions:
        while last is None or not condition(last):
            last = _next(coming, last, late)
    return last


def _next(coming: Iterator[AnyEvent[T]], last: WatchEvent[T] | None, late: threading.Event) -> WatchEvent[T]:
    for event in coming:
        if isinstance(event, WatchEvent):
            return event
    if late.is_set():
        raise Interrupted("timed out waiting for the condition", last)
    raise WatchClosed("the watch closed before the condition held")


@contextmanager
def _deadline(closable: _Closable, timeout: float | None, clock: Clock) -> Iterator[threading.Event]:
    """Close what is read when the time is up; the event says that it was that."""
    late, done = threading.Event(), threading.Event()
    with Group(stop=done, clock=clock) as group:
        if timeout is not None:
            group.start(_close_late, closable, timeout, late, done, clock, name="until-deadline")
        try:
            yield late
        finally:
            closable.close()


def _close_late(
    closable: _Closable, timeout: float, late: threading.Event, done: threading.Event, clock: Clock
) -> None:
    if not clock.wait_for(done, timeout):
        late.set()
        closable.close()


def _close_after(closable: _Closable, stop: threading.Event) -> None:
    stop.wait()
    closable.close()


def _join(group: Group) -> None:
    try:
        group.join(_GRACE)
    except StillRunning as error:
        log.warning("an informer's threads have not ended", extra={"err": error})
