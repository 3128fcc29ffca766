"""How long a key that failed has to wait before it is tried again.

All limiters may be used by any number of threads, and none of them overflows: a key that has failed a thousand times
waits for the limiter's maximum, not for `2**1000` times its base.
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
    """Says when a key may be tried again."""

    def when(self, item: K_contra, /) -> float:
        """Seconds the key has to wait; asking counts as one more failure."""

    def forget(self, item: K_contra, /) -> None:
        """The key is done with, or given up: count its failures from 0 again."""

    def num_requeues(self, item: K_contra, /) -> int:
        """How many failures of the key have been counted."""


class _Failures(Generic[K]):
    """Counts failures by key; a key that is forgotten takes no memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: defaultdict[K, int] = defaultdict(int)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._failures)} keys failing>"

    def forget(self, item: K, /) -> None:
        """Count the key's failures from 0 again."""
        with self._lock:
            self._failures.pop(item, None)

    def num_requeues(self, item: K, /) -> int:
        """How many failures of the key have been counted."""
        with self._lock:
            return self._failures.get(item, 0)

    def _count(self, item: K) -> int:
        with self._lock:
            self._failures[item] = count = self._failures[item] + 1
            return count


class ItemExponentialFailureRateLimiter(_Failures[K]):
    """Each failure of a key doubles its delay: `base_delay`, twice that, ... up to `max_delay` seconds."""

    def __init__(self, base_delay: float, max_delay: float) -> None:
        super().__init__()
        self._base = base_delay
        self._max = max_delay

    def when(self, item: K, /) -> float:
        """`base_delay * 2**failures` seconds, at most `max_delay`."""
        try:
            return min(math.ldexp(self._base, self._count(item) - 1), self._max)
        except OverflowError:
            return self._max


class ItemFastSlowRateLimiter(_Failures[K]):
    """The first `max_fast_attempts` failures of a key wait `fast_delay` seconds, all later ones `slow_delay`."""

    def __init__(self, fast_delay: float, slow_delay: float, max_fast_attempts: int) -> None:
        super().__init__()
        self._fast = fast_delay
        self._slow = slow_delay
        self._max_fast = max_fast_attempts

    def when(self, item: K, /) -> float:
        """`fast_delay` or `slow_delay` seconds."""
        return self._fast if self._count(item) <= self._max_fast else self._slow


class BucketRateLimiter(Generic[K]):
    """All keys together get `burst` tries at once and then `qps` a second.

    Every call reserves a token, whether it is used or not, and so pushes all later calls further out.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._bucket = TokenBucket(qps, burst, clock.now())
        self._clock = clock

    def __repr__(self) -> str:
        return f"<BucketRateLimiter {self._bucket!r}>"

    def when(self, item: K, /) -> float:
        """Seconds until the token reserved by this call is there."""
        return self._bucket.reserve(self._clock.now())

    def forget(self, item: K, /) -> None:
        """Changes nothing: a bucket does not know keys apart."""

    def num_requeues(self, item: K, /) -> int:
        """Always 0: a bucket does not know keys apart."""
        return 0


class MaxOfRateLimiter(Generic[K]):
    """The longest delay of several limiters; each of them counts every failure."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        if not limiters:
            raise ValueError("the longest delay of no limiter is not defined")
        self._limiters = limiters

    def __repr__(self) -> str:
        return f"<MaxOfRateLimiter {', '.join(map(repr, self._limiters))}>"

    def when(self, item: K, /) -> float:
        """The longest of the limiters' delays, in seconds."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: K, /) -> None:
        """Let every limiter forget the key."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: K, /) -> int:
        """The most failures any limiter has counted."""
        return max(limiter.num_requeues(item) for limiter in self._limiters)


class WithMaxWaitRateLimiter(Generic[K]):
    """Another limiter's delays, but never longer than `max_delay` seconds."""

    def __init__(self, limiter: RateLimiter[K], max_delay: float) -> None:
        self._limiter = limiter
        self._max = max_delay

    def __repr__(self) -> str:
        return f"<WithMaxWaitRateLimiter {self._max:g} s, {self._limiter!r}>"

    def when(self, item: K, /) -> float:
        """The limiter's delay, at most `max_delay` seconds."""
        return min(self._limiter.when(item), self._max)

    def forget(self, item: K, /) -> None:
        """Let the limiter forget the key."""
        self._limiter.forget(item)

    def num_requeues(self, item: K, /) -> int:
        """How many failures the limiter has counted."""
        return self._limiter.num_requeues(item)


def default_controller_rate_limiter(
    *, qps: float = 10.0, burst: int = 100, clock: Clock = SYSTEM_CLOCK
) -> MaxOfRateLimiter[K]:
    """client-go's default: 5 ms doubling to 1000 s for each key, and 10 a second with a burst of 100 for all."""
    return MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(qps, burst, clock=clock)
    )


def default_item_based_rate_limiter() -> ItemExponentialFailureRateLimiter[K]:
    """client-go's default where keys do not share a bucket: 1 ms doubling to 1000 s."""
    return ItemExponentialFailureRateLimiter(0.001, 1000.0)
