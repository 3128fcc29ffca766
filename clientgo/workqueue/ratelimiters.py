"""Rate limiters: the delay before a failed key is retried.

All limiters are thread-safe, and none overflows: a key that has failed a thousand times gets the limiter's maximum, not
`2**1000` times its base.
"""

import math
import threading
from collections import defaultdict
from typing import Generic, Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.tokenbucket import TokenBucket

K = TypeVar("K")
K_contra = TypeVar("K_contra", contravariant=True)


class RateLimiter(Protocol[K_contra]):
    """Delay of retries by key."""

    def when(self, item: K_contra, /) -> float:
        """Count a failure of the key and return its delay in seconds."""

    def forget(self, item: K_contra, /) -> None:
        """Reset the failures of a key that succeeded or is not retried."""

    def num_requeues(self, item: K_contra, /) -> int:
        """Return the number of failures of the key."""


class _Failures(Generic[K]):
    """Failure counts by key; a forgotten key uses no memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: defaultdict[K, int] = defaultdict(int)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._failures)} keys failing>"

    def forget(self, item: K, /) -> None:
        """Reset the failures of the key."""
        with self._lock:
            self._failures.pop(item, None)

    def num_requeues(self, item: K, /) -> int:
        """Return the number of failures of the key."""
        with self._lock:
            return self._failures.get(item, 0)

    def _count(self, item: K) -> int:
        with self._lock:
            self._failures[item] = count = self._failures[item] + 1
            return count


class ItemExponentialFailureRateLimiter(_Failures[K]):
    """Exponential backoff per key, from `base_delay` to `max_delay` seconds."""

    def __init__(self, base_delay: float, max_delay: float) -> None:
        super().__init__()
        self._base = base_delay
        self._max = max_delay

    def when(self, item: K, /) -> float:
        """Return `base_delay * 2**failures` seconds, at most `max_delay`, and count a failure."""
        try:
            return min(math.ldexp(self._base, self._count(item) - 1), self._max)
        except OverflowError:
            return self._max


class ItemFastSlowRateLimiter(_Failures[K]):
    """Delay of `fast_delay` seconds for the first `max_fast_attempts` failures of a key, then `slow_delay`."""

    def __init__(self, fast_delay: float, slow_delay: float, max_fast_attempts: int) -> None:
        super().__init__()
        self._fast = fast_delay
        self._slow = slow_delay
        self._max_fast = max_fast_attempts

    def when(self, item: K, /) -> float:
        """Return `fast_delay` or `slow_delay`, and count a failure."""
        return self._fast if self._count(item) <= self._max_fast else self._slow


class BucketRateLimiter(Generic[K]):
    """Token bucket shared by all keys: `burst` tries at once, then `qps` per second.

    Every call of `when` reserves a token, used or not, and so increases the delay of later calls.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._bucket = TokenBucket(qps, burst, clock.now())
        self._clock = clock

    def __repr__(self) -> str:
        return f"<BucketRateLimiter {self._bucket!r}>"

    def when(self, item: K, /) -> float:
        """Reserve a token and return the seconds until it is available."""
        return self._bucket.reserve(self._clock.now())

    def forget(self, item: K, /) -> None:
        """Do nothing: a bucket does not distinguish keys."""

    def num_requeues(self, item: K, /) -> int:
        """Return 0: a bucket does not distinguish keys."""
        return 0


class MaxOfRateLimiter(Generic[K]):
    """Longest delay of several limiters; each of them counts every failure."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        if not limiters:
            raise ValueError("invalid limiters: at least one is required")
        self._limiters = limiters

    def __repr__(self) -> str:
        return f"<MaxOfRateLimiter {', '.join(map(repr, self._limiters))}>"

    def when(self, item: K, /) -> float:
        """Return the longest delay of the limiters, in seconds."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: K, /) -> None:
        """Reset the failures of the key in every limiter."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: K, /) -> int:
        """Return the highest number of failures of the limiters."""
        return max(limiter.num_requeues(item) for limiter in self._limiters)


class WithMaxWaitRateLimiter(Generic[K]):
    """Delays of another limiter, limited to `max_delay` seconds."""

    def __init__(self, limiter: RateLimiter[K], max_delay: float) -> None:
        self._limiter = limiter
        self._max = max_delay

    def __repr__(self) -> str:
        return f"<WithMaxWaitRateLimiter {self._max:g} s, {self._limiter!r}>"

    def when(self, item: K, /) -> float:
        """Return the limiter's delay, at most `max_delay` seconds."""
        return min(self._limiter.when(item), self._max)

    def forget(self, item: K, /) -> None:
        """Reset the failures of the key."""
        self._limiter.forget(item)

    def num_requeues(self, item: K, /) -> int:
        """Return the number of failures of the key."""
        return self._limiter.num_requeues(item)


def default_controller_rate_limiter(
    *, qps: float = 10.0, burst: int = 100, clock: Clock = SYSTEM_CLOCK
) -> MaxOfRateLimiter[K]:
    """Return client-go's default: 5 ms doubling to 1000 s per key, and 10 per second with a burst of 100 for all."""
    return MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(qps, burst, clock=clock)
    )


def default_item_based_rate_limiter() -> ItemExponentialFailureRateLimiter[K]:
    """Return client-go's default without a shared bucket: 1 ms doubling to 1000 s per key."""
    return ItemExponentialFailureRateLimiter(0.001, 1000.0)
