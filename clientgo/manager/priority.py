"""A work queue that hands out what is urgent first: what happens now goes before the long list of the start.

The initial list, and objects that a resync shows unchanged, wait with the priority `LOW`; everything else with
`NORMAL`. Of several wishes for one key the highest counts. Keys of one priority go first come, first served.
"""

import heapq
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Provider
from clientgo.workqueue import RateLimiter, RateLimitingQueue

K = TypeVar("K")

NORMAL = 0
LOW = -100
"""Of the initial list and of what has not changed (controller-runtime's figure)."""


class PriorityQueue(RateLimitingQueue[K]):
    """A rate limiting queue whose keys have priorities; safe for any number of threads."""

    def __init__(
        self,
        limiter: RateLimiter[K] | None = None,
        *,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        metrics: Provider | None = None,
    ) -> None:
        # Guarded by the queue's lock, as all of the storage is.
        self._order: ByPriority[K] = ByPriority()
        super().__init__(limiter, name=name, clock=clock, storage=self._order, metrics=metrics)

    def add(self, item: K, *, priority: int = NORMAL) -> None:
        """Mark a key as needing work now, with at least that priority; dropped if the queue is shutting down."""
        with self._lock:
            self._order.wish(item, priority)
            # What fell due before goes before.
            self._promote()
            self._add(item)

    def add_after(self, item: K, delay: float, *, priority: int | None = None) -> None:
        """Add a key once `delay` seconds have passed, with at least that priority; None is the one it was taken with.

        Of a key that is not being processed that is `NORMAL`.
        """
        with self._lock:
            self._order.wish(item, self._order.taken.get(item, NORMAL) if priority is None else priority)
        super().add_after(item, delay)

    def done(self, item: K) -> None:
        """Give back a key from `get`; it is handed out again if it was added in the meantime."""
        with self._lock:
            self._order.taken.pop(item, None)
        super().done(item)


class ByPriority(Generic[K]):
    """The storage of a `PriorityQueue`: ready keys, the highest priority first."""

    def __init__(self) -> None:
        # What is wished for keys that are ready, delayed, or to be ready again: the highest wish since last taken.
        self._wishes: dict[K, int] = {}
        # The place of each ready key. An entry of the heap that is not its key's place was overtaken by a better one.
        self._places: dict[K, tuple[int, int]] = {}
        self._heap: list[tuple[tuple[int, int], K]] = []
        self._came = 0
        self.taken: dict[K, int] = {}
        """The priorities of keys that are being processed."""

    def __len__(self) -> int:
        return len(self._places)

    def wish(self, item: K, priority: int) -> None:
        """The key is, or will be, added with that priority: if it is ready, it moves up at once."""
        self._wishes[item] = max(self._wishes.get(item, priority), priority)
        if item in self._places:
            self.touch(item)

    def push(self, item: K, /) -> None:
        """Take in a key that is not in the storage."""
        self._came += 1
        self._place(item, (-self._wishes.get(item, NORMAL), self._came))

    def touch(self, item: K, /) -> None:
        """A key that is in the storage was added again: a higher wish moves it, in its turn, among those."""
        priority, came = self._places[item]
        if -self._wishes.get(item, NORMAL) < priority:
            self._place(item, (-self._wishes[item], came))

    def pop(self) -> K:
        """Remove and return the next key."""
        while True:
            place, item = heapq.heappop(self._heap)
            if self._places.get(item) == place:
                del self._places[item]
                self._wishes.pop(item, None)
                self.taken[item] = -place[0]
                return item

    def _place(self, item: K, place: tuple[int, int]) -> None:
        self._places[item] = place
        heapq.heappush(self._heap, (place, item))
