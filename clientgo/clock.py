"""The one door to time: everything that waits or reads a clock takes a `Clock`.

Two scales are kept apart. `now()` is monotonic seconds, for delays and deadlines; `time()` is seconds since the epoch,
for what is written into objects. A fake clock (`clientgo.testing.FakeClock`) stands in for both, so that a test steps
time instead of sleeping.
"""

import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

SIGNAL_SECONDS = 1.0
"""How long the main thread waits at a stretch; until then a signal that came as it began to wait may go unnoticed."""


class Clock(Protocol):
    """Reads the time and waits for it to pass."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""

    def time(self) -> float:
        """Seconds since the epoch, as other machines would read them."""

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or `now()` reaches `deadline`; wake-ups may be spurious."""

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Let `seconds` pass unless `stop` is set first; return whether it is set."""


class SystemClock:
    """The clock of this machine."""

    # The system's own function, and no method around it: a sync of one object reads the clock some thirty times.
    now = staticmethod(time.monotonic)
    """Monotonic seconds; only differences mean anything."""

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or `now()` reaches `deadline`."""
        attentive(condition.wait, None if deadline is None else deadline - self.now())

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Let `seconds` pass unless `stop` is set first; return whether it is set."""
        return attentive(stop.wait, seconds)


def attentive(wait: Callable[[float | None], bool], seconds: float | None) -> bool:
    """`wait(seconds)`, in which the main thread still notices signals; what that gives: whether it came to an end.

    A signal that comes when the main thread has made up its mind to wait for a lock, and does not wait yet, interrupts
    nothing, and Python runs its handler only after the wait: Ctrl-C or a SIGTERM would be lost. So that thread looks up
    every `SIGNAL_SECONDS`.
    """
    if threading.current_thread() is not threading.main_thread():
        return wait(None if seconds is None else _waitable(seconds))
    end = math.inf if seconds is None else SYSTEM_CLOCK.now() + seconds
    while (left := end - SYSTEM_CLOCK.now()) > SIGNAL_SECONDS:
        if wait(SIGNAL_SECONDS):
            return True
    return wait(max(0.0, left))


def _waitable(seconds: float) -> float:
    # Python refuses to wait longer than TIMEOUT_MAX (some 292 years); an infinite delay would. Waking early is allowed.
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


SYSTEM_CLOCK = SystemClock()


def utc(clock: Clock) -> datetime:
    """The clock's time as an aware UTC datetime."""
    return datetime.fromtimestamp(clock.time(), UTC)
