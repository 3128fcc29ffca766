"""For how long an error may be met by trying again at once, before it counts as real trouble."""

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, InternalError, ServerTimeout

RESET_AFTER = 60.0
"""Seconds without such an error after which the window opens anew (client-go's reflector: 1 min)."""


def is_internal_error(error: Exception) -> bool:
    """Whether the server failed inside, which may pass by itself; anything with reason InternalError does."""
    if isinstance(error, InternalError):
        return True
    return isinstance(error, ApiError) and error.reason == "InternalError" and not isinstance(error, ServerTimeout)


class RetryWindow:
    """Lets internal errors be retried for `seconds` after the first of them; 0 never. For one thread."""

    def __init__(self, seconds: float, *, reset_after: float = RESET_AFTER, clock: Clock = SYSTEM_CLOCK) -> None:
        self._seconds = seconds
        self._reset_after = reset_after
        self._clock = clock
        self._first: float | None = None
        self._last: float | None = None

    def __repr__(self) -> str:
        return f"<RetryWindow of {self._seconds} s, {'closed' if self._first is None else 'open'}>"

    def after(self, error: Exception | None) -> None:
        """Note how a try ended; only internal errors count, others leave a running window as it is."""
        if error is None or not is_internal_error(error):
            return
        now = self._clock.now()
        if self._last is not None and now - self._last >= self._reset_after:
            self._first = None
        if self._first is None:
            self._first = now
        self._last = now

    def should_retry(self) -> bool:
        """Whether the window is open; asking when it has passed closes it."""
        if self._seconds <= 0 or self._first is None:
            return False
        if self._clock.now() - self._first <= self._seconds:
            return True
        self._first = self._last = None
        return False
