"""Scheduler by a clock that a test steps: what the server does later happens when that time has come on the clock.

`advance` steps a clock from one due time to the next, and waits for what that causes: a day of CronJobs, leases and
timeouts passes as fast as the server works. Timeouts of connections stay those of the machine.
"""

import asyncio
import heapq
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Protocol, cast

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.stop.lifecycle import Group
from clientgo_apiserver.api.limits import LOOP_SECONDS


class SteppedClock(Clock, Protocol):
    """Clock whose time a test advances, such as `clientgo.testing.FakeClock`."""

    def step(self, seconds: float) -> None:
        """Advance the time by `seconds`."""


class Timer:
    """Call that has not run yet, unless it was cancelled."""

    __slots__ = ("args", "callback")

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def cancel(self) -> None:
        """Cancel the call; a call that has run is ignored."""
        self.callback = None

    def run(self) -> None:
        """Run the call, unless it has run or was cancelled."""
        callback, self.callback = self.callback, None
        if callback is not None:
            callback(*self.args)


class Timers:
    """Calls by the time of `clock` at which they are due; not thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._order = count()
        self._heap: list[tuple[float, int, Timer]] = []

    def add(self, delay: float, callback: Callable[..., object], args: tuple[object, ...]) -> Timer:
        """Add a call that is due in `delay` seconds."""
        timer = Timer(callback, args)
        heapq.heappush(self._heap, (self._clock.now() + delay, next(self._order), timer))
        return timer

    def is_first(self, timer: Timer) -> bool:
        """Return whether no call is due before this one."""
        return self._heap[0][2] is timer

    def next_due(self) -> float | None:
        """Return the time of the first call that is not cancelled, or None."""
        while self._heap and self._heap[0][2].callback is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self) -> Timer | None:
        """Remove and return the first call, or return None if its time has not come."""
        due = self.next_due()
        return heapq.heappop(self._heap)[2] if due is not None and due <= self._clock.now() else None


class ClockScheduler:
    """Scheduler of a server on an event loop, whose delays are those of `clock`.

    A thread of `group` waits on the clock, so that stepping it is enough. During `advance` it rests: to wake it at each
    step would take longer than most steps.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, group: Group) -> None:
        self._loop = loop
        self._clock = clock
        self._stop = group.stop_event
        self._soon = 0
        self._ready: deque[Timer] = deque()  # calls that `advance` runs itself: turns of the loop take longer
        self._yielded = 0.0
        self._changed = threading.Condition()
        self._timers = Timers(clock)  # guarded by _changed
        self._advancing = 0  # calls of `advance`; guarded by _changed
        group.start(self._watch, name="apiserver-clock")

    def call_soon(self, callback: Callable[..., object], *args: object) -> Timer:
        """Run a callback after the current one."""
        timer = Timer(callback, args)
        if self._advancing:
            self._ready.append(timer)
        else:
            self._soon += 1
            self._loop.call_soon(self._run_soon, timer)
        return timer

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Timer:
        """Run a callback once the clock has advanced by `delay` seconds."""
        with self._changed:
            timer = self._timers.add(delay, callback, args)
            if self._timers.is_first(timer) and not self._advancing:  # else the thread wakes early enough
                self._changed.notify()
        return timer

    def next_due(self) -> float | None:
        """Return the time of the first call that is not cancelled, or None."""
        with self._changed:
            return self._timers.next_due()

    async def settle(self) -> None:
        """Run everything that is due, including what that makes due."""
        while True:
            self._run_due()
            await self._run_ready()
            if not self._is_due():
                if not self._soon:
                    return
                await asyncio.sleep(0)

    async def _run_ready(self) -> None:
        """Run what runs soon; other tasks of the loop run now and then."""
        while self._ready:
            self._ready.popleft().run()
            if SYSTEM_CLOCK.now() - self._yielded > LOOP_SECONDS:
                await asyncio.sleep(0)
                self._yielded = SYSTEM_CLOCK.now()

    def advance(self, seconds: float) -> None:
        """Step the clock by `seconds`, from each due time to the next, and run what is due at each; not on the loop."""
        asyncio.run_coroutine_threadsafe(self._advance(seconds), self._loop).result()

    async def _advance(self, seconds: float) -> None:
        clock = cast(SteppedClock, self._clock)
        end = clock.now() + seconds
        self._rest(1)
        try:
            await self.settle()
            while (due := self.next_due()) is not None and due <= end:
                clock.step(max(0.0, due - clock.now()))
                await self.settle()
            clock.step(max(0.0, end - clock.now()))
            await self.settle()
        finally:
            self._rest(-1)
            while self._ready:  # after an error
                self.call_soon(self._ready.popleft().run)

    def _rest(self, calls: int) -> None:
        """Add to the calls of `advance` during which the thread rests."""
        with self._changed:
            self._advancing += calls
            self._changed.notify()

    def wake(self) -> None:
        """Have the thread look at the stop event."""
        with self._changed:
            self._changed.notify()

    def _run_soon(self, timer: Timer) -> None:
        self._soon -= 1
        timer.run()

    def _is_due(self) -> bool:
        due = self.next_due()
        return due is not None and due <= self._clock.now()

    def _run_due(self) -> None:
        while (timer := self._pop_due()) is not None:
            timer.run()

    def _pop_due(self) -> Timer | None:
        with self._changed:
            return self._timers.pop_due()

    def _watch(self) -> None:
        while not self._stop.is_set():
            with self._changed:
                while self._advancing and not self._stop.is_set():
                    self._changed.wait()
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
