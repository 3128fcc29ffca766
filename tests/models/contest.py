"""Model of an election: candidates over a lease, on a stepped clock."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from tests.models.copies import Copies
from tests.models.locks import Clock, Event
from tests.models.schedules import Scheduler

ELECTION = [
    "clientgo.stop.stopping",
    "clientgo.stop.lifecycle",
    "clientgo.leaderelection.record",
    "clientgo.leaderelection.candidate",
    "clientgo.leaderelection.bounded",
    "clientgo.leaderelection.reporter",
    "clientgo.leaderelection.elector",
]


LASTS = 60.0
"""Seconds that the electors stand for election."""


class SkewedClock(Clock):
    """Clock of one machine: its own start and date, the common seconds."""

    def __init__(self, began: float, date: float) -> None:
        super().__init__()
        self._began, self._date = began, date

    def now(self) -> float:
        return super().now() + self._began

    def time(self) -> float:
        return super().time() + self._date

    def wait(self, condition: Any, deadline: float | None) -> None:
        super().wait(condition, None if deadline is None else deadline - self._began)


class Contest:
    """Electors for one lease, and the check that at most one may work."""

    def __init__(
        self, code: Copies, locks: Sequence[Any], skews: Sequence[tuple[float, float]], now: Callable[[], float]
    ) -> None:
        self.led = 0
        self._code, self._now, self._stop = code, now, Event()
        self.electors: list[Any] = [
            code.elector.LeaderElector(
                lock,
                on_started_leading=self.work,
                on_stopped_leading=lambda: None,
                lease_duration=10.0,
                renew_deadline=8.0,
                retry_period=2.0,
                clock=SkewedClock(*skew),
                rand=lambda: 0.5,
            )
            for lock, skew in zip(locks, skews, strict=True)
        ]

    def at_most_one(self) -> None:
        # Between two operations on locks nothing else runs and no time passes: this is one moment.
        assert sum(elector.may_work() for elector in self.electors) <= 1, "two may work"

    def work(self, ended: Event) -> None:
        self.led += 1
        while not ended.wait(0.9):
            self.at_most_one()

    def stand(self, elector: Any) -> None:
        while not self._stop.is_set():
            # Work suspended for longer than its lease is reported as late, and could not continue.
            with suppress(self._code.lifecycle.StillRunning):
                elector.run(_Part(self._stop, self._now() + 25.0))

    def watch(self) -> None:
        while self._now() < LASTS:
            Event().wait(0.7)
            self.at_most_one()
        self._stop.set()

    def spawn(self, scheduler: Scheduler) -> None:
        """Start the electors and the check."""
        for number, elector in enumerate(self.electors):
            scheduler.spawn(partial(self.stand, elector), f"elector{number}")
        scheduler.spawn(self.watch, "watcher")


class _Part(Event):
    """Event that is set after a time: the leader stops, and others follow."""

    def __init__(self, stop: Event, until: float) -> None:
        super().__init__()
        self._stop, self._until = stop, until

    def is_set(self) -> bool:
        return super().is_set() or self._stop.is_set() or self._scheduler.now >= self._until

    def wait(self, timeout: float | None = None) -> bool:
        remaining = max(self._until - self._scheduler.now, 0.0)
        return self._stop.wait(remaining if timeout is None else min(timeout, remaining)) or self.is_set()
