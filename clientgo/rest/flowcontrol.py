"""A token bucket: at most `qps` requests a second on average, `burst` at once. Pure; the clock is its caller's."""

import threading


class TokenBucket:
    """Hands out the times at which requests may be sent, in the order they were asked for. Safe for threads."""

    def __init__(self, qps: float, burst: int, now: float) -> None:
        if qps <= 0 or burst < 1:
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

    def try_take(self, now: float) -> bool:
        """Take one token if one is there."""
        with self._lock:
            self._refill(now)
            if self._tokens < 1.0:
                return False
            self._tokens -= 1.0
            return True

    def give_back(self) -> None:
        """Return a token that was reserved and not used."""
        with self._lock:
            self._tokens = min(self._burst, self._tokens + 1.0)

    def _refill(self, now: float) -> None:
        # A clock that steps back must not take tokens away.
        elapsed = max(0.0, now - self._last)
        self._last = max(self._last, now)
        self._tokens = min(self._burst, self._tokens + elapsed * self._qps)
