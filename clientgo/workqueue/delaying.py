"""Keys that fall due later.

There is no thread that waits for them: the consumers blocked in `get` are the timer. One of them, the timekeeper, waits
no longer than until the earliest key falls due; the others wait for a notification. Whoever wakes looks at everything
anew, so a notification too many does no harm, and the one rule that prevents a lost wake-up is the invariant at
`_watched`. When no consumer waits, nobody needs to be woken: `get` and `len` take what has fallen due by themselves.
"""

import heapq
import math
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Provider
from clientgo.workqueue.queue import ShutDown, Storage, WorkQueue
from clientgo.workqueue.turns import take

K = TypeVar("K")


class DelayHeap(Generic[K]):
    """Keys ordered by the time they fall due, each once, the earlier time winning. Not safe for several threads."""

    def __init__(self) -> None:
        # The time of every key in the heap.
        self._times: dict[K, float] = {}
        # (time, number, key). An entry whose time is not the key's in _times was overtaken by an earlier one; it stays
        # until it comes up, because finding it would cost more. `number` keeps keys themselves from being compared
        # and lets keys of the same time out in the order they came.
        self._heap: list[tuple[float, int, K]] = []
        self._number = 0

    def __repr__(self) -> str:
        return f"<DelayHeap {len(self)} keys>"

    def __len__(self) -> int:
        return len(self._times)

    @property
    def earliest(self) -> float:
        """When the next key falls due; infinity if there is none."""
        return self._heap[0][0] if self._heap else math.inf

    def times(self) -> dict[K, float]:
        """When each key falls due; a copy."""
        return self._times.copy()

    def push(self, item: K, at: float) -> None:
        """Let a key fall due at the time `at`, or earlier if it does so already."""
        known = self._times.get(item)
        if known is not None and known <= at:
            return
        self._times[item] = at
        self._number += 1
        heapq.heappush(self._heap, (at, self._number, item))

    def pop_due(self, now: float) -> list[K]:
        """Remove and return the keys that have fallen due, in the order of their times."""
        due: list[K] = []
        while self._heap and self._heap[0][0] <= now:
            at, _, item = heapq.heappop(self._heap)
            if self._times.get(item) == at:
                del self._times[item]
                due.append(item)
        if not self._times:
            # Only overtaken entries are left; they would keep keys alive that are long done.
            self._heap.clear()
        return due

    def clear(self) -> None:
        """Forget all keys."""
        self._times.clear()
        self._heap.clear()


class DelayingQueue(WorkQueue[K]):
    """A work queue that takes keys for later; safe for any number of threads.

    A key that is waiting for its time and is added directly is handed out twice, as in client-go.
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
        # Keys that are not due yet, and those due since nobody has looked.
        self._delayed: DelayHeap[K] = DelayHeap()
        # Until when the timekeeper waits; infinity if there is none. Whenever the lock is free, keys are delayed and
        # consumers wait, then either _watched <= the earliest time, or a consumer is notified and about to look.
        self._watched = math.inf

    def __len__(self) -> int:
        """How many keys are ready to be handed out, those whose delay has passed included."""
        with self._lock:
            self._promote()
            return len(self._ready)

    def add(self, item: K) -> None:
        """Mark a key as needing work now; dropped if it is marked already or the queue is shutting down."""
        take(self._lock)
        try:
            if self._delayed:
                # What fell due before goes before.
                self._promote()
            self._add(item)
        finally:
            self._lock.release()

    def add_after(self, item: K, delay: float) -> None:
        """Add a key once `delay` seconds have passed; at once if that is not positive. Dropped after `shut_down`."""
        take(self._lock)
        try:
            if self._shutting_down:
                return
            if self._metrics is not None:
                self._metrics.retried()
            self._promote()
            # "not >" and not "<=": a delay that is not a number must not get into the heap.
            if not delay > 0:
                self._add(item)
                return
            self._delayed.push(item, self._clock.now() + delay)
            if self._waiting and self._delayed.earliest < self._watched:
                self._wake.notify()
        finally:
            self._lock.release()

    def get(self) -> K:
        """The next key, waited for if there is none; `done` must be called with it afterwards.

        Raises:
            ShutDown: the queue is shut down and empty; keys that are not due yet are dropped.
        """
        take(self._lock)
        try:
            if self._delayed:
                self._promote()
            if not self._ready:
                self._wait_until_ready()
            return self._take()
        finally:
            self._lock.release()

    # What follows is called with the lock held.

    def _drop_delayed(self) -> None:
        self._delayed.clear()

    def _due_times(self) -> dict[K, float]:
        return self._delayed.times()

    def _promote(self) -> None:
        if self._delayed and self._delayed.earliest <= (now := self._clock.now()):
            for item in self._delayed.pop_due(now):
                self._add(item)

    def _wait_until_ready(self) -> None:
        try:
            while not self._ready:
                if self._shutting_down:
                    raise ShutDown
                self._wait_for_earliest()
                self._promote()
        finally:
            # This consumer stops waiting. If it kept the time, or was notified in order to, another one has to.
            if self._waiting and self._delayed.earliest < self._watched:
                self._wake.notify()

    def _wait_for_earliest(self) -> None:
        earliest = self._delayed.earliest
        if earliest >= self._watched:
            # The timekeeper sees to it. (Also when nothing is delayed: infinity is not watched.)
            self._wait(None)
            return
        self._watched = earliest
        try:
            self._wait(earliest)
        finally:
            # Another may have begun to watch for an earlier key; what it watches for stands.
            if self._watched == earliest:
                self._watched = math.inf

    def _counts(self) -> str:
        return f"{super()._counts()}, {len(self._delayed)} delayed"
