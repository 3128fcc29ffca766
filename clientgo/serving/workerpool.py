"""Worker threads of a server, started if there is work and none is idle; they end once they have been idle."""

import threading
from collections import deque
from collections.abc import Callable

from clientgo.clock import Clock
from clientgo.stop.lifecycle import Group

IDLE_SECONDS = 5.0
"""Seconds without work after which a thread ends."""

_Task = Callable[[], object]


class WorkerPool:
    """Threads of a group that make calls. The caller bounds the number of calls, and with it that of the threads."""

    def __init__(self, group: Group, name: str, clock: Clock) -> None:
        self._group = group
        self._name = name
        self._clock = clock
        self._changed = threading.Condition()
        # Guarded by _changed.
        self._calls: deque[_Task] = deque()
        self._idle = 0  # threads that wait, and have not been given a call
        self._closed = False
        self._count = 0

    def __repr__(self) -> str:
        return f"<WorkerPool {self._name}, {self._idle} idle>"

    def submit(self, call: _Task) -> None:
        """Make the call in a thread; raise RuntimeError if none can be started."""
        with self._changed:
            if self._idle:
                self._idle -= 1
                self._calls.append(call)
                self._changed.notify()
                return
            self._count += 1
        self._group.start(self._work, call, name=f"{self._name}-{self._count}")

    def close(self) -> None:
        """End the idle threads, and the others after their call."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _work(self, call: _Task | None) -> None:
        while call is not None:
            call()
            call = self._next()

    def _next(self) -> _Task | None:
        deadline = self._clock.now() + IDLE_SECONDS
        with self._changed:
            self._idle += 1
            # Each call in the queue has a thread that was idle: which one takes it does not matter.
            while not self._calls and not self._closed and self._clock.now() < deadline:
                self._clock.wait(self._changed, deadline)
            if self._calls:
                return self._calls.popleft()
            self._idle -= 1
            return None
