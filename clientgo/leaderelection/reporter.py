"""Tells the program who leads, in order and without making the election wait."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clientgo.clock import Clock
from clientgo.lifecycle import Group

LAST_REPORTS = 5.0
"""Seconds that reports may still take when the election is over."""


class Reporter:
    """Calls `handle` with each new leader's identity, once a change, empty for nobody. Reported to by one thread."""

    def __init__(self, handle: Callable[[str], object] | None, *, name: str, clock: Clock) -> None:
        self._handle = handle
        self._name = name
        self._clock = clock
        self._reported = ""
        # None ends the thread that reads; each block has a queue of its own, so that nothing is left over for the next.
        self._changes: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def __repr__(self) -> str:
        return f"<Reporter of {self._name}, last {self._reported or 'nobody'}>"

    def report(self, identity: str) -> None:
        """Let the program know if that is a change; returns at once."""
        if identity != self._reported:
            self._reported = identity
            if self._handle is not None:
                self._changes.put(identity)

    @contextmanager
    def reporting(self, stop: threading.Event) -> Iterator[None]:
        """Deliver reports inside the block, the last before it ends; what the handler raises sets `stop`.

        Raises:
            StillRunning: the handler did not return within `LAST_REPORTS` seconds after the block.
            BaseException: what the handler raised.
        """
        if self._handle is None:
            yield
            return
        self._changes = queue.SimpleQueue()
        group = Group(stop=stop, clock=self._clock)
        group.start(self._deliver, self._handle, self._changes, name=f"new-leader-{self._name}")
        try:
            yield
        finally:
            self._changes.put(None)
            group.join(LAST_REPORTS)

    def _deliver(self, handle: Callable[[str], object], changes: "queue.SimpleQueue[str | None]") -> None:
        while (identity := changes.get()) is not None:
            handle(identity)
