"""Priority work queue: current events are processed before the initial list.

Objects of the initial list, and those that a resync repeats unchanged, have the priority `LOW`, all others `NORMAL`. If
a key is added several times, the highest priority counts. Keys of equal priority are processed in the order of arrival.
To prevent starvation, every sixteenth key is the one that has waited longest, regardless of its priority. The metric
`workqueue_depth` has a label `priority`.
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
    """Depth of one queue by priority, used under the queue's lock; `shown` priorities are exported from the start."""

    def __init__(self, name: str, kept_by: Provider, *, shown: Iterable[int] = ()) -> None:
        self._name = name
        self._kept_by = kept_by
        self._gauges: dict[int, Gauge] = {}
        for priority in shown:
            self._gauge(priority).set(0)

    @classmethod
    def of(cls, name: str, kept_by: Provider, *, shown: Iterable[int] = ()) -> "Depths | None":
        """Return the depths of a queue, or None if it has no name or the provider discards metrics."""
        return None if not name or isinstance(kept_by, NoMetrics) else cls(name, kept_by, shown=shown)

    def moved(self, before: int | None, after: int) -> None:
        """Count a waiting key under its new priority; `before` is None for a new key."""
        if before is not None:
            self._gauge(before).dec()
        self._gauge(after).inc()

    def left(self, priority: int) -> None:
        """Count a key of that priority as taken."""
        self._gauge(priority).dec()

    def _gauge(self, priority: int) -> Gauge:
        found = self._gauges.get(priority)
        if found is None:
            labels = {"name": self._name, "priority": str(priority)}
            found = self._gauges[priority] = self._kept_by.gauge(DEPTH, DEPTH_HELP, labels)
        return found


class WithoutDepth:
    """Metrics provider without the depth, which the priority queue counts itself."""

    def __init__(self, kept_by: Provider) -> None:
        self._kept_by = kept_by

    @classmethod
    def of(cls, kept_by: Provider) -> Provider:
        """Return the provider without the depth, or the provider itself if it discards metrics."""
        return kept_by if isinstance(kept_by, NoMetrics) else cls(kept_by)

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """Return the counter of that name and label values."""
        return self._kept_by.counter(name, help_text, labels)

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """Return the gauge of that name and label values; one that discards values for the depth."""
        kept_by: Provider = _NOWHERE if name == DEPTH else self._kept_by
        return kept_by.gauge(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """Return the histogram of that name and label values; `buckets` are upper bounds."""
        return self._kept_by.histogram(name, help_text, labels, buckets=buckets)


NORMAL = 0

LOW = -100
"""Priority of the initial list and of unchanged objects (controller-runtime's value)."""

STARVATION_INTERVAL = 16
"""Every so many keys, the one that has waited longest is taken, regardless of its priority."""


class PriorityQueue(RateLimitingQueue[K]):
    """Rate limiting queue whose keys have priorities. Thread-safe."""

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
        """Queue a key with at least this priority; dropped if the queue is shutting down."""
        acquire_fairly(self._lock)
        try:
            self._order.raise_priority(item, priority)
            # Delayed keys that fell due earlier come first.
            self._promote()
            self._add(item)
        finally:
            self._lock.release()

    def add_after(self, item: K, delay: float, *, priority: int | None = None) -> None:
        """Queue a key after `delay` seconds with at least this priority; None for the one it was taken with.

        For a key that is not being processed, None is `NORMAL`.
        """
        acquire_fairly(self._lock)
        try:
            self._order.raise_priority(item, self._order.taken.get(item, NORMAL) if priority is None else priority)
        finally:
            self._lock.release()
        super().add_after(item, delay)

    def trigger(self, item: K) -> str:
        """Return why a key that is being processed was queued; "resync" is the initial list too."""
        reason = super().trigger(item)
        return "resync" if reason == "event" and self._order.taken.get(item) == LOW else reason

    def done(self, item: K) -> None:
        """Mark a key from `get` as processed; it is queued again if it was added in the meantime."""
        acquire_fairly(self._lock)
        try:
            self._order.taken.pop(item, None)
        finally:
            self._lock.release()
        super().done(item)


class ByPriority(Generic[K]):
    """Storage of a `PriorityQueue`: ready keys in the order of priority; `depths` counts them."""

    def __init__(self, depths: Depths | None = None) -> None:
        self._depths = depths
        # Highest priority of each ready, delayed or requeued key since it was last taken.
        self._raised: dict[K, int] = {}
        # Place of each ready key. A heap entry that differs from its key's place is outdated.
        self._places: dict[K, tuple[int, int]] = {}
        self._heap: list[tuple[tuple[int, int], K]] = []
        # Ready keys in the order of arrival, each with its number. An entry with an outdated number has been taken.
        self._arrivals: deque[tuple[int, K]] = deque()
        self._came = 0
        self._taken_count = 0
        self.taken: dict[K, int] = {}  # priorities of keys that are being processed

    def __len__(self) -> int:
        return len(self._places)

    def raise_priority(self, item: K, priority: int) -> None:
        """Note that a key is or will be added with this priority; a ready key moves up at once."""
        self._raised[item] = max(self._raised.get(item, priority), priority)
        if item in self._places:
            self.touch(item)

    def push(self, item: K, /) -> None:
        """Add a key that is not in the storage."""
        self._came += 1
        self._arrivals.append((self._came, item))
        self._put(item, (-self._raised.get(item, NORMAL), self._came))

    def touch(self, item: K, /) -> None:
        """Move a key that was added again to its raised priority, in the order of arrival."""
        priority, came = self._places[item]
        if -self._raised.get(item, NORMAL) < priority:
            self._put(item, (-self._raised[item], came))

    def pop(self) -> K:
        """Remove and return the next key."""
        self._taken_count += 1
        item = self._oldest() if self._taken_count % STARVATION_INTERVAL == 0 else self._most_urgent()
        self.taken[item] = priority = -self._places.pop(item)[0]
        self._raised.pop(item, None)
        if self._depths is not None:
            self._depths.left(priority)
        self._compact()
        return item

    def _most_urgent(self) -> K:
        while True:
            place, item = heapq.heappop(self._heap)
            if self._places.get(item) == place:
                return item

    def _oldest(self) -> K:
        while not self._is_ready(self._arrivals[0]):
            self._arrivals.popleft()
        return self._arrivals.popleft()[1]

    def _compact(self) -> None:
        # A key taken from one of the two orders remains in the other as an outdated entry. Removing these once they are
        # more than half keeps the cost per key constant.
        most = 2 * len(self._places) + STARVATION_INTERVAL
        if len(self._arrivals) > most:
            self._arrivals = deque(arrival for arrival in self._arrivals if self._is_ready(arrival))
        if len(self._heap) > most:
            self._heap = [(place, item) for item, place in self._places.items()]
            heapq.heapify(self._heap)

    def _is_ready(self, arrival: tuple[int, K]) -> bool:
        came, item = arrival
        place = self._places.get(item)
        return place is not None and place[1] == came

    def _put(self, item: K, place: tuple[int, int]) -> None:
        if self._depths is not None:
            before = self._places.get(item)
            self._depths.moved(None if before is None else -before[0], -place[0])
        self._places[item] = place
        heapq.heappush(self._heap, (place, item))
