"""Delaying queue: keys that become ready at a later time.

No extra thread waits for them: the consumers blocked in `get` are the timer. One of them, the timekeeper, waits until
the earliest key is due; the others wait for a notification. A consumer that wakes checks all conditions again, so an
extra notification does no harm; the invariant at `_watched` prevents a lost one. While no consumer waits, no wake-up is
needed: `get` and `len` promote the keys that are due.
"""

import heapq
import math
from collections.abc import Mapping
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Provider
from clientgo.workqueue.fairlock import acquire_fairly
from clientgo.workqueue.queue import ShutDown, Storage, WorkQueue

K = TypeVar("K")


class DelayHeap(Generic[K]):
    """Heap of keys by due time; a key added twice has the earlier time. Not thread-safe."""

    def __init__(self) -> None:
        # The time of every key in the heap.
        self._times: dict[K, float] = {}
        # (time, number, key). An entry whose time differs from that in _times was replaced by an earlier one; it stays
        # until it is popped, because finding it would cost more. `number` avoids comparing keys, and keeps the order
        # of keys that are due at the same time.
        self._heap: list[tuple[float, int, K]] = []
        self._number = 0

    def __repr__(self) -> str:
        return f"<DelayHeap {len(self)} keys>"

    def __len__(self) -> int:
        return len(self._times)

    @property
    def earliest(self) -> float:
        """Due time of the next key; infinity if there is none."""
        return self._heap[0][0] if self._heap else math.inf

    @property
    def times(self) -> Mapping[K, float]:
        """Due times by key, not a copy."""
        return self._times

    def push(self, item: K, at: float) -> None:
        """Add a key that is due at `at`, unless it is due earlier already."""
        known = self._times.get(item)
        if known is not None and known <= at:
            return
        self._times[item] = at
        self._number += 1
        heapq.heappush(self._heap, (at, self._number, item))

    def pop_due(self, now: float) -> list[K]:
        """Remove and return the keys that are due, in the order of their times."""
        due: list[K] = []
        while self._heap and self._heap[0][0] <= now:
            at, _, item = heapq.heappop(self._heap)
            if self._times.get(item) == at:
                del self._times[item]
                due.append(item)
        if not self._times:
            # Only replaced entries are left; they would keep keys alive.
            self._heap.clear()
        return due

    def clear(self) -> None:
        """Remove all keys."""
        self._times.clear()
        self._heap.clear()


class DelayingQueue(WorkQueue[K]):
    """Work queue with delayed keys; thread-safe.

    A delayed key that is also added directly is processed twice, as in client-go.
    """

    def __init__(
        self,
        *,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        storage: Storage[K] | None = None,
        metrics: Provider | None = None,
    ) -> None:
        super().__init__(name=name, clock=clock, storage=storage, metrics=metrics)
        # Keys that are not due yet, and due keys that are not promoted yet.
        self._delayed: DelayHeap[K] = DelayHeap()
        # The time until which the timekeeper waits; infinity without one. Whenever the lock is free, keys are delayed
        # and consumers wait, either _watched <= the earliest time, or a notified consumer is about to check.
        self._watched = math.inf

    def __len__(self) -> int:
        """Return the number of ready keys, including those whose delay has passed."""
        with self._lock:
            self._promote()
            return len(self._ready)

    def add(self, item: K) -> None:
        """Add a key now; ignored if it is waiting already or the queue is shutting down."""
        acquire_fairly(self._lock)
        try:
            if self._delayed:
                # Keys that became due earlier come first.
                self._promote()
            self._add(item)
        finally:
            self._lock.release()

    def add_after(self, item: K, delay: float) -> None:
        """Add a key after `delay` seconds, at once if that is not positive. Ignored after `shut_down`."""
        acquire_fairly(self._lock)
        try:
            if self._shutting_down:
                return
            if self._metrics is not None:
                self._metrics.retries.inc()
            self._promote()
            # "not >" instead of "<=": NaN must not get into the heap.
            if not delay > 0:
                self._add(item)
                return
            self._delayed.push(item, self._clock.now() + delay)
            if self._waiting and self._delayed.earliest < self._watched:
                self._wake.notify()
        finally:
            self._lock.release()

    def get(self) -> K:
        """Return the next key, blocking until there is one; call `done` with it afterwards.

        Raises:
            ShutDown: the queue is shut down and empty; keys that are not due yet are dropped.
        """
        acquire_fairly(self._lock)
        try:
            if self._delayed:
                self._promote()
            if not self._ready:
                self._wait_until_ready()
            return self._take()
        finally:
            self._lock.release()

    # The methods below are called with the lock held.

    def _drop_delayed(self) -> None:
        self._delayed.clear()

    def _due_times(self) -> Mapping[K, float]:
        return self._delayed.times

    def _promote(self) -> None:
        if self._delayed and self._delayed.earliest <= (now := self._clock.now()):
            for item in self._delayed.pop_due(now):
                if item not in self._dirty:
                    self._dirty_by_delay.add(item)
                self._add(item)

    def _wait_until_ready(self) -> None:
        try:
            while not self._ready:
                if self._shutting_down:
                    raise ShutDown
                self._wait_for_earliest()
                self._promote()
        finally:
            # This consumer stops waiting. If it was the timekeeper, or was notified to become it, another one must.
            if self._waiting and self._delayed.earliest < self._watched:
                self._wake.notify()

    def _wait_for_earliest(self) -> None:
        earliest = self._delayed.earliest
        if earliest >= self._watched:
            # The timekeeper waits for it. (Also if nothing is delayed: infinity is not watched.)
            self._wait(None)
            return
        self._watched = earliest
        try:
            self._wait(earliest)
        finally:
            # Another consumer may have begun to watch for an earlier key; keep its time.
            if self._watched == earliest:
                self._watched = math.inf

    def _counts(self) -> str:
        return f"{super()._counts()}, {len(self._delayed)} delayed"
