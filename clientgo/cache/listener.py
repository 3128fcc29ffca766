"""Listener: delivers an informer's notifications to one handler, in a thread of its own.

The informer puts notifications into the inbox without waiting; the thread takes them in order and calls the handler. A
slow handler therefore delays no other handler. The thread also runs the resync timer: it waits for the next
notification, until the next resync at the latest.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from clientgo.cache.handlers import DeletedFinalStateUnknown, ResourceEventHandler
from clientgo.clock import Clock
from clientgo.log import get_logger
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

PAUSE_AFTER_CRASH = 1.0
"""Seconds between an exception of a handler and the next call (client-go's pause after a handler's panic)."""

SLOW_SECONDS = 1.0
"""Seconds from which a call of a handler is logged as slow: a handler should only put a key into a queue."""

MIN_RESYNC = 1.0
"""Shortest resync period of a handler in seconds (client-go's)."""


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


class Listener(Generic[T]):
    """Inbox and thread of one handler, and its registration: use `has_synced`, `waiting` and `remove` in programs."""

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        *,
        name: str,
        resync: float,
        clock: Clock,
        unregister: Callable[["Listener[T]"], None],
        on_idle: Callable[[], None] | None = None,
    ) -> None:
        """`on_idle` is called in the listener's thread whenever no notification waits any more."""
        self.name = name
        self.resync = resync  # seconds; 0 for never
        self._unregister = unregister
        self.resynced: float | None = None  # time of the last resync
        self.started = False  # guarded by the informer's lock
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
        self._thread: int | None = None
        self._ended = threading.Event()
        self._initial_failed = False

    def __repr__(self) -> str:
        state = "synced" if self.has_synced else "not synced"
        return f"<Listener {self.name} ({self._handler.name}) {self.waiting} waiting, {state}>"

    @property
    def has_synced(self) -> bool:
        """True once the handler has been called for every object of the initial list, without raising."""
        return self.synced.is_set()

    @property
    def waiting(self) -> int:
        """Number of notifications that wait for the handler, without the one it processes."""
        return len(self._inbox) + len(self._batch)

    def push(self, notification: Notification[T]) -> None:
        """Put a notification into the inbox; never blocks."""
        with self._lock:  # not `with self._changed`, which runs Python code
            if not self._closed:
                self._inbox.append(notification)
                if len(self._inbox) == 1:  # otherwise the thread was notified before, and takes the whole inbox
                    self._changed.notify()

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
        """Deliver until closed; every `self.resync` seconds call `resync(self)`, which pushes the cache's objects."""
        self._thread = threading.get_ident()
        try:
            self._run(stop, resync)
        finally:
            self._ended.set()

    def _run(self, stop: threading.Event, resync: Callable[["Listener[T]"], None]) -> None:
        due = self._clock.now() + self.resync if self.resync > 0 else None
        while True:
            batch = self._take(due)
            if batch is None:
                return
            if due is not None and self._clock.now() >= due:
                self.resynced = self._clock.now()
                resync(self)
                due = self._clock.now() + self.resync
            self._batch = batch
            self._deliver_all(batch, stop)
            if self._on_idle is not None and not self._inbox:
                self._on_idle()

    def _take(self, due: float | None) -> deque[Notification[T]] | None:
        with self._changed:
            while not self._inbox and not self._closed and (due is None or self._clock.now() < due):
                self._clock.wait(self._changed, due)
            if self._closed:
                return None
            batch, self._inbox = self._inbox, deque()
            return batch

    def _deliver_all(self, batch: deque[Notification[T]], stop: threading.Event) -> None:
        began = self._clock.now()
        while batch:
            if self._closed:
                batch.clear()
                return
            notification = batch.popleft()
            succeeded = self._deliver(notification, stop)
            ended = self._clock.now()
            if ended - began > SLOW_SECONDS and succeeded:  # an exception is logged already
                log.warning("handler was slow", extra={**self._about(notification), "seconds": ended - began})
            began = ended

    def _deliver(self, notification: Notification[T], stop: threading.Event) -> bool:
        try:
            self._call(notification)
        except Exception:  # a handler is foreign code: it may raise anything, and must not end the informer
            # A handler that failed for an object of the initial list never becomes synced.
            self._initial_failed |= isinstance(notification, Added) and notification.initial
            log.exception("handler raised; the notification is lost", extra=self._about(notification))
            self._clock.sleep(stop, PAUSE_AFTER_CRASH)
            return False
        return True

    def _about(self, notification: Notification[T]) -> dict[str, str]:
        match notification:
            case Added(obj) | Updated(_, obj) | Removed(obj):
                name = str(object_name(obj))
            case _:
                name = ""
        return {"handler": self.name, "functions": self._handler.name, "object": name}

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
                if not self._initial_failed:
                    self.synced.set()


Registration = Listener
"""Registration of a handler with an informer, as `add_event_handler` returns it (client-go's name)."""


class ResyncPeriods:
    """Resync check period of one informer in seconds, by client-go's rules; guarded by the informer's lock.

    A handler's own period cannot be shorter than the check period. One requested before the start lowers the check
    period; one requested later is raised to it. An informer with period 0 resyncs no handler.
    """

    def __init__(self, check_period: float) -> None:
        self.check_period = max(check_period, 0.0)

    def __repr__(self) -> str:
        return f"<ResyncPeriods {self.check_period:g} s>"

    def for_handler(self, wanted: float, *, started: bool) -> float:
        """Return the period of a handler that requests `wanted` seconds."""
        if wanted <= 0:
            return 0.0
        if self.check_period == 0:
            log.warning("handler is not resynced: the informer's resync is off", extra={"wanted": wanted})
            return 0.0
        period = max(wanted, MIN_RESYNC)
        if period < self.check_period and started:
            log.warning(
                "handler is resynced less often than requested: the informer has already started",
                extra={"wanted": wanted, "period": self.check_period},
            )
            return self.check_period
        self.check_period = min(self.check_period, period)
        return period

    def shows_unchanged(self, period: float, resynced: float | None, running: float, now: float) -> bool:
        """Return True if a handler is called for objects that a list found unchanged.

        `resynced` is the time of its last resync, `running` the seconds since the informer's start. Until the first
        check every handler is called, afterwards those that were due at the last check.
        """
        if self.check_period == 0 or running < self.check_period:
            return True
        since = running if resynced is None else now - resynced
        return period > 0 and (since < self.check_period or since >= period)
