"""Watches without a store (client-go's tools/watch): `RetryWatcher`, and waiting for conditions.

    until([is_running], pods, pod.metadata.resource_version, timeout=60)
    until_with_sync([is_running], SharedInformer(pods), timeout=60)

A condition is called with each event and returns True once it holds; an exception of it ends the wait. The next
condition is then called with the same event first.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from msgspec.structs import replace

from clientgo.cache.handlers import DeletedFinalStateUnknown, last_known
from clientgo.cache.informer import SharedInformer
from clientgo.cache.state import wait_for_cache_sync
from clientgo.cache.store import Indexer
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ClientGoError, ConnectionFailed, Forbidden, InternalError, Unauthorized
from clientgo.log import get_logger
from clientgo.meta.codec import UnexpectedObject
from clientgo.meta.listwatch import AnyEvent, BadEvent, Bookmark, ListerWatcher, ListOptions, Watch, WatchEvent
from clientgo.meta.objects import ApiObject
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import TaskScope, ends_also_with, is_stopping, on_stop, scope_of

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

WatchCondition = Callable[[WatchEvent[T]], bool]
"""Returns True once the awaited change has happened; raises to give up."""

Precondition = Callable[[Indexer[T]], bool]
"""Returns True if a synced store already has what is awaited."""

RESTART_DELAY = 1.0
"""Minimum seconds between the starts of two watches (client-go's)."""

GONE_TRIES = 3
"""Consecutive 410 responses after which a `RetryWatcher` gives up; another of several API servers may keep more."""


class WatchClosed(ClientGoError):
    """The watch ended before the conditions held."""


class Interrupted(TimeoutError):
    """The timeout passed before the conditions held; `last` is the last event, or None."""

    def __init__(self, message: str, last: object = None) -> None:
        super().__init__(message)
        self.last = last


class RetryWatcher(Generic[T]):
    """Iterable of the changes of `source` after `resource_version`, across any number of watches; iterate it once.

    Iterating raises `Gone` if the server no longer has the next change, `Unauthorized` or `Forbidden` if a watch is not
    permitted, and `InternalError` for invalid events. Every other error is retried. Bookmarks advance the version and
    are not returned. `close` ends the iteration from any thread, and so does a stop.

    Raises:
        ValueError: the version is "" or "0", for which a watch starts at any version.
    """

    def __init__(
        self,
        source: ListerWatcher[T],
        resource_version: str,
        *,
        options: ListOptions = ListOptions(),  # noqa: B008  # options are a value
        restart_delay: float = RESTART_DELAY,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if resource_version in ("", "0"):
            raise ValueError(f'initial RV "{resource_version}" is not supported due to issues with underlying WATCH')
        self.resource_version = resource_version
        self._source = source
        self._options = options
        self._restart_delay = restart_delay
        self._clock = clock
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._watch: Watch[T] | None = None  # guarded by _lock
        self._gone = 0  # consecutive 410 responses

    def __repr__(self) -> str:
        return f"<RetryWatcher {self._source.kind.__name__} at {self.resource_version}>"

    def __iter__(self) -> Iterator[WatchEvent[T] | BadEvent]:
        with on_stop(self.close):
            yield from self._events()

    def _events(self) -> Iterator[WatchEvent[T] | BadEvent]:
        while not self._stop.is_set():
            # Not sliding: a watch that lasted longer than the delay is followed by the next one at once.
            next_start = self._clock.now() + self._restart_delay
            watch = self._open()
            pause = 0.0
            if watch is not None:
                try:
                    yield from self._read(watch)
                except ApiError as error:
                    if error.code == 410 or isinstance(error, _InvalidEvent):
                        raise
                    log.debug("watch failed; watching again", extra={"version": self.resource_version, "err": error})
                    pause = error.retry_after or 0.0
                except ConnectionFailed as error:
                    log.debug("watch lost; watching again", extra={"version": self.resource_version, "err": error})
                finally:
                    watch.close()
            self._clock.sleep(self._stop, max(next_start - self._clock.now(), pause))

    def close(self) -> None:
        """End the iteration; drop unread events. May be called repeatedly."""
        self._stop.set()
        with self._lock:
            watch = self._watch
        if watch is not None:
            watch.close()

    def _open(self) -> Watch[T] | None:
        options = replace(self._options, resource_version=self.resource_version, allow_watch_bookmarks=True, watch=True)
        try:
            watch = self._source.watch_from(options)
        except (Unauthorized, Forbidden):
            raise
        except (ApiError, ConnectionFailed) as error:
            is_gone = isinstance(error, ApiError) and error.code == 410
            self._gone = self._gone + 1 if is_gone else 0
            if self._gone == GONE_TRIES:
                raise
            log.info("failed to open a watch; will retry", extra={"version": self.resource_version, "err": error})
            return None
        self._gone = 0
        with self._lock:
            self._watch = watch
        if self._stop.is_set():  # close() was called while the watch was being opened
            watch.close()
        return watch

    def _read(self, watch: Watch[T]) -> Iterator[WatchEvent[T] | BadEvent]:
        for event in watch:
            if self._stop.is_set():
                return
            if isinstance(event, BadEvent) and isinstance(event.error, UnexpectedObject):
                yield event
                continue
            version = _version_of(event)
            if not isinstance(event, Bookmark):
                yield event
            # After it was returned: a reader that fails for an event may get it twice, but never misses it.
            self.resource_version = version


class _InvalidEvent(InternalError):
    """A watch returned something that a server never sends."""


def _version_of(event: object) -> str:
    version: str
    match event:
        case WatchEvent(_, obj):
            version = obj.metadata.resource_version
        case BadEvent(_, error):
            version = error.metadata.resource_version
        case Bookmark(version):
            pass
        case _:
            raise _InvalidEvent(f"invalid watch event {event!r}")
    if not version:
        raise _InvalidEvent(f"invalid watch event {event!r}: its object has no resourceVersion")
    return version


def until_without_retry(
    conditions: Sequence[WatchCondition[T]],
    watch: Watch[T],
    *,
    timeout: float | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> WatchEvent[T] | None:
    """Read one watch until all conditions have held, one after the other; return the event that met the last one.

    Return None if there are no conditions. The watch is closed.

    Raises:
        Interrupted: `timeout` seconds have passed.
        WatchClosed: the watch has ended.
        ApiError, ConnectionFailed: the watch has failed.
    """
    with _deadline(watch.close, timeout, clock) as late:
        return _wait(conditions, watch, late)


def until(
    conditions: Sequence[WatchCondition[T]],
    source: ListerWatcher[T],
    resource_version: str,
    *,
    options: ListOptions = ListOptions(),  # noqa: B008  # options are a value
    timeout: float | None = None,
    restart_delay: float = RESTART_DELAY,
    clock: Clock = SYSTEM_CLOCK,
) -> WatchEvent[T] | None:
    """Watch with `options` from `resource_version`, repeatedly if necessary, until all conditions have held.

    Raises:
        Interrupted: `timeout` seconds have passed.
        Gone: the server no longer has the next change; use `until_with_sync`.
        Unauthorized, Forbidden: the watch is not permitted.
        ValueError: the version is "" or "0".
    """
    watcher = RetryWatcher(source, resource_version, options=options, restart_delay=restart_delay, clock=clock)
    with _deadline(watcher.close, timeout, clock) as late:
        return _wait(conditions, watcher, late)


def until_with_sync(
    conditions: Sequence[WatchCondition[T]],
    informer: SharedInformer[T],
    *,
    precondition: Precondition[T] | None = None,
    timeout: float | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> WatchEvent[T] | None:
    """Run a new informer until all conditions have held; existing objects are ADDED events.

    The `precondition` is called once the store is filled: if it holds, return None without trying the conditions. A
    change missed while the watch was down may be combined with a later one; the state of a deleted object may be stale.

    Raises:
        Interrupted: `timeout` seconds have passed.
    """
    events: _Events[T] = _Events()
    informer.add_event_handler(on_add=events.added, on_update=events.updated, on_delete=events.deleted)
    with Group() as group, _deadline(events.close, timeout, clock) as late:
        scope_of(group.stop_event).add(events, events.close)  # a crash of the informer ends the wait
        informer.start(group)
        if precondition is not None:
            if not wait_for_cache_sync(events.closed, informer, clock=clock):
                raise Interrupted("UntilWithSync: unable to sync caches: deadline exceeded")
            if precondition(informer.indexer):
                return None
        return _wait(conditions, events, late)


class _Events(Generic[T]):
    """Changes reported by an informer, as events of a watch."""

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


def _wait(
    conditions: Sequence[WatchCondition[T]], events: Iterable[AnyEvent[T]], late: threading.Event
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
    raise WatchClosed(f"{'stopping' if is_stopping() else 'the watch closed'} before the condition held")


@contextmanager
def _deadline(close: Callable[[], object], timeout: float | None, clock: Clock) -> Iterator[threading.Event]:
    """Close the source of events after the timeout, and set the event; also close it when the program stops.

    The timeout also ends a request of this thread, such as one that opens a watch on a server that does not answer.
    """
    late, done, requests = threading.Event(), threading.Event(), TaskScope()

    def close_after(seconds: float) -> None:
        if not clock.wait_for(done, seconds):
            late.set()
            close()
            requests.stop()

    with on_stop(close), Group(stop=done, clock=clock) as group, ends_also_with(requests):
        if timeout is not None:
            group.start(close_after, timeout, name="until-deadline")
        try:
            yield late
        finally:
            close()
