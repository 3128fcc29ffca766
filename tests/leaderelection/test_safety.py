"""Safety under every order of attempts, lost requests and lost responses: never two leaders."""

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clientgo.errors import ConnectionFailed
from clientgo.leaderelection.candidate import Candidate, ElectionMetrics
from clientgo.leaderelection.lock import LeaseLock
from clientgo.leaderelection.record import LeaderElectionRecord
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset
from tests.models.budget import examples

CANDIDATES = 3
DURATION = 10


class Unreliable(LeaseLock):
    """Lock whose next update may be lost, lose its response, or be delayed."""

    def __init__(self, clientset: FakeClientset, identity: str, clock: FakeClock) -> None:
        super().__init__(clientset, "foo", "bar", identity)
        self.faults: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._clock = clock

    def update(self, record: LeaderElectionRecord) -> None:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "lost":
            raise ConnectionFailed("lost on its way there")
        if fault == "late":
            self.meanwhile()
            self._clock.step(4)
        super().update(record)
        if fault == "late":
            self.meanwhile()
            self._clock.step(4)
        if fault == "unanswered":
            raise ConnectionFailed("lost on its way back")


class Election(RuleBasedStateMachine):
    """Three candidates, one lease, one clock for seconds, and dates that differ by years."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.clientset = FakeClientset(clock=self.clock)
        self.locks = [Unreliable(self.clientset, f"c{number}", self.clock) for number in range(CANDIDATES)]
        self.candidates = [
            Candidate(lock, lease_duration=DURATION, metrics=ElectionMetrics("bar"), clock=self.clock)
            for lock in self.locks
        ]

    @rule(
        number=st.integers(0, CANDIDATES - 1),
        faults=st.lists(st.sampled_from(["", "lost", "unanswered", "late"]), max_size=2),
        other=st.integers(0, CANDIDATES - 1),
    )
    def try_once(self, number: int, faults: list[str], other: int) -> None:
        self.locks[number].faults = [*faults]
        if other != number:
            self.locks[number].meanwhile = self.candidates[other].try_acquire_or_renew
        held = self.candidates[number].try_acquire_or_renew()
        self.locks[number].meanwhile = lambda: None
        if held and "late" not in faults:
            assert self.candidates[number].expires == self.clock.now() + DURATION

    @rule(number=st.integers(0, CANDIDATES - 1), fault=st.sampled_from(["", "lost", "unanswered"]))
    def release(self, number: int, fault: str) -> None:
        self.locks[number].faults = [fault]
        # A leader releases after its work has ended, so that it may be followed even if it never hears the answer.
        self.candidates[number].release()

    @rule(seconds=st.sampled_from([0.5, 3, 7, 10, 11]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.step(seconds)

    @rule(at=st.sampled_from([0.0, 1e9, 2e9]))
    def set_the_date(self, at: float) -> None:
        # A date may be anything but the one of an earlier renewal.
        self.clock.set_time(at + self.clock.now())

    @rule()
    def label_the_lease(self) -> None:
        leases = self.clientset.coordination_v1.leases("foo")
        if leases.list().items:
            leases.patch("bar", {"metadata": {"labels": {"at": str(self.clock.now())}}})

    @invariant()
    def at_most_one_leads(self) -> None:
        leading = [candidate for candidate in self.candidates if candidate.expires > self.clock.now()]
        assert len(leading) <= 1, leading


Election.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)
TestElection = Election.TestCase
