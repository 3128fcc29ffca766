"""Lock with a time limit for each call.

A leader that waits for a dead connection must step down before its lease expires elsewhere, also if its lock, which may
be a user's, does not return. So each call runs in a thread of its own, and the caller stops waiting when its time is
over. The requests of an abandoned call are ended, but may still take effect at any time. So the call is made by a copy
of the lock, which replaces the lock only if the call was waited for: a late read never changes the state that decisions
rely on, and a late write can replace only the record it was meant to replace.
"""

import math
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from clientgo.clock import Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection.lock import Lock
from clientgo.leaderelection.record import LeaderElectionRecord
from clientgo.stop.lifecycle import Detached, Group
from clientgo.stop.stopping import ends_with, on_stop

R = TypeVar("R")


class CallGivenUp(ClientGoError):
    """A call to the lock was abandoned; it may still take effect."""


class CallStopped(CallGivenUp):
    """A call to the lock was abandoned because the candidate shuts down; the lock itself is healthy."""


class BoundedLock:
    """Lock whose calls raise `CallGivenUp` after `longest` seconds or at the deadline of `limit`. Implements `Lock`.

    For one thread.
    """

    def __init__(self, lock: Lock, *, longest: float, clock: Clock) -> None:
        self._lock = lock
        self._longest = longest
        self._clock = clock
        self._deadline = math.inf
        self._stop: threading.Event | None = None
        self._group = Group(clock=clock)
        self._calls: list[Detached[Any]] = []  # those that had not ended when the last one began, and that one

    def __repr__(self) -> str:
        return f"<BoundedLock {self._lock.describe()}, {len(self.under_way())} calls>"

    def limit(self, deadline: float, stop: threading.Event | None = None) -> None:
        """Set the deadline of later calls, in monotonic seconds, and the event that stops them."""
        self._deadline = deadline
        self._stop = stop

    def under_way(self) -> list[str]:
        """Return the threads of calls that have not ended, including abandoned ones."""
        # Not the threads that are alive: that of an answered call may take a moment to end.
        return [call.name for call in self._calls if not call.ended]

    @property
    def identity(self) -> str:
        """Identity of this candidate."""
        return self._lock.identity

    def get(self) -> LeaderElectionRecord:
        """Return the current record."""
        return self._call("get", lambda lock: lock.get())

    def create(self, record: LeaderElectionRecord) -> None:
        """Create the record."""
        self._call("create", lambda lock: lock.create(record))

    def update(self, record: LeaderElectionRecord) -> None:
        """Replace the record that was last read or written."""
        self._call("update", lambda lock: lock.update(record))

    def record_event(self, message: str) -> None:
        """Record an event; without a time limit, because it never blocks."""
        self._lock.record_event(message)

    def describe(self) -> str:
        """Return the lock's name for logs."""
        return self._lock.describe()

    def fork(self) -> "BoundedLock":
        """Return a copy with the same state and without a deadline."""
        return BoundedLock(self._lock.fork(), longest=self._longest, clock=self._clock)

    def _call(self, verb: str, call: Callable[[Lock], R]) -> R:
        lock, stop, now = self._lock.fork(), self._stop, self._clock.now()
        if stop is not None and stop.is_set():
            raise CallStopped(f"shutting down; did not {verb} lease {self.describe()}")
        remaining = min(self._deadline - now, self._longest)
        if remaining <= 0:
            raise CallGivenUp(f"no time left to {verb} lease {self.describe()}")
        detached = Detached(lambda: call(lock), name=f"lease-{verb}-{self.describe()}", clock=self._clock)
        self._calls = [*(running for running in self._calls if not running.ended), detached]
        self._group.start(detached.run, name=detached.name)
        if not _wait(detached, remaining, stop):
            detached.cancel()
            if stop is not None and stop.is_set():
                raise CallStopped(f"shutting down; abandoned the {verb} of lease {self.describe()}")
            raise CallGivenUp(f"{verb} of lease {self.describe()} did not end in time")
        result = detached.result()
        self._lock = lock
        return result


def _wait(detached: Detached[Any], seconds: float, stop: threading.Event | None) -> bool:
    """Return whether the call ended before `seconds` were over and before the stop."""
    if stop is None:
        return detached.wait(seconds, lambda: False)
    with ends_with(stop), on_stop(detached.wake):
        return detached.wait(seconds, stop.is_set)
