"""One consumer of events: a bounded queue and the thread that empties it."""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from clientgo.lifecycle import Group, StillRunning
from clientgo.metrics import provider

log = logging.getLogger(__name__)

E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)

QUEUE_LENGTH = 1000
"""Events that may wait for one consumer (client-go)."""


class HasEvent(Protocol[E_co]):
    """What is queued: it becomes an event on the thread that wants one."""

    def event(self) -> E_co:
        """The event; `TypeError` if it is about something that can't be referred to."""


class Watcher(Generic[E]):
    """Hands every event offered to `handle`, in order, on a thread of its own; `dropped` counts those it could not."""

    def __init__(self, name: str, group: Group, handle: Callable[[E], None], *, limit: int = QUEUE_LENGTH) -> None:
        self.name = name
        self.dropped = 0
        self._group = group
        self._handle = handle
        self._limit = limit
        # The C queue: putting costs the caller well under a microsecond and takes no lock of ours.
        self._queue: queue.SimpleQueue[HasEvent[E] | None] = queue.SimpleQueue()
        self.closed = False
        self._abandoned = False
        self._lock = threading.Lock()
        self._drops = provider().counter(
            "event_recorder_dropped_total", "Events that found their queue full.", {"watcher": name}
        )
        group.start(self._run, name=name)

    def __repr__(self) -> str:
        return f"<Watcher {self.name}, {self._queue.qsize()} queued, {self.dropped} dropped>"

    def offer(self, occurrence: HasEvent[E]) -> bool:
        """Queue the event; False, at once, if the queue is full (which is counted) or closed. Never blocks.

        Callers that come at the same moment may exceed the limit by one each.
        """
        if self.closed:
            return False
        if self._queue.qsize() >= self._limit:
            self._drop()
            return False
        self._queue.put(occurrence)
        return True

    def close(self) -> None:
        """Take no more events, and end once those queued are handled; waits in between are cut short."""
        self.closed = True
        self._group.stop()
        self._queue.put(None)

    def join(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for the end; what is still queued then is dropped."""
        try:
            self._group.join(timeout)
        except StillRunning:
            self._abandoned = True
            # One of those queued is the mark of the end.
            lost = self._queue.qsize() - 1
            log.warning("events were dropped at the end", extra={"watcher": self.name, "events": lost})

    def stop(self, *, timeout: float = 5.0) -> None:
        """Close and join."""
        self.close()
        self.join(timeout)

    def _run(self) -> None:
        while (occurrence := self._queue.get()) is not None and not self._abandoned:
            self._deliver(occurrence)

    def _deliver(self, occurrence: HasEvent[E]) -> None:
        try:
            event = occurrence.event()
        except TypeError as error:
            log.error("event can't be recorded", extra={"err": error})
            return
        try:
            self._handle(event)
        except Exception:
            # The handler is its user's; one event it can't take must not cost the others.
            log.exception("event handler failed", extra={"watcher": self.name})

    def _drop(self) -> None:
        with self._lock:
            self.dropped += 1
            first = self.dropped == 1
        self._drops.inc()
        if first:
            # Once, not per event: whoever floods the queue would flood the log too.
            log.warning("events are dropped: the queue is full", extra={"watcher": self.name})
