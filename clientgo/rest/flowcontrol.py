"""Client-side rate limiting: token bucket, and the throttle that delays requests (client-go's flowcontrol).

A limiter may serve several clients, which then share its rate.
"""

import logging
import math
import threading
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed
from clientgo.internal.callbacks import run_callback
from clientgo.internal.tokenbucket import TokenBucket
from clientgo.log import get_logger
from clientgo.rest.clientmetrics import RequestMetrics
from clientgo.rest.limits import InFlightRequest, require_permission
from clientgo.stop.stopping import NOT_SENT

log = get_logger(__name__)

DEBUG_ABOVE = 0.05
"""Seconds of waiting that are logged at DEBUG (client-go: 50 ms)."""

INFO_ABOVE = 1.0
"""Seconds of waiting that are logged at INFO (client-go: 1 s)."""

INFO_EVERY = 10.0
"""Seconds between two messages at INFO (client-go: 10 s)."""


class RequestRateLimiter(Protocol):
    """A client-side rate limiter; thread-safe."""

    def try_accept(self) -> bool:
        """Accept a request if one may be sent now; return whether it was accepted."""

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        """Wait until a request may be sent; return False if `stop` is set, or at once if that takes over `timeout`."""


class TokenBucketRateLimiter:
    """Accepts `qps` requests per second on average, in bursts of up to `burst` (client-go's NewTokenBucketRateLimiter).

    Raises:
        ValueError: no request would ever be accepted.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.qps = qps
        self._clock = clock
        self._bucket = TokenBucket(qps, burst, clock.now())

    def __repr__(self) -> str:
        return f"<TokenBucketRateLimiter {self._bucket!r}>"

    def try_accept(self) -> bool:
        """Take a token if there is one; return whether there was."""
        return self._bucket.try_take(self._clock.now())

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        """Wait for a token; return False if `stop` is set, or at once if that takes over `timeout`."""
        seconds = self._bucket.reserve_within(self._clock.now(), timeout)
        if seconds is None:
            return False
        if seconds > 0 and self._clock.sleep(stop, seconds):
            self._bucket.give_back()
            return False
        return True


class Throttle:
    """Delays requests by a rate limiter, until the request's limits end the wait, and counts the seconds."""

    def __init__(self, limiter: RequestRateLimiter, clock: Clock, metrics: RequestMetrics) -> None:
        self._limiter = limiter
        self._clock = clock
        self._metrics = metrics
        self._logged_at: float | None = None

    def wait(self, request: InFlightRequest, method: str, target: str) -> None:
        """Wait until the request may be sent.

        Raises:
            ConnectionFailed: the client stops, or the wait would exceed the request's timeout.
            LeaseNotHeld: the request must not be sent any more.
            CallbackFailed: the rate limiter raised.
        """
        began, remaining, stop = self._clock.now(), request.remaining(), request.stop_for_wait()
        if not run_callback(self._limiter.wait, stop, timeout=remaining):
            require_permission()
            if stop.is_set() or math.isinf(remaining):
                raise ConnectionFailed(NOT_SENT, sent=False, stopping=True)
            text = f"request not sent: client-side rate limiting would exceed its timeout ({remaining:.3g} s left)"
            raise ConnectionFailed(text, sent=False, timeout=True)
        waited = self._clock.now() - began
        self._log_wait(waited, method, target)
        if self._metrics.enabled:
            self._metrics.throttled(method, waited)

    def _log_wait(self, wait: float, method: str, target: str) -> None:
        if wait <= DEBUG_ABOVE:
            return
        level = logging.DEBUG
        now = self._clock.now()
        if wait > INFO_ABOVE and (self._logged_at is None or now - self._logged_at >= INFO_EVERY):
            self._logged_at = now
            level = logging.INFO
        log.log(
            level,
            "request delayed by client-side throttling, not by priority and fairness",
            extra={"seconds": round(wait, 3), "verb": method, "url": target},
        )
