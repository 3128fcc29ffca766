"""Two electors, clocks that disagree, an unreliable lock: never may both work at the same time.

While `tests/leaderelection` tests single steps of candidates, here whole electors run: loops, request threads and work,
under a scheduler that lets time pass anywhere, as if a process was suspended.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clientgo.errors import AlreadyExists, Conflict, ConnectionFailed, NotFound, ServiceUnavailable
from clientgo.leaderelection.record import LeaderElectionRecord
from tests.models.budget import examples
from tests.models.contest import ELECTION, Contest
from tests.models.copies import Copies
from tests.models.locks import Event
from tests.models.schedules import Chance, Failed, Program, Scheduler, execute

RIGHT = Copies(ELECTION)


FAULTS = ["", "", "", "lost", "unanswered", "refused", "slow", "slow there", "slow back"]


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
        response = act()
        if fault in ("slow", "slow back"):
            Event().wait(2.0)
        if fault == "unanswered":
            raise ConnectionFailed("lost on its way back")
        return response


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
def test_mistake_is_found(name: str) -> None:
    module, old, new = MISTAKES[name]
    wrong, rng = Copies(ELECTION, {module: (old, new)}), Random(2)

    def search() -> None:
        for seed in range(200):
            # Troubles come in rows: one late answer, and then none at all for a while.
            faults = [fault for _ in range(8) for fault in [rng.choice(FAULTS)] * rng.choice((1, 1, 8))]
            execute(program(wrong, faults, [(0.0, 0.0), (1e6, 1e8)], patient=False), Chance(seed))

    with pytest.raises(Failed, match="two may work"):
        search()
