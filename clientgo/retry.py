"""Trying again what failed for a reason that passes."""

import threading
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import Conflict

R = TypeVar("R")

DEFAULT_RETRY = Backoff(steps=5, duration=0.01, factor=1.0, jitter=0.1)
"""client-go's delays for a conflict among many who do not wait for each other: 5 attempts 10 ms apart."""

DEFAULT_BACKOFF = Backoff(steps=4, duration=0.01, factor=5.0, jitter=0.1)
"""client-go's delays for a conflict with someone busy: 4 attempts, 10, 50 and 250 ms apart."""


def on_error(
    backoff: Backoff,
    retriable: Callable[[Exception], bool],
    fn: Callable[[], R],
    *,
    clock: Clock = SYSTEM_CLOCK,
    stop: threading.Event | None = None,
) -> R:
    """What `fn` returns, called again as long as it raises what is `retriable` and `backoff` has attempts left.

    The last error of `fn` itself is raised when the attempts are used up, when it is not retriable, or when `stop` is
    set during a delay.

    Raises:
        ValueError: `backoff` has no attempt at all.
    """
    if backoff.steps < 1:
        raise ValueError(f"can't succeed in {backoff.steps} attempts")
    stop = stop if stop is not None else threading.Event()
    attempt = 0
    while True:
        try:
            return fn()
        except Exception as error:  # which errors to catch is the caller's to say
            if not retriable(error) or _last(backoff, attempt) or clock.sleep(stop, backoff.delay(attempt)):
                raise
        attempt += 1


def retry_on_conflict(
    fn: Callable[[], R],
    backoff: Backoff = DEFAULT_RETRY,
    *,
    clock: Clock = SYSTEM_CLOCK,
    stop: threading.Event | None = None,
) -> R:
    """What `fn` returns, called again when the object it writes was changed by another; `fn` must read it anew.

    Raises the last `Conflict` when the attempts are used up, and anything else that `fn` raises at once.
    """
    return on_error(backoff, _is_conflict, fn, clock=clock, stop=stop)


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, Conflict)


def _last(backoff: Backoff, attempt: int) -> bool:
    # As in Kubernetes' wait.Backoff, a delay that would have to grow past the cap ends the attempts as well.
    if attempt + 1 >= backoff.steps:
        return True
    return backoff.cap is not None and replace(backoff, cap=None).base(attempt + 1) > backoff.cap
