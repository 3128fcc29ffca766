"""Rate limiting queue: delayed retries of failed keys."""

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
    """Delaying queue with a rate limiter for failed keys; thread-safe.

    A worker calls `add_rate_limited` if a key failed, `forget` if it succeeded, and `done` in both cases.
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

    def add_rate_limited(self, item: K) -> float:
        """Count a failure of the key, add it after the limiter's delay, and return the delay in seconds."""
        delay = self._limiter.when(item)
        self.add_after(item, delay)
        return delay

    def forget(self, item: K) -> None:
        """Reset the failures of the key; does not remove it from the queue."""
        self._limiter.forget(item)

    def num_requeues(self, item: K) -> int:
        """Return the number of failures of the key."""
        return self._limiter.num_requeues(item)

    def trigger(self, item: K) -> str:
        """Return why a key that is being processed was queued: "event", or "retry" or "requeue" after a delay."""
        if item not in self._processing_by_delay:
            return "event"
        return "retry" if self._limiter.num_requeues(item) else "requeue"

    def _retries(self, item: K) -> int:
        return self._limiter.num_requeues(item)

    def state(self) -> QueueState[K]:
        """Return a copy of the queue's state, with the failures of each of its keys."""
        state = super().state()
        counts = ((key, self._limiter.num_requeues(key)) for key in state.keys)
        return replace(state, retries=tuple((key, count) for key, count in counts if count))
