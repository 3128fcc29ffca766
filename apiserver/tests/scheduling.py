"""Scheduler for servers in process: runs callbacks when told to, by a clock that stands still."""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo_apiserver.state import Handle


@dataclass(slots=True, eq=False)
class _Due:
    callback: Callable[..., object]
    args: tuple[object, ...]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualScheduler:
    """Scheduler that runs callbacks when told to: for servers in process, without a loop."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._soon: deque[_Due] = deque()
        self._later: list[tuple[float, int, _Due]] = []
        self._order = count()

    def call_soon(self, callback: Callable[..., object], *args: object) -> Handle:
        """Run a callback at the next `run`."""
        due = _Due(callback, args)
        self._soon.append(due)
        return due

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Handle:
        """Run a callback at the first `run` that is `delay` seconds later by the clock."""
        due = _Due(callback, args)
        heapq.heappush(self._later, (self._clock.now() + delay, next(self._order), due))
        return due

    def run(self) -> None:
        """Run everything that is due, including what that makes due."""
        while True:
            while self._later and self._later[0][0] <= self._clock.now():
                self._soon.append(heapq.heappop(self._later)[2])
            if not self._soon:
                return
            due = self._soon.popleft()
            if not due.cancelled:
                due.callback(*due.args)
