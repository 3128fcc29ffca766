"""Backoff of a reflector: the delay before it lists or watches again.

| the last attempt | delay |
| --- | --- |
| connection refused | 0.75 to 1.5 s, without growth |
| the server is back, and requires a list | 0.2 to 0.4 s, once |
| the kind is not served | 5 to 10 s at the most: a CRD that appears is soon noticed |
| any other failure | 0.8 to 1.6 s, doubled each time up to 30 to 60 s; at least the server's Retry-After |

A restarted server has lost its watch history, so nearly every reflector must list, and its cache is stale until then.
The first list therefore comes soon, but with jitter, so that reflectors do not list all at once.
"""

import random

from clientgo.backoff import Backoff, Random, ResettingBackoff, jittered
from clientgo.cache.pager import out_of_range
from clientgo.cache.watcher import ResourceVersionRegressed
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ConnectionFailed, InternalError, NotFound, ServerTimeout, TooManyRequests

REFLECTOR_BACKOFF = Backoff(duration=0.8, factor=2.0, jitter=1.0, cap=30.0)
"""client-go's reflector: 800 ms doubling to 30 s, each plus up to 100 % jitter."""

REFLECTOR_BACKOFF_RESET = 120.0
"""Seconds without a failure that reset the backoff (client-go: 2 min)."""

REFUSED_SECONDS = 0.75
"""Maximum delay after a refused connection, before jitter of up to 100 %.

Such an attempt costs the server nothing. With client-go's delays a cache would stay stale for up to a minute.
"""

RELIST_SECONDS = 0.2
"""Delay before the list that a returned server requires, before jitter of up to 100 %."""

NOT_SERVED_SECONDS = 5.0
"""Maximum delay while the server does not serve the kind, before jitter of up to 100 %."""

MAX_SILENCE = 600.0
"""Seconds without a response after which a watch whose opening times out is replaced by a list: those of a long watch.

client-go opens it again for ever. A proxy that holds back every watch would then leave the cache stale.
"""

INTERNAL_ERROR_RESET = 60.0
"""Seconds without an internal error that reset `RetryWithDeadline` (client-go: 1 min)."""


class ReflectorBackoff:
    """Delays between the attempts of one reflector; for one thread."""

    def __init__(
        self, backoff: Backoff = REFLECTOR_BACKOFF, *, clock: Clock = SYSTEM_CLOCK, rand: Random = random.random
    ) -> None:
        self._backoff = ResettingBackoff(backoff, reset=REFLECTOR_BACKOFF_RESET, clock=clock, rand=rand)
        self._rand = rand
        self._refused = False  # the last attempt ended with a refused connection

    def __repr__(self) -> str:
        return f"<ReflectorBackoff{', connection refused' if self._refused else ''}, {self._backoff!r}>"

    def next(self, error: Exception | None) -> float:
        """Return the delay in seconds after an attempt that ended with `error`, or without one and requires a list."""
        refused = is_refused(error)
        is_back = self._refused and not refused
        if is_back:
            self._backoff.reset()
        self._refused = refused
        seconds = self._backoff.next()
        if refused:
            return min(seconds, jittered(REFUSED_SECONDS, 1.0, self._rand))
        if is_back and _requires_list(error):
            return min(seconds, jittered(RELIST_SECONDS, 1.0, self._rand))
        if isinstance(error, NotFound):
            seconds = min(seconds, jittered(NOT_SERVED_SECONDS, 1.0, self._rand))
        return max(seconds, error.retry_after or 0.0) if isinstance(error, ApiError) else seconds


class RetryWithDeadline:
    """Retries of internal errors for `seconds` after the first one; 0 for none. For one thread."""

    def __init__(
        self, seconds: float, *, reset_after: float = INTERNAL_ERROR_RESET, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._seconds = seconds
        self._reset_after = reset_after
        self._clock = clock
        self._first: float | None = None
        self._last: float | None = None

    def __repr__(self) -> str:
        return f"<RetryWithDeadline {self._seconds} s, {'not ' if self._first is None else ''}retrying>"

    def after(self, error: Exception | None) -> None:
        """Record the error of an attempt; errors other than internal ones are ignored."""
        if error is None or not is_internal_error(error):
            return
        now = self._clock.now()
        if self._last is not None and now - self._last >= self._reset_after:
            self._first = None
        if self._first is None:
            self._first = now
        self._last = now

    def should_retry(self) -> bool:
        """Return True before the deadline; False resets the deadline."""
        if self._seconds <= 0 or self._first is None:
            return False
        if self._clock.now() - self._first <= self._seconds:
            return True
        self._first = self._last = None
        return False


def is_refused(error: Exception | None) -> bool:
    """Return True if no server accepted the connection."""
    return isinstance(error, ConnectionFailed) and error.refused


def is_unavailable(error: Exception) -> bool:
    """Return True if the same request may succeed later: the server is overloaded or refuses connections."""
    return isinstance(error, TooManyRequests) or is_refused(error)


def may_open_again(error: Exception, silence: float) -> bool:
    """Return True if a watch that could not be opened is to be opened again, and not replaced by a list.

    `silence` is the time in seconds since the last response.
    """
    has_timed_out = isinstance(error, ConnectionFailed) and error.timeout
    return is_unavailable(error) or (has_timed_out and silence < MAX_SILENCE)


def is_internal_error(error: Exception) -> bool:
    """Return True for InternalError and for any other API error with that reason."""
    if isinstance(error, InternalError):
        return True
    return isinstance(error, ApiError) and error.reason == "InternalError" and not isinstance(error, ServerTimeout)


def _requires_list(error: Exception | None) -> bool:
    return error is None or isinstance(error, ResourceVersionRegressed) or out_of_range(error)
