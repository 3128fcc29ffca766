"""Clocks of a perturbed operator: the world's time, which only the engine steps, and one clock for each start.

An operator that has crashed must not go on, and cannot be shut down: each wait of its clock raises `Crashed`.
"""

import threading
from dataclasses import dataclass

from clientgo.perturb.programs.waits import wait_reported

EPOCH = 1_700_000_000.0
"""Seconds since the epoch at which a run starts, so that equal runs write equal times."""


class Crashed(BaseException):
    """The operator has crashed; not an Exception, so that no `except Exception` of it handles the crash."""


class WorldTime:
    """Time of the server and of all operators: stands still until the engine steps it."""

    def __init__(self, epoch: float = EPOCH) -> None:
        self._epoch = epoch
        self._now = 0.0

    def now(self) -> float:
        """Return the seconds since the start of the run."""
        return self._now

    def time(self) -> float:
        """Return seconds since the epoch."""
        return self._epoch + self._now

    def step(self, seconds: float) -> None:
        """Advance the time; the engine wakes who waits for it."""
        self._now += seconds

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Raise, because the server waits for nothing."""
        raise AssertionError("a server in memory does not wait")

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Raise, because the server waits for nothing."""
        raise AssertionError("a server in memory does not sleep")

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Raise, because the server waits for nothing."""
        raise AssertionError("a server in memory does not wait")

    def poll(self, stop: threading.Event, seconds: float) -> bool:
        """Raise, because the server waits for nothing."""
        raise AssertionError("a server in memory does not poll")


@dataclass(eq=False, slots=True)
class _Waiter:
    condition: threading.Condition
    deadline: float | None
    event: threading.Event | None = None

    def wake(self) -> None:
        with self.condition:
            self.condition.notify_all()


class OperatorClock:
    """Clock of one start of the operator: a `clientgo.clock.Clock` whose waits the engine ends; thread-safe."""

    def __init__(self, world: WorldTime) -> None:
        self._world = world
        self._dead = False
        # Changed by single operations of a dict, which are atomic.
        self._waiters: dict[_Waiter, None] = {}

    def now(self) -> float:
        """Return the seconds since the start of the run."""
        return self._world.now()

    def time(self) -> float:
        """Return seconds since the epoch."""
        return self._world.time()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Wait, holding `condition`, until it is notified or the time reaches `deadline`."""
        self._wait(_Waiter(condition, deadline))

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds`, or until `stop` is set; return True if it is set."""
        deadline, condition = self.now() + seconds, threading.Condition()
        with condition:
            while not stop.is_set() and self.now() < deadline:
                self._wait(_Waiter(condition, deadline, stop))
        return stop.is_set()

    def wait_for(self, done: threading.Event, limit: float) -> bool:
        """Wait until `done` is set, at most `limit` seconds; return True if it is set."""
        return self.sleep(done, limit)

    def poll(self, stop: threading.Event, seconds: float) -> bool:
        """Wait `seconds`, or until `stop` is set; return True if it is set."""
        return self.sleep(stop, seconds)

    def next_due(self) -> float | None:
        """Return the earliest deadline of a wait, or None."""
        return min((w.deadline for w in list(self._waiters) if w.deadline is not None), default=None)

    def wake_due(self) -> bool:
        """Wake the waits that are over by their deadline or event; return whether there were any."""
        now = self.now()
        due = [
            waiter
            for waiter in list(self._waiters)
            if (waiter.deadline is not None and waiter.deadline <= now)
            or (waiter.event is not None and waiter.event.is_set())
        ]
        for waiter in due:
            self._waiters.pop(waiter, None)  # woken once: its thread may run later
            waiter.wake()
        return bool(due)

    def kill(self) -> None:
        """End all waits, now and later, with `Crashed`."""
        self._dead = True
        for waiter in list(self._waiters):
            waiter.wake()

    def _wait(self, waiter: _Waiter) -> None:
        self._waiters[waiter] = None
        try:
            if not self._dead and (waiter.deadline is None or waiter.deadline > self.now()):
                wait_reported(waiter.condition)
        finally:
            self._waiters.pop(waiter, None)
        if self._dead:
            raise Crashed
