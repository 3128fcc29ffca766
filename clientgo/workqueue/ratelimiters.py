"""Rate limiters: the delay before a failed key is retried.

All limiters are thread-safe, and none overflows: a key that has failed a thousand times gets the limiter's maximum, not
`2**1000` times its base. A queue guards limiters of the program: one that fails must not lose the key.
"""

import math
import threading
from collections import defaultdict
from typing import Generic, Protocol, TypeVar

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.internal.tokenbucket import TokenBucket
from clientgo.log import Repeats, get_logger

log = get_logger(__name__)

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


class BackoffRateLimiter(_Failures[K]):
    """Delays of a `Backoff` per key; its number of steps does not matter."""

    def __init__(self, backoff: Backoff) -> None:
        super().__init__()
        self._backoff = backoff

    def when(self, item: K, /) -> float:
        """Return the delay after this failure, with jitter, and count the failure."""
        return self._backoff.delay(self._count(item) - 1)


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


REPEAT_SECONDS = 60.0
"""Seconds between two log lines about one method of a limiter that fails."""


class GuardedRateLimiter(Generic[K]):
    """Limiter of the program, which may raise or return an invalid value; the key then has client-go's backoff."""

    def __init__(self, limiter: RateLimiter[K], clock: Clock) -> None:
        self._limiter = limiter
        self._fallback: ItemExponentialFailureRateLimiter[K] = ItemExponentialFailureRateLimiter(0.005, 1000.0)
        self._repeats = Repeats(REPEAT_SECONDS, clock=clock)

    def __repr__(self) -> str:
        return f"<GuardedRateLimiter {self._limiter!r}>"

    def when(self, item: K, /) -> float:
        """Return the limiter's delay, or that of the default backoff if it fails."""
        try:
            return run_callback(_valid_delay, self._limiter, item)
        except CallbackFailed as error:
            delay = self._fallback.when(item)
            self._report("when", error, "using the default backoff")
            return delay

    def forget(self, item: K, /) -> None:
        """Reset the failures of the key."""
        self._fallback.forget(item)
        try:
            run_callback(self._limiter.forget, item)
        except CallbackFailed as error:
            self._report("forget", error, "the key's failures are not reset")

    def num_requeues(self, item: K, /) -> int:
        """Return the number of failures of the key; those that the default backoff counted if the limiter fails."""
        try:
            return run_callback(_valid_count, self._limiter, item)
        except CallbackFailed as error:
            self._report("num_requeues", error, "the number of failures is unknown")
            return self._fallback.num_requeues(item)

    def _report(self, method: str, error: CallbackFailed, effect: str) -> None:
        if (left_out := self._repeats.due(method)) is not None:
            facts = {"limiter": type(self._limiter).__name__, "method": method, "err": error, "effect": effect}
            log.error("bug: rate limiter failed", extra=facts | ({"left_out": left_out} if left_out else {}))


_OWN: tuple[type, ...] = (ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter, BucketRateLimiter)


def guarded(limiter: RateLimiter[K] | None, clock: Clock) -> RateLimiter[K]:
    """Return a limiter that never fails: the default, one of the library that calls no other, or a wrapper."""
    if limiter is None:
        return default_controller_rate_limiter(clock=clock)
    return limiter if limiter.__class__ in _OWN else GuardedRateLimiter(limiter, clock)


def _valid_delay(limiter: RateLimiter[K], item: K) -> float:
    delay = limiter.when(item)
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not math.isfinite(delay):
        raise ValueError(f"returned the delay {delay!r}, expected a finite number of seconds")
    return float(delay)


def _valid_count(limiter: RateLimiter[K], item: K) -> int:
    count = limiter.num_requeues(item)
    if not isinstance(count, int):
        raise TypeError(f"returned {count!r}, expected a number of failures")
    return count


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
