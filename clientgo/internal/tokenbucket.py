"""Token bucket for rate limits, used for requests, keys of queues and events.

The caller passes the time and does the waiting.
"""

import threading

from clientgo.internal.forks import fork_safe

# One for all buckets: a sender of events has thousands of them, and holds it for less than a microsecond.
_LOCK = fork_safe(threading.Lock())


class TokenBucket:
    """Bucket of `burst` tokens, refilled with `qps` per second; thread-safe.

    Raises:
        ValueError: `qps` is not positive or `burst` is below 1.
    """

    def __init__(self, qps: float, burst: int, now: float) -> None:
        if not qps > 0 or burst < 1:
            raise ValueError(f"invalid rate limit: qps {qps} must be positive and burst {burst} at least 1")
        self._qps = qps
        self._burst = float(burst)
        self._tokens = float(burst)
        self._last = now

    def __repr__(self) -> str:
        return f"<TokenBucket {self._tokens:g} of {self._burst:g} tokens, {self._qps:g} a second>"

    def reserve(self, now: float) -> float:
        """Take one token; return the seconds until it is available, 0 if it is."""
        with _LOCK:
            self._refill(now)
            self._tokens -= 1.0
            return max(0.0, -self._tokens / self._qps)

    def reserve_within(self, now: float, limit: float) -> float | None:
        """Take one token and return the seconds until it is available; return None if they exceed `limit`."""
        with _LOCK:
            self._refill(now)
            wait = max(0.0, (1.0 - self._tokens) / self._qps)
            if wait > limit:
                return None
            self._tokens -= 1.0
            return wait

    def try_take(self, now: float) -> bool:
        """Take one token if it is available; return True if so."""
        return self.reserve_within(now, 0.0) is not None

    def give_back(self) -> None:
        """Put back a token that was reserved and not used."""
        with _LOCK:
            self._tokens = min(self._burst, self._tokens + 1.0)

    def _refill(self, now: float) -> None:
        # A clock that goes backwards must not remove tokens.
        elapsed = max(0.0, now - self._last)
        self._last = max(self._last, now)
        self._tokens = min(self._burst, self._tokens + elapsed * self._qps)
