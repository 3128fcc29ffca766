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
        """Wait, holding `condition`, until it is notified or `now()` reaches `deadline`.

        It may return earlier, and does not say why it returned: the caller checks its predicate again, in a loop.
        """

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Let `seconds` pass unless `stop` is set first; return whether it is set."""

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Wait until `done` is set, `limit` seconds at most; return whether it is set.

        For limits on the work of other threads. A fake clock that moves by itself does so for `sleep`, but not for a
        limit: the others would never be in time.
        """


class SystemClock:
    """The clock of this machine."""

    # The system's own function, and no method around it: a sync of one object reads the clock some thirty times.
    now = staticmethod(time.monotonic)
    """Monotonic seconds; only differences mean anything."""

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or `now()` reaches `deadline`, or for no reason at all."""
        condition.wait(None if deadline is None else waitable(deadline - self.now()))

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Let `seconds` pass unless `stop` is set first; return whether it is set."""
        return stop.wait(waitable(seconds))

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Wait until `done` is set, `limit` seconds at most; return whether it is set."""
        return self.sleep(done, limit)


def waitable(seconds: float) -> float:
    """Return `seconds` limited to what a lock accepts: 0 to `threading.TIMEOUT_MAX` (292 years)."""
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


SYSTEM_CLOCK = SystemClock()


def utc(clock: Clock) -> datetime:
    """The clock's time as an aware UTC datetime."""
    return datetime.fromtimestamp(clock.time(), UTC)
