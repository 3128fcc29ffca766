"""Fake clock that stands still until a test steps it.

Tests of delays neither sleep nor poll: they start their threads, wait until these block (`wait_for_waiters`), and
`step` the time. A single-threaded test uses `FakeClock(auto=True)`, in which each wait advances the time to its
deadline; `wait_for`, a timeout on other threads, does not.

Lock order: a waiter holds its condition and then takes the clock's lock; `step` releases the clock's lock before it
takes any condition. So no deadlock is possible.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

_LOOK_AT_EVENTS = 0.002
"""Real seconds between checks of the event that may end a `sleep`."""


class ClockWaitTimeout(AssertionError):
    """Fewer threads than expected blocked on the clock within the (real) timeout."""


@dataclass(eq=False, slots=True)
class _Waiter:
    condition: threading.Condition
    deadline: float | None


class FakeClock:
    """A `clientgo.clock.Clock` whose time advances only by `step` and, with `auto`, by waits; thread-safe."""

    def __init__(self, *, time: float = 1_700_000_000.0, now: float = 0.0, auto: bool = False) -> None:
        # Floats, as in the deadlines of callers: `step(d)` reaches a deadline of `now() + d` exactly. Whole
        # nanoseconds would round the two differently.
        self._now = now
        self._time = time
        self._auto = auto
        self._changed = threading.Condition()
        # Every thread inside `wait` that `step` has not yet released.
        self._waiters: list[_Waiter] = []
        self.slept: list[float] = []
        """The seconds of every `sleep` so far, in order."""

    def __repr__(self) -> str:
        return f"<FakeClock {self.now()} s, {self.waiters()} waiting>"

    def now(self) -> float:
        """Monotonic seconds; `step` and, with `auto`, waits change them."""
        return self._now

    def time(self) -> float:
        """Seconds since the epoch; what changes `now()` changes them, and so does `set_time`."""
        return self._time

    def set_time(self, seconds: float) -> None:
        """Set the seconds since the epoch, as a clock correction does; `now()` does not change."""
        with self._changed:
            self._time = seconds

    def step(self, seconds: float) -> None:
        """Advance the time by `seconds` and release every waiter whose deadline is reached.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"cannot step the time by {seconds} s: expected a positive number")
        with self._changed:
            self._now += seconds
            self._time += seconds
            due = [w for w in self._waiters if w.deadline is not None and w.deadline <= self._now]
            # Removed here and not by the waiters, so that `waiters` is right as soon as `step` returns.
            self._waiters = [w for w in self._waiters if w not in due]
        for waiter in due:
            with waiter.condition:
                waiter.condition.notify_all()

    def waiters(self) -> int:
        """Return the number of threads blocked on the clock.

        A thread woken by anything but `step` counts until it has run.
        """
        return len(self._waiters)

    def wait_for_waiters(self, count: int = 1, *, timeout: float = 10.0) -> None:
        """Wait until at least `count` threads are blocked on the clock.

        Raises:
            ClockWaitTimeout: fewer are blocked after `timeout` seconds of real time.
        """
        self._wait_until(lambda: len(self._waiters), count, "threads wait on the clock", timeout)

    def wait_for_sleeps(self, count: int = 1, *, timeout: float = 10.0) -> None:
        """Wait until `sleep` was called at least `count` times in all; stepping then ends those sleeps.

        Raises:
            ClockWaitTimeout: fewer sleeps began after `timeout` seconds of real time.
        """
        self._wait_until(lambda: len(self.slept), count, "sleeps began", timeout)

    def _wait_until(self, number: Callable[[], int], count: int, what: str, timeout: float) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: number() >= count, timeout):
                raise ClockWaitTimeout(f"{number()} of {count} {what} after {timeout} s")

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or the time reaches `deadline`."""
        waiter = _Waiter(condition, deadline)
        with self._changed:
            # Checked and registered under one lock: a step in between would be missed.
            if deadline is not None and self._reached(deadline):
                return
            self._waiters.append(waiter)
            self._changed.notify_all()
        try:
            condition.wait()
        finally:
            with self._changed:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Sleep for `seconds` unless `stop` is set first; return whether it is set."""
        return self._sleep(stop, seconds, self._reached)

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Wait until `done` is set or `limit` seconds pass; return whether it is set.

        The time does not advance by itself, not even with `auto`. Recorded as a sleep in `slept`.
        """
        return self._sleep(done, limit, lambda deadline: deadline <= self._now)

    def poll(self, stop: threading.Event, seconds: float) -> bool:
        """Wait a moment of real time, or with `auto` advance the time by `seconds`; return whether `stop` is set."""
        return self.sleep(stop, seconds) if self._auto else stop.wait(_LOOK_AT_EVENTS)

    def _sleep(self, stop: threading.Event, seconds: float, reached: Callable[[float], bool]) -> bool:
        with self._changed:
            # The deadline is set before another thread can observe the sleep and step over it.
            deadline = self._now + seconds
            waiter = _Waiter(self._changed, deadline)
            self.slept.append(seconds)
            self._waiters.append(waiter)
            self._changed.notify_all()
            while not stop.is_set() and not reached(deadline):
                # Setting an event cannot wake this thread. Waiting on the event's own condition could, but then a
                # step would wake every thread that waits for the event, as if it were set.
                self._changed.wait(_LOOK_AT_EVENTS)
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        return stop.is_set()

    def _reached(self, deadline: float) -> bool:
        if self._auto and self._now < deadline < math.inf:
            self._time += deadline - self._now
            self._now = deadline
        return deadline <= self._now
