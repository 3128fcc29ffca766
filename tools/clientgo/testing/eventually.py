"""Polling in tests: wait for a condition that a controller or a server brings about in its own time.

    foo = eventually(lambda: client.get(Foo, name), lambda foo: foo.status.available_replicas == 3)
    eventually(lambda: client.find(ConfigMap, name) is None)
    eventually(lambda: client.update(scaled(client.get(Foo, name))))
    always(lambda: client.list(ConfigMap), lambda found: not found, seconds=0.5)

An error of the library or a failed assertion counts as "not yet": an update that fails with a conflict is retried with
the newest object. (controller-runtime's komega; Gomega's Eventually and Consistently.)
"""

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError

T = TypeVar("T")

SECONDS = 10.0
"""Default timeout of `eventually`."""

TIME_FACTOR = "CLIENTGO_TEST_TIME_FACTOR"
"""Environment variable with the number by which limits of real time are multiplied, on a slow or busy machine."""

EVERY = 0.01
"""Default interval between two polls, in seconds."""


class ConditionTimeout(AssertionError):
    """The condition did not become true in time, or did not stay true; the message shows the last value."""


def eventually(
    function: Callable[[], T],
    holds: Callable[[T], object] = bool,
    *,
    seconds: float = SECONDS,
    every: float = EVERY,
    clock: Clock = SYSTEM_CLOCK,
) -> T:
    """Poll `function()` until `holds(value)` is true, by default until the value is true, and return the value.

    The environment variable `CLIENTGO_TEST_TIME_FACTOR` multiplies `seconds`, unless the clock is a fake.

    Raises:
        ConditionTimeout: the condition was not true within `seconds`.
        Exception: `function` or `holds` raised an error that is neither an AssertionError nor a ClientGoError.
    """
    seconds *= time_factor() if clock is SYSTEM_CLOCK else 1.0
    deadline = clock.now() + seconds
    while True:
        seen: object
        try:
            result = function()
            if holds(result):
                return result
            seen = result
        except (ClientGoError, AssertionError) as error:
            seen = error
        if clock.now() >= deadline:
            raise ConditionTimeout(f"condition not met after {seconds:g} s; last: {_description(seen)}")
        clock.sleep(threading.Event(), every)


def always(
    function: Callable[[], T],
    holds: Callable[[T], object] = bool,
    *,
    seconds: float = 0.5,
    every: float = EVERY,
    clock: Clock = SYSTEM_CLOCK,
) -> T:
    """Poll `function()` for `seconds`, check that `holds(value)` is true each time, and return the last value.

    Raises:
        ConditionTimeout: the condition was false once.
        Exception: `function` or `holds` raised it.
    """
    began = clock.now()
    while True:
        result = function()
        if not holds(result):
            raise ConditionTimeout(f"condition not met after {clock.now() - began:g} s; last: {_description(result)}")
        if clock.now() >= began + seconds:
            return result
        clock.sleep(threading.Event(), every)


def time_factor() -> float:
    """Return the number by which limits of real time are multiplied: at least 1, by default 1."""
    return max(1.0, float(os.environ.get(TIME_FACTOR) or 1.0))


def _description(seen: object) -> str:
    return f"{type(seen).__name__}: {seen}" if isinstance(seen, Exception) else repr(seen)
