"""Clock: the only access to time; everything that waits for a time or reads it takes a `Clock`.

`now()` is monotonic seconds, for delays and deadlines; `time()` is seconds since the epoch, for timestamps in objects.
A fake clock (`clientgo.testing.FakeClock`) replaces both, so that a test steps the time instead of sleeping.
"""

import threading
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of time, and of waits that a fake clock can step."""

    def now(self) -> float:
        """Return monotonic seconds; only differences are meaningful."""

    def time(self) -> float:
        """Return seconds since the epoch."""

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or `now()` reaches `deadline`.

        It may return earlier, so the caller checks its predicate in a loop.
        """

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds`, or until `stop` is set; return True if it is set."""

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Wait until `done` is set, at most `limit` seconds; return True if it is set.

        For timeouts on the work of other threads. A fake clock that advances by itself does so in `sleep`, but not
        here: the other threads would always time out.
        """

    def poll(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds` between two looks at what others do, or until `stop` is set; return True if it is set.

        A fake clock returns without a step: what it waits for does not depend on the time.
        """


class SystemClock:
    """Clock of the operating system."""

    # The function itself without a method around it: a reconciliation reads the clock some thirty times.
    now = staticmethod(time.monotonic)
    """Return monotonic seconds; only differences are meaningful."""

    def time(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or `now()` reaches `deadline`; may return earlier."""
        condition.wait(None if deadline is None else waitable(deadline - self.now()))

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds`, or until `stop` is set; return True if it is set."""
        return stop.wait(waitable(seconds))

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Wait until `done` is set, at most `limit` seconds; return True if it is set."""
        return self.sleep(done, limit)

    def poll(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds`, or until `stop` is set; return True if it is set."""
        return self.sleep(stop, seconds)


def waitable(seconds: float) -> float:
    """Return `seconds` limited to what a lock accepts: 0 to `threading.TIMEOUT_MAX` (292 years)."""
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


SYSTEM_CLOCK = SystemClock()


def utc(clock: Clock) -> datetime:
    """Return the clock's time as an aware UTC datetime."""
    return datetime.fromtimestamp(clock.time(), UTC)
