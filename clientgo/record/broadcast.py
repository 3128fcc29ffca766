"""Hands each event to every consumer at the consumer's own pace: what both kinds of broadcaster are made of.

Promises: who publishes never waits for a consumer, and no consumer waits for another. Each has a queue of 1000 events
and a thread; a full queue drops the event for that consumer alone, and counts it. `shutdown` takes no more events and
gives those queued a bounded time to get out.
"""

import threading
from collections.abc import Callable
from typing import Generic, Self, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.lifecycle import Group
from clientgo.record.watcher import QUEUE_LENGTH, HasEvent, Watcher

E = TypeVar("E")


class Broadcast(Generic[E]):
    """Any number of consumers of events; a context manager that shuts down at its end. Safe for threads."""

    def __init__(self, *, queue_length: int = QUEUE_LENGTH, clock: Clock = SYSTEM_CLOCK) -> None:
        self._queue_length = queue_length
        self._clock = clock
        self._lock = threading.Lock()
        self._watchers: tuple[Watcher[E], ...] = ()
        self._started = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._watchers)} watchers{', shut down' if self._closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def start_event_watcher(self, handle: Callable[[E], None]) -> Watcher[E]:
        """Call `handle` with every event from now on, on a thread of its own; what it raises is logged."""
        return self._start("events-watch", handle, self._group())

    def publish(self, occurrence: HasEvent[E]) -> None:
        """Offer an event to every consumer; returns at once."""
        for watcher in self._watchers:
            watcher.offer(occurrence)

    def shutdown(self, *, timeout: float = 5.0) -> None:
        """Take no more events and end all threads; what is queued is handled, within `timeout` seconds in all.

        An event that can't be sent is not tried again from here on. May be called again.
        """
        with self._lock:
            self._closed = True
            watchers, self._watchers = self._watchers, ()
        deadline = self._clock.now() + timeout
        for watcher in watchers:
            watcher.close()
        for watcher in watchers:
            watcher.join(max(0.0, deadline - self._clock.now()))

    def _group(self) -> Group:
        return Group(clock=self._clock)

    def _start(self, name: str, handle: Callable[[E], None], group: Group) -> Watcher[E]:
        with self._lock:
            if self._closed:
                raise RuntimeError("the event broadcaster is shut down")
            watcher = Watcher(f"{name}-{self._started}", group, handle, limit=self._queue_length)
            self._started += 1
            self._watchers = (*(w for w in self._watchers if not w.closed), watcher)
            return watcher
