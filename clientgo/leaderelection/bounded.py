"""A lock whose calls end in time.

A leader that waits for a dead connection has to step down before its lease expires elsewhere, but a request under way
can't be broken off. So every call runs on a thread of its own, and whoever made it stops waiting when its time is over.
A call that was given up may still reach the server, at any time. So it is made by a copy of the lock, which takes the
lock's place only if it was waited for: what the call reads later is not taken for what this candidate has decided upon,
and what it writes later replaces only the record that it was meant to replace.
"""

import math
import threading
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from clientgo.clock import Clock
from clientgo.errors import ClientGoError
from clientgo.leaderelection.lock import Lock
from clientgo.leaderelection.record import LeaderElectionRecord
from clientgo.lifecycle import Group

R = TypeVar("R")

LOOK_AT_STOP = 0.05
"""Seconds between looks at the stop event during a call: nothing can wait for an event and a condition at once."""


class CallGivenUp(ClientGoError):
    """A call to the lock was not waited for any longer; it may still take effect."""


class CallStopped(CallGivenUp):
    """A call to the lock that was given up because the candidate shuts down; nothing is wrong with the lock."""


class BoundedLock:
    """`lock`, each of whose calls raises `CallGivenUp` after `longest` seconds or at a limit. Implements `Lock`.

    `limit` says when for the calls that follow. Used by one thread.
    """

    def __init__(self, lock: Lock, *, longest: float, clock: Clock) -> None:
        self._lock = lock
        self._longest = longest
        self._clock = clock
        self._deadline = math.inf
        self._stop = threading.Event()
        self._group = Group(clock=clock)

    def __repr__(self) -> str:
        return f"<BoundedLock {self._lock.describe()}, {len(self.under_way())} calls>"

    def limit(self, deadline: float, stop: threading.Event | None = None) -> None:
        """Let calls from now on end by `deadline` (monotonic seconds), and as soon as `stop` is set if one is given."""
        self._deadline = deadline
        self._stop = stop if stop is not None else threading.Event()

    def under_way(self) -> list[str]:
        """The threads of calls that have not ended, those that were given up included."""
        return self._group.alive()

    @property
    def identity(self) -> str:
        """Who this candidate is."""
        return self._lock.identity

    def get(self) -> LeaderElectionRecord:
        """The record as it is."""
        return self._call("get", lambda lock: lock.get())

    def create(self, record: LeaderElectionRecord) -> None:
        """Keep the first record."""
        self._call("create", lambda lock: lock.create(record))

    def update(self, record: LeaderElectionRecord) -> None:
        """Replace the record as it was last read or written."""
        self._call("update", lambda lock: lock.update(record))

    def record_event(self, message: str) -> None:
        """Let people see that something happened; not bounded, because it never waits."""
        self._lock.record_event(message)

    def describe(self) -> str:
        """What the lock is called in logs."""
        return self._lock.describe()

    def fork(self) -> "BoundedLock":
        """Another that has read the same, without a limit."""
        return BoundedLock(self._lock.fork(), longest=self._longest, clock=self._clock)

    def _call(self, what: str, call: Callable[[Lock], R]) -> R:
        lock = self._lock.fork()
        made, now = _Call(lambda: call(lock)), self._clock.now()
        deadline = min(self._deadline, now + self._longest)
        if self._stop.is_set():
            raise CallStopped(f"shutting down; did not {what} lease {self.describe()}")
        if now >= deadline:
            raise CallGivenUp(f"no time is left to {what} lease {self.describe()}")
        self._group.start(made.run, name=f"lease-{what}-{self.describe()}")
        with made.changed:
            while not made.ended:
                now = self._clock.now()
                if self._stop.is_set():
                    raise CallStopped(f"shutting down; gave up to {what} lease {self.describe()}")
                if now >= deadline:
                    raise CallGivenUp(f"{what} of lease {self.describe()} did not end in time")
                self._clock.wait(made.changed, min(deadline, now + LOOK_AT_STOP))
        answer = made.result()
        self._lock = lock
        return answer


class _Call(Generic[R]):
    def __init__(self, call: Callable[[], R]) -> None:
        self._call = call
        self._answer: R | None = None
        self._error: BaseException | None = None
        self.changed = threading.Condition()
        self.ended = False

    def run(self) -> None:
        try:
            self._answer = self._call()
        # Nothing is lost: `result` raises it in the thread that waits.
        except BaseException as error:  # noqa: BLE001
            self._error = error
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def result(self) -> R:
        if self._error is not None:
            raise self._error
        return cast(R, self._answer)
