"""At most `qps` requests a second on average and `burst` at once. A limiter may serve several clients, which then share
its rate.
"""

import math
import threading
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.tokenbucket import TokenBucket


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
