"""Scheduler by a clock that a test steps: what the server does later happens when that time has come on the clock.

`advance` steps a clock from one due time to the next, and waits for what that causes: a day of CronJobs, leases and
timeouts passes as fast as the server works. Timeouts of connections stay those of the machine.
"""

import asyncio
import heapq
import threading
from collections.abc import Callable
from itertools import count
from typing import Protocol, cast

from clientgo.clock import Clock
from clientgo.lifecycle import Group


class SteppedClock(Clock, Protocol):
    """Clock whose time a test advances, such as `clientgo.testing.FakeClock`."""

    def step(self, seconds: float) -> None:
        """Advance the time by `seconds`."""


class _Timer:
    __slots__ = ("args", "callback")

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def cancel(self) -> None:
        """Cancel the call; a call that has run is ignored."""
        self.callback = None

    def run(self) -> None:
        callback, self.callback = self.callback, None
        if callback is not None:
            callback(*self.args)


class ClockScheduler:
    """Scheduler of a server on an event loop, whose delays are those of `clock`.

    A thread of `group` waits on the clock, so that stepping it is enough; `advance` does not depend on that thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, group: Group) -> None:
        self._loop = loop
        self._clock = clock
        self._stop = group.stop_event
        self._order = count()
        self._soon = 0
        self._changed = threading.Condition()
        self._timers: list[tuple[float, int, _Timer]] = []  # guarded by _changed
        group.start(self._watch, name="apiserver-clock")

    def call_soon(self, callback: Callable[..., object], *args: object) -> _Timer:
        """Run a callback after the current one."""
        timer = _Timer(callback, args)
        self._soon += 1
        self._loop.call_soon(self._run_soon, timer)
        return timer

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> _Timer:
        """Run a callback once the clock has advanced by `delay` seconds."""
        timer = _Timer(callback, args)
        with self._changed:
            heapq.heappush(self._timers, (self._clock.now() + delay, next(self._order), timer))
            if self._timers[0][2] is timer:
                self._changed.notify()
        return timer

    def next_due(self) -> float | None:
        """Return the time of the first call that is not cancelled, or None."""
        with self._changed:
            while self._timers and self._timers[0][2].callback is None:
                heapq.heappop(self._timers)
            return self._timers[0][0] if self._timers else None

    async def settle(self) -> None:
        """Run everything that is due, including what that makes due."""
        while True:
            self._run_due()
            if not self._soon and not self._is_due():
                return
            await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Step the clock by `seconds`, from each due time to the next, and run what is due at each; not on the loop."""
        clock = cast(SteppedClock, self._clock)
        end = clock.now() + seconds
        self._settle_on_loop()
        while (due := self.next_due()) is not None and due <= end:
            clock.step(max(0.0, due - clock.now()))
            self._settle_on_loop()
        clock.step(max(0.0, end - clock.now()))
        self._settle_on_loop()

    def wake(self) -> None:
        """Have the thread look at the stop event."""
        with self._changed:
            self._changed.notify()

    def _settle_on_loop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.settle(), self._loop).result()

    def _run_soon(self, timer: _Timer) -> None:
        self._soon -= 1
        timer.run()

    def _is_due(self) -> bool:
        due = self.next_due()
        return due is not None and due <= self._clock.now()

    def _run_due(self) -> None:
        while self._is_due():
            with self._changed:
                timer = heapq.heappop(self._timers)[2]
            timer.run()

    def _watch(self) -> None:
        while not self._stop.is_set():
            due = self.next_due()
            with self._changed:
                if not self._stop.is_set() and (due is None or due > self._clock.now()):
                    self._clock.wait(self._changed, due)
            if self._is_due() and not self._loop.is_closed():
                done = threading.Event()
                self._loop.call_soon_threadsafe(self._run_due_and_report, done)
                done.wait(1.0)

    def _run_due_and_report(self, done: threading.Event) -> None:
        try:
            self._run_due()
        finally:
            done.set()
