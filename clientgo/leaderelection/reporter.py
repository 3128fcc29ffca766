"""Notifications of leader changes, in order and without delaying the election."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clientgo.clock import Clock
from clientgo.stop.lifecycle import Group

LAST_REPORTS = 5.0
"""Seconds in which pending notifications may still be delivered after the election."""


class Reporter:
    """Calls `handle` with the identity of each new leader, empty for none. One thread reports."""

    def __init__(self, handle: Callable[[str], object] | None, *, name: str, clock: Clock) -> None:
        self._handle = handle
        self._name = name
        self._clock = clock
        self._reported = ""
        # None ends the reading thread; each block has its own queue, so that nothing is left over for the next one.
        self._changes: queue.Queue[str | None] = queue.Queue()

    def __repr__(self) -> str:
        return f"<Reporter of {self._name}, last {self._reported or 'none'}>"

    def report(self, identity: str) -> None:
        """Notify the program if the leader changed; return at once."""
        if identity != self._reported:
            self._reported = identity
            if self._handle is not None:
                self._changes.put(identity)

    @contextmanager
    def reporting(self, stop: threading.Event) -> Iterator[None]:
        """Deliver notifications inside the block, the last one before it ends; an exception of the handler sets `stop`.

        Raises:
            StillRunning: the handler did not return within `LAST_REPORTS` seconds after the block.
            BaseException: the exception of the handler.
        """
        if self._handle is None:
            yield
            return
        self._changes = queue.Queue()
        group = Group(stop=stop, clock=self._clock)
        group.start(self._deliver, self._handle, self._changes, name=f"new-leader-{self._name}")
        try:
            yield
        finally:
            self._changes.put(None)
            group.join(LAST_REPORTS)

    def _deliver(self, handle: Callable[[str], object], changes: "queue.Queue[str | None]") -> None:
        while (identity := changes.get()) is not None:
            handle(identity)
