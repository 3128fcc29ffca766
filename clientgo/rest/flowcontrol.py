"""At most `qps` requests a second on average and `burst` at once: the bucket, and the limiters that wait for it.

`TokenBucket` is pure, its caller has the clock; limiters wait themselves. A limiter may serve several clients, which
then share its rate.
"""

import math
import threading
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock


class TokenBucket:
    """Hands out the times at which requests may be sent, in the order they were asked for. Safe for threads."""

    def __init__(self, qps: float, burst: int, now: float) -> None:
        if not qps > 0 or burst < 1:
            raise ValueError("qps must be positive and burst at least 1")
        self._qps = qps
        self._burst = float(burst)
        self._tokens = float(burst)
        self._last = now
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<TokenBucket {self._qps:g}/s burst {self._burst:g}, {self._tokens:.1f} left>"

    def reserve(self, now: float) -> float:
        """Take one token; return the seconds to wait before using it, 0 if it is there already."""
        with self._lock:
            self._refill(now)
            self._tokens -= 1.0
            return max(0.0, -self._tokens / self._qps)

    def reserve_within(self, now: float, limit: float) -> float | None:
        """As `reserve`; but takes nothing, and returns None, if the wait would be longer than `limit` seconds."""
        with self._lock:
            self._refill(now)
            wait = max(0.0, (1.0 - self._tokens) / self._qps)
            if wait > limit:
                return None
            self._tokens -= 1.0
            return wait

    def try_take(self, now: float) -> bool:
        """Take one token if one is there."""
        return self.reserve_within(now, 0.0) is not None

    def give_back(self) -> None:
        """Return a token that was reserved and not used."""
        with self._lock:
            self._tokens = min(self._burst, self._tokens + 1.0)

    def _refill(self, now: float) -> None:
        # A clock that steps back must not take tokens away.
        elapsed = max(0.0, now - self._last)
        self._last = max(self._last, now)
        self._tokens = min(self._burst, self._tokens + elapsed * self._qps)


class RateLimiter(Protocol):
    """Says when a request may be sent; safe for any number of threads."""

    def try_accept(self) -> bool:
        """Whether one may be sent now; if so, it counts as sent."""

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        """Wait for one's turn; False if `stop` is set meanwhile, and at once if it would take more than `timeout`."""


class TokenBucketRateLimiter:
    """Lets `qps` requests a second pass on average, `burst` at once (client-go's NewTokenBucketRateLimiter).

    Raises:
        ValueError: nothing would ever pass.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.qps = qps
        self._clock = clock
        self._bucket = TokenBucket(qps, burst, clock.now())

    def __repr__(self) -> str:
        return f"<TokenBucketRateLimiter {self._bucket!r}>"

    def try_accept(self) -> bool:
        """Whether a token was there; if so, it is taken."""
        return self._bucket.try_take(self._clock.now())

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        """Wait for a token; False if `stop` is set meanwhile, and at once if it would take more than `timeout`."""
        seconds = self._bucket.reserve_within(self._clock.now(), timeout)
        if seconds is None:
            return False
        if seconds > 0 and self._clock.sleep(stop, seconds):
            self._bucket.give_back()
            return False
        return True


class AlwaysRateLimiter:
    """Lets everything pass."""

    def try_accept(self) -> bool:
        """Always."""
        return True

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        """Never waits."""
        return True


class NeverRateLimiter:
    """Lets nothing pass; for tests of what happens then."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock

    def try_accept(self) -> bool:
        """Never."""
        return False

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        """Waits until `stop` is set, or not at all when there is a `timeout`."""
        return math.isinf(timeout) and not self._clock.sleep(stop, timeout)
