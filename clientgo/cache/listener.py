"""One handler of an informer: its inbox, its thread, its own idea of being synced, its own resync timer.

The informer puts notifications into the inbox and goes on; the listener's thread takes them out in order and calls the
handler. So a slow handler delays nobody but itself. The waiting thread is the resync timer too: it waits for the next
notification or the next resync, whichever comes first.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from clientgo.cache.handlers import Handler
from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.clock import Clock
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

PAUSE_AFTER_CRASH = 1.0
"""Seconds a handler that raised is left alone (client-go's pause after a handler's panic)."""

SLOW_SECONDS = 1.0
"""A call of a handler that takes longer is worth a line in the log: a handler only has to put a key into a queue."""


class Added(msgspec.Struct, Generic[T], frozen=True):
    """An object came; `initial` if it was there when the handler was added or the cache was filled."""

    obj: T
    initial: bool


class Updated(msgspec.Struct, Generic[T], frozen=True):
    """An object changed, or is shown again by a resync (`old is new`)."""

    old: T
    new: T


class Removed(msgspec.Struct, Generic[T], frozen=True):
    """An object went."""

    obj: T | DeletedFinalStateUnknown[T]


class InitialListEnd:
    """Everything of the initial list has been put in before this."""


INITIAL_LIST_END = InitialListEnd()

Notification = Added[T] | Updated[T] | Removed[T] | InitialListEnd


class Listener(Generic[T]):
    """Delivers notifications to one handler, in order, from a thread of its own."""

    def __init__(
        self,
        handler: Handler[T],
        *,
        name: str,
        resync: float,
        clock: Clock,
        on_idle: Callable[[], None] | None = None,
    ) -> None:
        """`on_idle` is called by the listener's thread each time nothing more waits for the handler."""
        self.name = name
        self.resync = resync
        self.resynced: float | None = None  # when it was resynced last
        self.started = False  # guarded by the informer's lock
        self.synced = threading.Event()
        self._handler = handler
        self._on_initial_add = handler.on_initial_add or handler.on_add
        self._clock = clock
        self._changed = threading.Condition()
        self._on_idle = on_idle
        self._inbox: deque[Notification[T]] = deque()
        # What was taken out of the inbox and not yet delivered; the thread's own, but for its length.
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
        """Whether the handler was called for every object of the initial list, without raising."""
        return self.synced.is_set()

    @property
    def waiting(self) -> int:
        """How many notifications wait for the handler; the one it is busy with does not count."""
        return len(self._inbox) + len(self._batch)

    def push(self, notification: Notification[T]) -> None:
        """Put a notification into the inbox; never blocks."""
        with self._changed:
            if not self._closed:
                self._inbox.append(notification)
                if len(self._inbox) == 1:  # else the thread was told before, and takes everything there is
                    self._changed.notify()

    def close(self) -> None:
        """End the thread after the call it is in; what waits is not delivered."""
        with self._changed:
            self._closed = True
            self._inbox.clear()
            self._changed.notify()

    def wait_ended(self, timeout: float | None) -> bool:
        """Wait until the handler is called no more; at once from its own thread, which can't wait for itself."""
        if self._thread == threading.get_ident():
            return False
        return self._ended.wait(timeout)

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
            fine = self._deliver(notification, stop)
            ended = self._clock.now()
            if ended - began > SLOW_SECONDS and fine:  # one that raised was paused, which is said already
                log.warning("handler was slow", extra={**self._about(notification), "seconds": ended - began})
            began = ended

    def _deliver(self, notification: Notification[T], stop: threading.Event) -> bool:
        try:
            self._call(notification)
        except Exception:  # a handler is foreign code: it may raise anything, and must not end the informer
            # The initial list was not handled in full, so the handler can't be called synced any more.
            self._initial_failed |= isinstance(notification, Added) and notification.initial
            log.exception("handler raised; the notification is lost", extra=self._about(notification))
            self._clock.sleep(stop, PAUSE_AFTER_CRASH)
            return False
        return True

    def _about(self, notification: Notification[T]) -> dict[str, str]:
        return {"handler": self.name, "functions": self._handler.name, "object": _what(notification)}

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


def _what(notification: Notification[T]) -> str:
    match notification:
        case Added(obj) | Updated(_, obj) | Removed(obj):
            return str(object_name(obj))
        case _:
            return ""
