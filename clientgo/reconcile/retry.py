"""Retries of transient errors, in particular of conflicts (client-go's util/retry)."""

import threading
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import Conflict
from clientgo.stop.stopping import on_stop

R = TypeVar("R")

DEFAULT_RETRY = Backoff(steps=5, duration=0.01, factor=1.0, jitter=0.1)
"""client-go's default for conflicts between concurrent clients: 5 attempts, 10 ms apart."""

DEFAULT_BACKOFF = Backoff(steps=4, duration=0.01, factor=5.0, jitter=0.1)
"""client-go's default for conflicts with a client that is updating the object: 4 attempts, 10, 50 and 250 ms apart."""


def on_error(
    backoff: Backoff,
    retriable: Callable[[Exception], bool],
    fn: Callable[[], R],
    *,
    clock: Clock = SYSTEM_CLOCK,
    stop: threading.Event | None = None,
) -> R:
    """Return the result of `fn`; retry it while its error is `retriable` and `backoff` has attempts left.

    Raises the error of the last attempt if it is not retriable, or no attempt is left, or `stop` is set during a delay;
    by default, the running code is to end.

    Raises:
        ValueError: `backoff` has less than one step.
    """
    if backoff.steps < 1:
        raise ValueError(f"invalid backoff: {backoff.steps} steps, must be at least 1")
    if stop is None:
        stop = threading.Event()
        with on_stop(stop.set):
            return on_error(backoff, retriable, fn, clock=clock, stop=stop)
    attempt = 0
    while True:
        try:
            return fn()
        except Exception as error:  # the caller decides which errors are retried
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
    """Return the result of `fn`; retry it after a `Conflict`. `fn` must read the object again each time.

    Raises the last `Conflict` if no attempt is left, and every other error at once.
    """
    return on_error(backoff, lambda error: isinstance(error, Conflict), fn, clock=clock, stop=stop)


def _last(backoff: Backoff, attempt: int) -> bool:
    # As in Kubernetes' wait.Backoff, a delay that would exceed the cap ends the attempts, too.
    if attempt + 1 >= backoff.steps:
        return True
    return backoff.cap is not None and replace(backoff, cap=None).base(attempt + 1) > backoff.cap
