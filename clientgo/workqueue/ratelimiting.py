"""A queue that makes keys that fail wait longer and longer."""

from typing import TypeVar

from msgspec.structs import replace

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Provider
from clientgo.workqueue.delaying import DelayingQueue
from clientgo.workqueue.queue import Storage
from clientgo.workqueue.ratelimiters import RateLimiter, default_controller_rate_limiter
from clientgo.workqueue.state import QueueState

K = TypeVar("K")


class RateLimitingQueue(DelayingQueue[K]):
    """A delaying queue whose limiter says how long a failed key waits; safe for any number of threads.

    A worker calls `add_rate_limited` when a key failed, `forget` when it succeeded, and `done` in any case.
    """

    def __init__(
        self,
        limiter: RateLimiter[K] | None = None,
        *,
        name: str = "",
        clock: Clock = SYSTEM_CLOCK,
        storage: Storage[K] | None = None,
        metrics: Provider | None = None,
    ) -> None:
        super().__init__(name=name, clock=clock, storage=storage, metrics=metrics)
        self._limiter: RateLimiter[K] = limiter if limiter is not None else default_controller_rate_limiter(clock=clock)

    def add_rate_limited(self, item: K) -> None:
        """Add a key once the limiter lets it; counts as one more failure of the key."""
        self.add_after(item, self._limiter.when(item))

    def forget(self, item: K) -> None:
        """Count the key's failures from 0 again; does not take it out of the queue."""
        self._limiter.forget(item)

    def num_requeues(self, item: K) -> int:
        """How many failures of the key the limiter has counted."""
        return self._limiter.num_requeues(item)

    def state(self) -> QueueState[K]:
        """What the queue holds at this moment, and how often each of its keys has failed; a copy."""
        state = super().state()
        counts = ((key, self._limiter.num_requeues(key)) for key in state.keys)
        return replace(state, retries=tuple((key, count) for key, count in counts if count))
