"""A work queue that hands out what is urgent first: what happens now goes before the long list of the start.

The initial list, and objects that a resync shows unchanged, wait with the priority `LOW`; everything else with
`NORMAL`. Of several wishes for one key the highest counts. Keys of one priority go first come, first served. Nobody
waits for ever: each sixteenth key that is handed out is the one that has waited longest, however little urgent it is.
The metric `workqueue_depth` tells priorities apart by its label `priority`.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Counter, Gauge, Histogram, NoMetrics, Provider, provider
from clientgo.workqueue import RateLimiter, RateLimitingQueue
from clientgo.workqueue.fairlock import acquire_fairly
from clientgo.workqueue.metrics import DEPTH, DEPTH_HELP

K = TypeVar("K")

_NOWHERE = NoMetrics()


class Depths:
    """The depth of one queue by priority; called under the queue's lock. `shown` have a series from the start."""

    def __init__(self, name: str, kept_by: Provider, *, shown: Iterable[int] = ()) -> None:
        self._name = name
        self._kept_by = kept_by
        self._gauges: dict[int, Gauge] = {}
        for priority in shown:
            self._gauge(priority).set(0)

    @classmethod
    def of(cls, name: str, kept_by: Provider, *, shown: Iterable[int] = ()) -> "Depths | None":
        """The depths of a queue; None if it has no name, or if the provider keeps nothing."""
        return None if not name or isinstance(kept_by, NoMetrics) else cls(name, kept_by, shown=shown)

    def moved(self, before: int | None, after: int) -> None:
        """A key that waits has another priority now; None before if it did not wait."""
        if before is not None:
            self._gauge(before).dec()
        self._gauge(after).inc()

    def left(self, priority: int) -> None:
        """A key of that priority was handed out."""
        self._gauge(priority).dec()

    def _gauge(self, priority: int) -> Gauge:
        found = self._gauges.get(priority)
        if found is None:
            labels = {"name": self._name, "priority": str(priority)}
            found = self._gauges[priority] = self._kept_by.gauge(DEPTH, DEPTH_HELP, labels)
        return found


class WithoutDepth:
    """Keeps every metric but the depth, which a queue counts itself: in a sum it would be there twice."""

    def __init__(self, kept_by: Provider) -> None:
        self._kept_by = kept_by

    @classmethod
    def of(cls, kept_by: Provider) -> Provider:
        """The same provider, but for that; itself if it keeps nothing anyway."""
        return kept_by if isinstance(kept_by, NoMetrics) else cls(kept_by)

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """The counter of that name and label values."""
        return self._kept_by.counter(name, help_text, labels)

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """The gauge of that name and label values."""
        kept_by: Provider = _NOWHERE if name == DEPTH else self._kept_by
        return kept_by.gauge(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """The histogram of that name and label values; `buckets` are upper bounds."""
        return self._kept_by.histogram(name, help_text, labels, buckets=buckets)


NORMAL = 0

LOW = -100
"""Of the initial list and of what has not changed (controller-runtime's figure)."""

FAIR_TURN = 16
"""Each so many-th key is the one that has waited longest: what is not urgent gets that part of the workers' time."""


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
        kept_by = metrics if metrics is not None else provider()
        depths = Depths.of(name, kept_by, shown=(NORMAL, LOW))
        # Guarded by the queue's lock, as all of the storage is.
        self._order: ByPriority[K] = ByPriority(depths)
        super().__init__(limiter, name=name, clock=clock, storage=self._order, metrics=WithoutDepth.of(kept_by))

    def add(self, item: K, *, priority: int = NORMAL) -> None:
        """Mark a key as needing work now, with at least that priority; dropped if the queue is shutting down."""
        acquire_fairly(self._lock)
        try:
            self._order.wish(item, priority)
            # What fell due before goes before.
            self._promote()
            self._add(item)
        finally:
            self._lock.release()

    def add_after(self, item: K, delay: float, *, priority: int | None = None) -> None:
        """Add a key once `delay` seconds have passed, with at least that priority; None is the one it was taken with.

        Of a key that is not being processed that is `NORMAL`.
        """
        acquire_fairly(self._lock)
        try:
            self._order.wish(item, self._order.taken.get(item, NORMAL) if priority is None else priority)
        finally:
            self._lock.release()
        super().add_after(item, delay)

    def done(self, item: K) -> None:
        """Give back a key from `get`; it is handed out again if it was added in the meantime."""
        acquire_fairly(self._lock)
        try:
            self._order.taken.pop(item, None)
        finally:
            self._lock.release()
        super().done(item)


class ByPriority(Generic[K]):
    """The storage of a `PriorityQueue`: ready keys, the highest priority first, which `depths` counts."""

    def __init__(self, depths: Depths | None = None) -> None:
        self._depths = depths
        # What is wished for keys that are ready, delayed, or to be ready again: the highest wish since last taken.
        self._wishes: dict[K, int] = {}
        # The place of each ready key. An entry of the heap that is not its key's place was overtaken by a better one.
        self._places: dict[K, tuple[int, int]] = {}
        self._heap: list[tuple[tuple[int, int], K]] = []
        # Ready keys as they came, each with its number. One that is not its key's number any more has been handed out.
        self._arrivals: deque[tuple[int, K]] = deque()
        self._came = 0
        self._handed_out = 0
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
        self._arrivals.append((self._came, item))
        self._place(item, (-self._wishes.get(item, NORMAL), self._came))

    def touch(self, item: K, /) -> None:
        """A key that is in the storage was added again: a higher wish moves it, in its turn, among those."""
        priority, came = self._places[item]
        if -self._wishes.get(item, NORMAL) < priority:
            self._place(item, (-self._wishes[item], came))

    def pop(self) -> K:
        """Remove and return the next key."""
        self._handed_out += 1
        item = self._oldest() if self._handed_out % FAIR_TURN == 0 else self._most_urgent()
        self.taken[item] = priority = -self._places.pop(item)[0]
        self._wishes.pop(item, None)
        if self._depths is not None:
            self._depths.left(priority)
        self._tidy()
        return item

    def _most_urgent(self) -> K:
        while True:
            place, item = heapq.heappop(self._heap)
            if self._places.get(item) == place:
                return item

    def _oldest(self) -> K:
        while not self._waits(self._arrivals[0]):
            self._arrivals.popleft()
        return self._arrivals.popleft()[1]

    def _tidy(self) -> None:
        # What left by one of the two orders is still in the other, behind whatever waits there for long: it must not
        # pile up. Done once it is more than half, this costs each key a few steps.
        most = 2 * len(self._places) + FAIR_TURN
        if len(self._arrivals) > most:
            self._arrivals = deque(arrival for arrival in self._arrivals if self._waits(arrival))
        if len(self._heap) > most:
            self._heap = [(place, item) for item, place in self._places.items()]
            heapq.heapify(self._heap)

    def _waits(self, arrival: tuple[int, K]) -> bool:
        came, item = arrival
        place = self._places.get(item)
        return place is not None and place[1] == came

    def _place(self, item: K, place: tuple[int, int]) -> None:
        if self._depths is not None:
            before = self._places.get(item)
            self._depths.moved(None if before is None else -before[0], -place[0])
        self._places[item] = place
        heapq.heappush(self._heap, (place, item))
