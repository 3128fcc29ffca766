"""The one door to time: everything that waits or reads a clock takes a `Clock`.

Two scales are kept apart. `now()` is monotonic seconds, for delays and deadlines; `time()` is seconds since the epoch,
for what is written into objects. A fake clock (`clientgo.testing.FakeClock`) stands in for both, so that a test steps
time instead of sleeping.
"""

import threading
import time
from datetime import UTC, datetime
from typing import Protocol


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
        condition.wait(None if deadline is None else _waitable(deadline - self.now()))

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Let `seconds` pass unless `stop` is set first; return whether it is set."""
        return stop.wait(_waitable(seconds))


def _waitable(seconds: float) -> float:
    # Python refuses to wait longer than TIMEOUT_MAX (some 292 years); an infinite delay would. Waking early is allowed.
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


SYSTEM_CLOCK = SystemClock()


def utc(clock: Clock) -> datetime:
    """The clock's time as an aware UTC datetime."""
    return datetime.fromtimestamp(clock.time(), UTC)
