"""So many things a second on average and so many at once: the one bucket behind every limit of that kind.

Its caller has the clock and does the waiting: requests wait for a token before they are sent, keys of a queue are told
when theirs is there, and an event that finds none is dropped.
"""

import threading


class TokenBucket:
    """Hands out tokens in the order they were asked for, and the times from which each is there. Safe for threads.

    Raises:
        ValueError: there would never be a token.
    """

    def __init__(self, qps: float, burst: int, now: float) -> None:
        if not qps > 0 or burst < 1:
            raise ValueError(f"a bucket of {burst} tokens filled with {qps} a second never lets anything through")
        self._qps = qps
        self._burst = float(burst)
        self._tokens = float(burst)
        self._last = now
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<TokenBucket {self._tokens:g} of {self._burst:g} tokens, {self._qps:g} a second>"

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
