"""Client-side rate limiting: token bucket, and the throttle that delays requests (client-go's flowcontrol).

A limiter may serve several clients, which then share its rate.
"""

import logging
import math
import threading
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed
from clientgo.rest.limits import require_permission, stop_of_request, time_left
from clientgo.tokenbucket import TokenBucket

log = logging.getLogger(__name__)

DEBUG_ABOVE = 0.05
"""Seconds of waiting worth a debug line (client-go: 50 ms)."""

INFO_ABOVE = 1.0
"""Seconds of waiting worth a line for everyone (client-go: 1 s)."""

INFO_EVERY = 10.0
"""Seconds between two such lines (client-go: 10 s)."""


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


class Throttle:
    """Delays requests as a limiter says, until `stop` is set or the request's own limits end the wait."""

    def __init__(self, limiter: RateLimiter, clock: Clock, stop: threading.Event) -> None:
        self._limiter = limiter
        self._clock = clock
        self._stop = stop
        self._said_at: float | None = None

    def wait(self, method: str, target: str) -> float:
        """Wait until the request may be sent; return the seconds waited.

        Raises:
            ConnectionFailed: the client stops, or the wait would be longer than the request's timeout.
            LeaseNotHeld: the request must not be sent any more.
        """
        began, left = self._clock.now(), time_left()
        if not self._limiter.wait(stop_of_request(self._stop), timeout=left):
            require_permission()
            if self._stop.is_set() or math.isinf(left):
                raise ConnectionFailed("stopping: the request was not sent", sent=False)
            text = f"request not sent: the client's rate limit would delay it beyond its timeout ({left:.3g} s left)"
            raise ConnectionFailed(text, sent=False, timeout=True)
        waited = self._clock.now() - began
        self._say(waited, method, target)
        return waited

    def _say(self, wait: float, method: str, target: str) -> None:
        if wait <= DEBUG_ABOVE:
            return
        level = logging.DEBUG
        now = self._clock.now()
        if wait > INFO_ABOVE and (self._said_at is None or now - self._said_at >= INFO_EVERY):
            self._said_at = now
            level = logging.INFO
        log.log(
            level,
            "request waited for the client's own limit, not for the server",
            extra={"seconds": round(wait, 3), "verb": method, "url": target},
        )
