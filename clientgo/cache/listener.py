"""Listener: delivers an informer's notifications to one handler, in a thread of its own.

The informer puts notifications into the inbox without waiting; the thread takes them in order and calls the handler. A
slow handler therefore delays no other handler. The thread also runs the resync timer and the retries: it waits for the
next notification, until the next resync or retry at the latest.

A handler that raises for an object is called again for it, and goes on with the others in between. A later change of
the object is merged with the one that failed: to the handler, a call that raised has not happened.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from clientgo.backoff import Backoff
from clientgo.cache.handlers import DeletedFinalStateUnknown, ResourceEventHandler, last_known
from clientgo.cache.state import ObjectFailure, count_dropped, count_failure
from clientgo.clock import Clock
from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.callbacks import callback_failure
from clientgo.internal.delayheap import DelayHeap
from clientgo.log import Repeats, get_logger
from clientgo.log.tracebacks import traceback_id
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.stop.stopping import ends_with, on_stop

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

HANDLER_BACKOFF = Backoff(duration=1.0, factor=2.0, cap=300.0)
"""Delays of a call that raised: at first client-go's pause after a handler's panic, which is for every object there."""

DELETION_ATTEMPTS = 20
"""Calls for a deletion that raise, after which it is dropped, about an hour: deletions alone could grow without end."""

SHOWN_DROPS = 20
"""Dropped deletions of a handler that its failures still have, the newest."""

TRACEBACK_PERIOD = 60.0
"""Seconds in which equal tracebacks of a handler are logged once, however many objects it fails for."""

SLOW_SECONDS = 1.0
"""Seconds from which a call of a handler is logged as slow: a handler should only put a key into a queue."""

STUCK_SECONDS = 30.0
"""Seconds from which a call that has not returned is a failure; it is logged once another event waits for it."""


class Added(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """Notification of a new object; `initial` if it existed when the handler was added or the cache was filled."""

    obj: T
    initial: bool


class Updated(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """Notification of a changed object, or of a resync (`old is new`)."""

    old: T
    new: T


class Removed(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """Notification of a deleted object."""

    obj: T | DeletedFinalStateUnknown[T]


class InitialListEnd:
    """Notification after the last object of the initial list."""


INITIAL_LIST_END = InitialListEnd()

Notification = Added[T] | Updated[T] | Removed[T] | InitialListEnd


class _Failed(msgspec.Struct, Generic[T], frozen=True, gc=False):
    notification: Notification[T]
    base: T | None  # the state of the last call that returned
    attempts: int
    error: str

    def merged(self, later: Notification[T]) -> Notification[T]:
        """Return the later notification as if this one had not been."""
        match later:
            case Added(obj) | Updated(_, obj):
                if self.base is not None:
                    return Updated(self.base, obj)
                return Added(obj, isinstance(self.notification, Added) and self.notification.initial)
        return later


def _base(notification: Notification[T]) -> T | None:
    match notification:
        case Updated(old, _):
            return old
        case Removed(gone):
            return last_known(gone)
    return None


class HandlerRetries(Generic[T]):
    """Notifications that a handler raised for, at most one for each object.

    Used by the listener's thread only, except for `failures`.
    """

    def __init__(self, clock: Clock) -> None:
        self.has_names = False
        """True if some object has failed, and neither succeeded since nor was removed; read for each notification."""
        self._clock = clock
        self._failed: dict[ObjectName, _Failed[T]] = {}
        # The times of the retries; without those that are being delivered.
        self._delayed: DelayHeap[ObjectName] = DelayHeap()
        self._dropped: BoundedDict[ObjectName, str] = BoundedDict(SHOWN_DROPS)

    def __len__(self) -> int:
        return len(self._failed)

    def __contains__(self, key: ObjectName) -> bool:
        return key in self._failed

    @property
    def next_due(self) -> float:
        """Time of the next retry; infinity if there is none."""
        return self._delayed.earliest

    def failures(self) -> dict[ObjectName, str]:
        """Return the error of each object that the handler fails for, or has failed for until it was dropped."""
        # Copied in one step each, which the listener's thread cannot change meanwhile.
        dropped = {key: f"gave up after {DELETION_ATTEMPTS} calls: {e}" for key, e in dict.copy(self._dropped).items()}
        return {**dropped, **{key: failed.error for key, failed in self._failed.copy().items()}}

    def merged(self, key: ObjectName, notification: Notification[T]) -> Notification[T]:
        """Return the notification, merged with the one of the object that failed, if any."""
        earlier = self._failed.get(key)
        return notification if earlier is None else earlier.merged(notification)

    def add(self, key: ObjectName, notification: Notification[T], error: str) -> float | None:
        """Store a notification that failed; return the delay until its retry, or None if it is dropped."""
        self.has_names = True
        before = self._failed.get(key)
        self._delayed.discard(key)
        attempts, base = (1, _base(notification)) if before is None else (before.attempts + 1, before.base)
        if isinstance(notification, Removed) and attempts >= DELETION_ATTEMPTS:
            del self._failed[key]
            self._dropped[key] = error
            return None
        delay = HANDLER_BACKOFF.delay(attempts - 1)
        self._failed[key] = _Failed(notification, base, attempts, error)
        self._delayed.push(key, self._clock.now() + delay)
        return delay

    def succeeded(self, key: ObjectName) -> None:
        """Remove the object."""
        self._failed.pop(key, None)
        self._dropped.pop(key, None)
        self._delayed.discard(key)
        self.has_names = bool(self._failed or self._dropped)

    def due(self) -> list[Notification[T]]:
        """Return the notifications whose retry is due; each must be delivered now, to be removed or added again."""
        return [self._failed[key].notification for key in self._delayed.pop_due(self._clock.now())]


class Listener(Generic[T]):
    """Inbox and thread of one handler, and its registration: use `has_synced`, `waiting` and `remove` in programs."""

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        *,
        name: str,
        kind: str,
        resync: float,
        clock: Clock,
        unregister: Callable[["Listener[T]"], None],
        on_idle: Callable[[], None] | None = None,
    ) -> None:
        """`on_idle` is called in the listener's thread whenever no notification waits any more."""
        self.name = name
        self.kind = kind
        self.resync = resync  # seconds; 0 for never
        self._unregister = unregister
        self.resynced: float | None = None  # time of the last resync
        self.started = False
        self.synced = threading.Event()
        self._handler = handler
        self._on_initial_add = handler.on_initial_add or handler.on_add
        self._clock = clock
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._on_idle = on_idle
        self._inbox: deque[Notification[T]] = deque()
        # Taken from the inbox and not yet delivered; used by the listener's thread only, except for its length.
        self._batch: deque[Notification[T]] = deque()
        self._closed = False
        # The call in progress, and since when; written by the listener's thread only.
        self._current: tuple[Notification[T], float] | None = None
        self._stuck_logged: Notification[T] | None = None
        self._thread: int | None = None
        self._ended = threading.Event()
        self._retries: HandlerRetries[T] = HandlerRetries(clock)
        self._tracebacks = Repeats(TRACEBACK_PERIOD, clock=clock)

    def __repr__(self) -> str:
        state = "synced" if self.has_synced else "not synced"
        return f"<Listener {self.name} ({self._handler.name}) {self.waiting} waiting, {state}>"

    @property
    def has_synced(self) -> bool:
        """True once the handler has been called for every object of the initial list; it may have raised for some."""
        return self.synced.is_set()

    @property
    def waiting(self) -> int:
        """Number of notifications that wait for the handler, without the one it processes."""
        return len(self._inbox) + len(self._batch)

    @property
    def failing(self) -> int:
        """Number of objects that the handler raised for, and is called for again."""
        return len(self._retries) + (self._stuck() is not None)

    def failures(self) -> Iterator[ObjectFailure]:
        """Yield the objects that the handler raised for, and is called for again or was dropped for."""
        for key, error in self._retries.failures().items():
            yield ObjectFailure(self._handler.label or f"handler {self.name}", key, error)
        if (stuck := self._stuck()) is not None and (name := _name_in(stuck[0])) is not None:
            message = f"the call has not returned for {stuck[1]:.0f} s"
            yield ObjectFailure(self._handler.label or f"handler {self.name}", name, message)

    def push(self, notification: Notification[T]) -> None:
        """Put a notification into the inbox; never blocks."""
        with self._lock:  # not `with self._changed`, which runs Python code
            if not self._closed:
                self._inbox.append(notification)
                if len(self._inbox) == 1:  # otherwise the thread was notified before, and takes the whole inbox
                    self._changed.notify()

    def report_stuck(self) -> None:
        """Log a call that has not returned, once. Separate from `push`, which is called under a lock."""
        if (stuck := self._stuck()) is not None and self._stuck_logged is not stuck[0]:
            self._stuck_logged = stuck[0]
            facts = {**self._about(_name_in(stuck[0])), "seconds": stuck[1]}
            log.error("handler has not returned; later events of it wait", extra=facts)

    def close(self) -> None:
        """End the thread after its current call; drop waiting notifications."""
        with self._changed:
            self._closed = True
            self._inbox.clear()
            self._changed.notify()

    def remove(self, *, wait: bool = False, timeout: float | None = None) -> bool:
        """Remove the handler; with `wait`, wait up to `timeout` seconds until its current call has returned.

        Return True if the handler is certainly not called any more. A handler that removes itself does not wait. May be
        called repeatedly, and after the informer has stopped.
        """
        self._unregister(self)
        if not self.started:
            return True
        if self._thread == threading.get_ident():
            return False
        return self._ended.wait(timeout if wait else 0)

    def run(self, stop: threading.Event, resync: Callable[["Listener[T]"], None]) -> None:
        """Deliver until closed or `stop` is set; call `resync(self)` every `self.resync` seconds, to push all."""
        self._thread = threading.get_ident()
        try:
            with ends_with(stop), on_stop(self.close):
                self._run(stop, resync)
        finally:
            self._ended.set()

    def _run(self, stop: threading.Event, resync: Callable[["Listener[T]"], None]) -> None:
        due = self._clock.now() + self.resync if self.resync > 0 else math.inf
        while True:
            batch = self._take(min(due, self._retries.next_due))
            if batch is None:
                return
            if self._clock.now() >= due:
                self.resynced = self._clock.now()
                resync(self)
                due = self._clock.now() + self.resync
            self._batch = batch
            self._deliver_all(batch)
            self._deliver_all(deque(self._retries.due()))
            if self._on_idle is not None and not self._inbox:
                self._on_idle()

    def _take(self, due: float) -> deque[Notification[T]] | None:
        with self._changed:
            while not self._inbox and not self._closed and self._clock.now() < due:
                self._clock.wait(self._changed, None if due == math.inf else due)
            if self._closed:
                return None
            batch, self._inbox = self._inbox, deque()
            return batch

    def _deliver_all(self, batch: deque[Notification[T]]) -> None:
        began = self._clock.now()
        while batch:
            if self._closed:
                batch.clear()
                break
            notification = batch.popleft()
            self._current = notification, began
            succeeded = self._deliver(notification)
            ended = self._clock.now()
            if ended - began > SLOW_SECONDS and succeeded:  # an exception is logged already
                facts = {**self._about(_name_in(notification)), "seconds": ended - began}
                log.warning("handler was slow", extra=facts)
            began = ended
        self._current = None

    def _stuck(self) -> tuple[Notification[T], float] | None:
        current = self._current
        if current is None or (seconds := self._clock.now() - current[1]) < STUCK_SECONDS:
            return None
        return current[0], seconds

    def _deliver(self, notification: Notification[T]) -> bool:
        key = _name_in(notification) if self._retries.has_names else None
        if key is not None:
            notification = self._retries.merged(key, notification)
        try:
            self._call(notification)
        except BaseException as error:  # noqa: BLE001  # foreign code
            self._failed(notification, error)
            return False
        if key is not None:
            self._retries.succeeded(key)
        return True

    def _failed(self, notification: Notification[T], error: BaseException) -> None:
        failure, key = str(callback_failure(error)), _name_in(notification)
        assert key is not None  # the end of the initial list calls no function of the program
        is_new = key not in self._retries
        delay = self._retries.add(key, notification, failure)
        count_failure(self.kind, "handler")
        facts = {**self._about(key), "err": failure, "retry_in": delay}
        if delay is None:
            count_dropped(self.kind)
            log.error("handler raised; the deletion is dropped", extra=facts)
        elif is_new:
            has_traceback = self._tracebacks.due(traceback_id(error)) is not None
            log.error("handler raised; will retry", exc_info=error if has_traceback else None, extra=facts)
        else:
            log.debug("handler raised again; will retry", extra=facts)

    def _about(self, key: ObjectName | None) -> dict[str, str]:
        return {"handler": self.name, "functions": self._handler.name, "object": str(key or "")}

    def _call(self, notification: Notification[T]) -> None:
        handler = self._handler
        match notification:
            case Added(obj, initial):
                on_add = self._on_initial_add if initial else handler.on_add
                if on_add is not None:
                    on_add(obj)
            case Updated(old, new):
                if handler.on_update is not None:
                    handler.on_update(old, new)
            case Removed(obj):
                if handler.on_delete is not None:
                    handler.on_delete(obj)
            case _:
                self.synced.set()
                if handler.on_synced is not None:
                    handler.on_synced()


def _name_in(notification: Notification[T]) -> ObjectName | None:
    match notification:
        case Added(obj) | Updated(_, obj) | Removed(obj):
            return object_name(obj)
    return None


Registration = Listener
"""Registration of a handler with an informer, as `add_event_handler` returns it (client-go's name)."""
