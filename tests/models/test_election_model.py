"""Two electors, clocks that disagree, an unreliable lock: never may both work at the same time.

While `tests/leaderelection` tests single steps of candidates, here whole electors run: loops, request threads and work,
under a scheduler that lets time pass anywhere, as if a process was suspended.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clientgo.errors import AlreadyExists, Conflict, ConnectionFailed, NotFound, ServiceUnavailable
from clientgo.leaderelection.record import LeaderElectionRecord
from tests.models.budget import examples
from tests.models.copies import Copies
from tests.models.locks import Clock, Event
from tests.models.schedules import Chance, Failed, Program, Scheduler, execute

ELECTION = [
    "clientgo.stopping",
    "clientgo.lifecycle",
    "clientgo.leaderelection.record",
    "clientgo.leaderelection.candidate",
    "clientgo.leaderelection.bounded",
    "clientgo.leaderelection.reporter",
    "clientgo.leaderelection.elector",
]

RIGHT = Copies(ELECTION)

LASTS = 60.0
"""Seconds that the electors stand for election."""

FAULTS = ["", "", "", "lost", "unanswered", "refused", "slow", "slow there", "slow back"]


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


@dataclass
class Server:
    """One record, and the number of its writes."""

    record: Any = None
    version: int = 0
    faults: list[str] = field(default_factory=list)


class LossyLock:
    """Access of one candidate to the record; requests and responses are delayed or lost."""

    def __init__(self, server: Server, identity: str) -> None:
        self.identity = identity
        self._server = server
        self._seen = 0

    def get(self) -> Any:
        def read() -> Any:
            if self._server.record is None:
                raise NotFound("no lease")
            return self._server.record, self._server.version

        record, self._seen = self._asked(read)
        return record

    def create(self, record: LeaderElectionRecord) -> None:
        def write() -> int:
            if self._server.record is not None:
                raise AlreadyExists("a lease")
            return self._write(record)

        self._seen = self._asked(write)

    def update(self, record: LeaderElectionRecord) -> None:
        seen = self._seen

        def write() -> int:
            if seen != self._server.version:
                raise Conflict("it was changed")
            return self._write(record)

        self._seen = self._asked(write)

    def record_event(self, message: str) -> None:
        """Ignore events."""

    def describe(self) -> str:
        return "ns/lease"

    def fork(self) -> "LossyLock":
        return copy(self)

    def _write(self, record: Any) -> int:
        self._server.record = record
        self._server.version += 1
        return self._server.version

    def _asked(self, act: Callable[[], Any]) -> Any:
        fault = self._server.faults.pop() if self._server.faults else ""
        if fault == "refused":
            raise ServiceUnavailable("later")
        if fault == "lost":
            raise ConnectionFailed("lost on its way there")
        if fault in ("slow", "slow there"):
            Event().wait(2.0)
        answer = act()
        if fault in ("slow", "slow back"):
            Event().wait(2.0)
        if fault == "unanswered":
            raise ConnectionFailed("lost on its way back")
        return answer


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


def program(code: Copies, faults: list[str], skews: list[tuple[float, float]], *, patient: bool) -> Program:
    """Run a contest."""

    def prepare(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = patient
        server = Server(faults=[*faults])
        locks = [LossyLock(server, f"c{number}") for number in range(len(skews))]
        contest = Contest(code, locks, skews, lambda: scheduler.now)
        contest.spawn(scheduler)

        def holds() -> None:
            # Without faults and suspensions there was a leader.
            assert contest.led or faults or not patient

        return holds

    return prepare


class _Part(Event):
    """Event that is set after a time: the leader stops, and others follow."""

    def __init__(self, stop: Event, until: float) -> None:
        super().__init__()
        self._stop, self._until = stop, until

    def is_set(self) -> bool:
        return super().is_set() or self._stop.is_set() or self._scheduler.now >= self._until

    def wait(self, timeout: float | None = None) -> bool:
        left = max(self._until - self._scheduler.now, 0.0)
        return self._stop.wait(left if timeout is None else min(timeout, left)) or self.is_set()


SKEWS = st.lists(st.tuples(st.sampled_from([0.0, 1e6]), st.sampled_from([0.0, -1e8, 1e8])), min_size=2, max_size=3)


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=30), skews=SKEWS, seed=st.integers(0, 2**32))
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("patient", [True, False], ids=["in time", "suspended at will"])
def test_two_never_may_work_at_one_moment(
    patient: bool, faults: list[str], skews: list[tuple[float, float]], seed: int
) -> None:
    execute(program(RIGHT, faults, skews, patient=patient), Chance(seed))


MISTAKES = {
    "a lease is taken while it is held": (
        "record",
        'return self.holder in ("", identity) or not self.is_valid(now)',
        "return True",
    ),
    "a former leader continues": (
        "elector",
        "return not self._lost and self._clock.now() < self._candidate.expires",
        "return not self._lost and self._candidate.is_leader",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    module, old, new = MISTAKES[name]
    wrong, rng = Copies(ELECTION, {module: (old, new)}), Random(2)

    def search() -> None:
        for seed in range(200):
            # Troubles come in rows: one late answer, and then none at all for a while.
            faults = [fault for _ in range(8) for fault in [rng.choice(FAULTS)] * rng.choice((1, 1, 8))]
            execute(program(wrong, faults, [(0.0, 0.0), (1e6, 1e8)], patient=False), Chance(seed))

    with pytest.raises(Failed, match="two may work"):
        search()
