"""Waits, in tests, for what controllers bring about in their own time: looked at again and again until it is so.

    foo = eventually(lambda: client.get(Foo, name), lambda foo: foo.status.available_replicas == 3)
    eventually(lambda: client.update(scaled(client.get(Foo, name))))
    always(lambda: client.list(ConfigMap), lambda found: not found, seconds=0.5)

What the server refuses, the network spoils or an assertion says meanwhile is "not yet": a write that lost against
another is tried again with what is there then. (controller-runtime's komega, Gomega's Eventually and Consistently.)
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError

T = TypeVar("T")

SECONDS = 10.0
"""How long is waited for something at most."""

EVERY = 0.01
"""Seconds between two looks."""


class NotSo(AssertionError):
    """It did not come to be so in time, or did not stay so; the message says what was seen last."""


def eventually(
    look: Callable[[], T],
    holds: Callable[[T], object] = lambda _: True,
    *,
    seconds: float = SECONDS,
    every: float = EVERY,
    clock: Clock = SYSTEM_CLOCK,
) -> T:
    """What `look` gives, as soon as `holds` takes it; by default as soon as it gives anything without an error.

    Raises:
        NotSo: it was not so within `seconds`.
        Exception: what either raised that is neither an assertion nor an error of the library's.
    """
    deadline = clock.now() + seconds
    while True:
        seen: object
        try:
            found = look()
            if holds(found):
                return found
            seen = found
        except (ClientGoError, AssertionError) as error:
            seen = error
        if clock.now() >= deadline:
            raise NotSo(f"not so after {seconds:g} s: {_shown(seen)}")
        clock.sleep(threading.Event(), every)


def always(
    look: Callable[[], T],
    holds: Callable[[T], object],
    *,
    seconds: float = 0.5,
    every: float = EVERY,
    clock: Clock = SYSTEM_CLOCK,
) -> T:
    """What `look` gave last, `holds` having taken it each time for `seconds`; what either raises is raised.

    Raises:
        NotSo: it was not so once.
    """
    began = clock.now()
    while True:
        found = look()
        if not holds(found):
            raise NotSo(f"no longer so after {clock.now() - began:g} s: {_shown(found)}")
        if clock.now() >= began + seconds:
            return found
        clock.sleep(threading.Event(), every)


def _shown(seen: object) -> str:
    return f"{type(seen).__name__}: {seen}" if isinstance(seen, Exception) else repr(seen)
