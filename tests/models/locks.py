"""Replacement of `threading` for code under a scheduler: each operation is a possible thread switch.

It follows CPython where it matters: conditions wake in the order of waiting, a woken thread has to acquire the lock
again and others may be faster, and one that has timed out may still consume a notification until it runs.
"""

import types
from collections.abc import Callable, Iterable
from typing import Any

from tests.models.schedules import Scheduler, Task, scheduler


class Lock:
    """Replacement of `threading.Lock`."""

    def __init__(self) -> None:
        self._scheduler = scheduler()
        self._held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._scheduler.pause()
        if self._held and blocking:
            self._scheduler.block(lambda: not self._held, "a lock", None)
        if self._held and not self._scheduler.abandoned:
            return False
        self._held = True
        return True

    def release(self) -> None:
        self._held = False

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Condition:
    """Replacement of `threading.Condition` over a plain lock."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._scheduler = scheduler()
        self._lock = lock if lock is not None else Lock()
        self._waiters: list[list[bool]] = []

    def __enter__(self) -> bool:
        return self._lock.__enter__()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        assert self._lock.locked() or self._scheduler.abandoned, "waiting needs the lock"
        notified = [False]
        self._waiters.append(notified)
        deadline = None if timeout is None else self._scheduler.now + max(timeout, 0.0)
        self._lock.release()
        try:
            self._scheduler.block(lambda: notified[0], "a notification", deadline)
        finally:
            if not notified[0] and notified in self._waiters:
                self._waiters = [each for each in self._waiters if each is not notified]
            self._take_back()
        return notified[0]

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        deadline = None if timeout is None else self._scheduler.now + timeout
        while not predicate():
            if deadline is not None and self._scheduler.now >= deadline:
                return False
            self.wait(None if deadline is None else deadline - self._scheduler.now)
        return True

    def notify(self, n: int = 1) -> None:
        assert self._lock.locked() or self._scheduler.abandoned, "notifying needs the lock"
        for waiter in self._waiters[:n]:
            waiter[0] = True
        self._waiters = self._waiters[n:]

    def notify_all(self) -> None:
        self.notify(len(self._waiters))

    def _take_back(self) -> None:
        if self._lock.locked():
            self._scheduler.block(lambda: not self._lock.locked(), "a lock, after a wait", None)
        self._lock._held = True


class Event:
    """Replacement of `threading.Event`."""

    def __init__(self) -> None:
        self._scheduler = scheduler()
        self._flag = False

    def is_set(self) -> bool:
        self._scheduler.pause()
        return self._flag

    def set(self) -> None:
        self._scheduler.pause()
        self._flag = True

    def clear(self) -> None:
        self._scheduler.pause()
        self._flag = False

    def wait(self, timeout: float | None = None) -> bool:
        deadline = None if timeout is None else self._scheduler.now + max(timeout, 0.0)
        self._scheduler.block(lambda: self._flag, "an event", deadline)
        return self._flag


class Thread:
    """Replacement of `threading.Thread`, as far as `lifecycle` uses it."""

    def __init__(
        self, target: Callable[..., object], args: Iterable[Any] = (), name: str = "thread", daemon: bool = True
    ) -> None:
        self.name = name
        self.daemon = daemon
        self._scheduler = scheduler()
        self._body = lambda: target(*args)
        self.task: Task | None = None

    def start(self) -> None:
        self.task = self._scheduler.spawn(self._body, self.name)
        self._scheduler.pause()

    def is_alive(self) -> bool:
        return self.task is not None and not self.task.ended

    def join(self, timeout: float | None = None) -> None:
        deadline = None if timeout is None else self._scheduler.now + max(timeout, 0.0)
        self._scheduler.block(lambda: not self.is_alive(), f"the end of {self.name}", deadline)


class Clock:
    """Replacement of `clientgo.clock.Clock` with the scheduler's time."""

    def __init__(self) -> None:
        self._scheduler: Scheduler = scheduler()

    def now(self) -> float:
        return self._scheduler.now

    def time(self) -> float:
        return 1_700_000_000.0 + self._scheduler.now

    def wait(self, condition: Condition, deadline: float | None) -> None:
        condition.wait(None if deadline is None else deadline - self._scheduler.now)

    def sleep(self, stop: Event, seconds: float) -> bool:
        return stop.wait(seconds)

    def wait_for(self, done: Event, limit: float) -> bool:
        return done.wait(limit)

    def poll(self, stop: Event, seconds: float) -> bool:
        return stop.wait(seconds)


def _current_thread() -> object:
    return scheduler().current


def _get_ident() -> int:
    return id(scheduler().current)


threading = types.ModuleType("threading")
"""What `import threading` gives to modules loaded by `tests.models.copies`."""
vars(threading).update(
    Lock=Lock,
    Condition=Condition,
    Event=Event,
    Thread=Thread,
    TIMEOUT_MAX=1e9,
    current_thread=_current_thread,
    get_ident=_get_ident,
    local=types.SimpleNamespace,  # the threads of a model have no resources of their own
)
