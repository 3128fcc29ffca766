"""Priority work queue: current events are processed before the initial list.

Controllers add objects of the initial list, and those that a resync repeats unchanged, with the priority `LOW`, and all
others with `NORMAL`; `EventHandler` in `clientgo/manager/sources.py` decides. If a key is added several times, the
highest priority counts.
"""

from collections import OrderedDict
from typing import Generic, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.keyheap import KeyHeap
from clientgo.metrics import Provider
from clientgo.workqueue.order import NORMAL
from clientgo.workqueue.queue import RateLimitingQueue
from clientgo.workqueue.ratelimiters import RateLimiter

K = TypeVar("K")

STARVATION_INTERVAL = 16
"""Every 16th key is the one that has waited longest, regardless of its priority."""


class ByPriority(Generic[K]):
    """Highest priority first, and keys of equal priority in the order of arrival.

    To prevent starvation, every sixteenth key is the one that has waited longest, regardless of its priority.
    """

    def __init__(self) -> None:
        self.priorities: dict[K, int] = {}
        # In the order of arrival, also after a change of the rank. Of a plain dict whose first keys are removed again
        # and again, finding the first one takes linear time.
        self._ready: KeyHeap[K] = KeyHeap(OrderedDict())
        self._arrivals = 0
        self._taken_count = 0

    def __len__(self) -> int:
        return len(self._ready)

    def push(self, item: K, /) -> None:
        """Add a key that is not in the storage."""
        self._arrivals += 1
        self._ready.put(item, -self.priorities.get(item, NORMAL), self._arrivals)

    def touch(self, item: K, /) -> None:
        """Move a key whose priority was raised, which keeps its order of arrival."""
        value, arrival, _ = self._ready.entries[item]
        raised = -self.priorities.get(item, NORMAL)
        if raised < value:
            self._ready.put(item, raised, arrival)

    def pop(self) -> K:
        """Remove and return the next key."""
        self._taken_count += 1
        if self._taken_count % STARVATION_INTERVAL:
            return self._ready.pop()
        item = next(iter(self._ready.entries))
        self._ready.remove(item)
        return item


class PriorityQueue(RateLimitingQueue[K]):
    """Work queue ordered by priority, in which an event replaces a delay, as in controller-runtime's priority queue."""

    def __init__(
        self,
        limiter: RateLimiter[K] | None = None,
        *,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        metrics: Provider | None = None,
    ) -> None:
        super().__init__(limiter, name=name, clock=clock, storage=ByPriority(), metrics=metrics, merge_delays=True)
