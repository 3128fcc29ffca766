"""Lock with a time limit for each call.

A leader that waits for a dead connection must step down before its lease expires elsewhere, but a request in progress
cannot be interrupted. So each call runs in a thread of its own, and the caller stops waiting when its time is over. An
abandoned call may still reach the server at any time. It is therefore made by a copy of the lock, which replaces the
lock only if the call was waited for: a late read never changes the state that decisions rely on, and a late write can
replace only the record it was meant to replace.
"""

import math
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from clientgo.clock import Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection.lock import Lock
from clientgo.leaderelection.record import LeaderElectionRecord
from clientgo.lifecycle import Group

R = TypeVar("R")

LOOK_AT_STOP = 0.05
"""Seconds between checks of the stop event during a call: a thread cannot wait for an event and a condition at once."""


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
        self._stop = threading.Event()
        self._group = Group(clock=clock)
        self._calls: list[_Call[Any]] = []  # those that had not ended when the last one began, and that one

    def __repr__(self) -> str:
        return f"<BoundedLock {self._lock.describe()}, {len(self.under_way())} calls>"

    def limit(self, deadline: float, stop: threading.Event | None = None) -> None:
        """Set the deadline of later calls, in monotonic seconds, and the event that stops them."""
        self._deadline = deadline
        self._stop = stop if stop is not None else threading.Event()

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

    def _call(self, what: str, call: Callable[[Lock], R]) -> R:
        lock = self._lock.fork()
        made = _Call(f"lease-{what}-{self.describe()}", lambda: call(lock))
        now = self._clock.now()
        deadline = min(self._deadline, now + self._longest)
        if self._stop.is_set():
            raise CallStopped(f"shutting down; did not {what} lease {self.describe()}")
        if now >= deadline:
            raise CallGivenUp(f"no time left to {what} lease {self.describe()}")
        self._calls = [*(one for one in self._calls if not one.ended), made]
        self._group.start(made.run, name=made.name)
        with made.changed:
            while not made.ended:
                now = self._clock.now()
                if self._stop.is_set():
                    raise CallStopped(f"shutting down; abandoned the {what} of lease {self.describe()}")
                if now >= deadline:
                    raise CallGivenUp(f"{what} of lease {self.describe()} did not end in time")
                self._clock.wait(made.changed, min(deadline, now + LOOK_AT_STOP))
        answer = made.result()
        self._lock = lock
        return answer


class _Call(Generic[R]):
    def __init__(self, name: str, call: Callable[[], R]) -> None:
        self.name = name
        self._call = call
        self._answer: R | None = None
        self._error: BaseException | None = None
        self.changed = threading.Condition()
        self.ended = False

    def run(self) -> None:
        try:
            self._answer = self._call()
        # Not lost: `result` raises it in the waiting thread.
        except BaseException as error:  # noqa: BLE001
            self._error = error
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def result(self) -> R:
        if self._error is not None:
            raise self._error
        return cast(R, self._answer)
