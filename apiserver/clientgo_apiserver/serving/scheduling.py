"""Scheduler of servers without an event loop: runs callbacks when told to, by any clock."""

from collections import deque
from collections.abc import Callable

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo_apiserver.serving.stepping import Timer, Timers
from clientgo_apiserver.state import Handle


class ManualScheduler:
    """Scheduler that runs callbacks when told to, for servers whose requests are method calls."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._soon: deque[Timer] = deque()
        self._timers = Timers(clock)

    def call_soon(self, callback: Callable[..., object], *args: object) -> Handle:
        """Run a callback at the next `run`."""
        timer = Timer(callback, args)
        self._soon.append(timer)
        return timer

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Handle:
        """Run a callback at the first `run` that is `delay` seconds later by the clock."""
        return self._timers.add(delay, callback, args)

    def next_due(self) -> float | None:
        """Return the time of the first callback that is not cancelled, or None."""
        return self._timers.next_due()

    def run(self) -> None:
        """Run everything that is due, including what that makes due."""
        while True:
            while (timer := self._timers.pop_due()) is not None:
                self._soon.append(timer)
            if not self._soon:
                return
            self._soon.popleft().run()
