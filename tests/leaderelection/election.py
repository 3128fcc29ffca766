"""Fixtures of leader election: a lease in a fake API server, candidates, and scripted responses."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.errors import ApiError, ConnectionFailed
from clientgo.kubernetes.types.coordination_v1 import Lease, LeaseSpec
from clientgo.leaderelection import LeaderElectionRecord, LeaderElector, LeaseLock
from clientgo.leaderelection.candidate import Candidate, ElectionMetrics
from clientgo.meta import ObjectMeta
from clientgo.meta.objects import MicroTime
from clientgo.meta.scheme import api_of
from clientgo.record.fake import FakeRecorder
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset

SECONDS = 10.0
"""Real seconds after which a test that waits has failed."""

HOURS = 3600.0

CANCELLED = ConnectionFailed("cancelled")


def lease(**spec: Any) -> Lease:
    """Return the lease foo/bar."""
    return Lease(metadata=ObjectMeta(name="bar", namespace="foo"), spec=LeaseSpec(**spec))


def lease_lock(clientset: FakeClientset, identity: str = "baz", *, recorder: FakeRecorder | None = None) -> LeaseLock:
    return LeaseLock(clientset, "foo", "bar", identity, recorder=recorder)


def candidate(
    clientset: FakeClientset,
    clock: FakeClock,
    *,
    identity: str = "baz",
    duration: float = 10,
    coordinated: bool = False,
) -> Candidate:
    lock, metrics = lease_lock(clientset, identity), ElectionMetrics("bar")
    return Candidate(lock, lease_duration=duration, metrics=metrics, clock=clock, coordinated=coordinated)


def record_in(clientset: FakeClientset) -> LeaderElectionRecord:
    """Return the record in the lease, without an action of the fake."""
    spec = clientset.tracker.get(api_of(Lease).gvr, "foo", "bar")["spec"]
    times = {key: MicroTime.of(MicroTime.fromisoformat(spec[key])) for key in ("acquireTime", "renewTime")}
    return LeaderElectionRecord(
        holder_identity=spec["holderIdentity"], lease_duration_seconds=spec["leaseDurationSeconds"],
        acquire_time=times["acquireTime"], renew_time=times["renewTime"], leader_transitions=spec["leaseTransitions"],
    )  # fmt: skip


def verbs(clientset: FakeClientset) -> list[str]:
    return [action.verb for action in clientset.actions]


class Script:
    """Returns responses to lease requests in the given order, and fails the test at any other request.

    A response is a lease, an error to raise, or None for the submitted object.
    """

    def __init__(self, *answers: tuple[str, Lease | ApiError | None]) -> None:
        self.left = list(answers)
        self.clientset = FakeClientset()
        self.clientset.prepend_reactor("*", "*", self._react)

    def _react(self, action: Action) -> tuple[bool, object]:
        assert self.left, f"{action}: called too many times"
        verb, response = self.left.pop(0)
        assert action.verb == verb
        if isinstance(response, ApiError):
            raise response
        return True, response


class Updates:
    """Calls a function at the n-th update of the lease, counted from 1, or at the n-th request of another verb."""

    def __init__(self, clientset: FakeClientset, verb: str, step_in: Callable[[int], None]) -> None:
        self.count = 0
        self._step_in = step_in
        clientset.prepend_reactor(verb, "leases", self._react)

    def _react(self, _: Action) -> tuple[bool, object]:
        self.count += 1
        self._step_in(self.count)
        return False, None


class Gate:
    """Blocks a request until the test opens it."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._opened.wait(SECONDS)

    def hold(self, _: object) -> tuple[bool, None]:
        """Block as `pass_through` does: as a reactor, or as work that ignores its stop event."""
        self.pass_through()
        return False, None

    def wait_until_reached(self) -> None:
        assert self._reached.wait(SECONDS)

    def open(self) -> None:
        self._opened.set()


class Bench:
    """One elector with a fake API server and a fake clock, which records its actions."""

    def __init__(
        self,
        *,
        identity: str = "baz",
        clientset: FakeClientset | None = None,
        clock: FakeClock | None = None,
        **options: Any,
    ) -> None:
        self.clock = clock if clock is not None else FakeClock()
        self.clientset = clientset if clientset is not None else FakeClientset(clock=self.clock)
        self.recorder = FakeRecorder(100)
        self.stop = threading.Event()
        self.led = threading.Event()
        self.ended = threading.Event()
        self.calls: list[str] = []
        options = {"lease_duration": 15, "renew_deadline": 2, "retry_period": 1, "rand": lambda: 0.0, **options}
        options.setdefault("on_started_leading", self.work)
        self.elector = LeaderElector(
            lease_lock(self.clientset, identity, recorder=self.recorder),
            on_stopped_leading=lambda: self.calls.append("stopped"),
            clock=self.clock,
            **options,
        )

    def work(self, stop: threading.Event) -> None:
        """Record the start and the end of the leader's work."""
        self.calls.append("began")
        self.led.set()
        assert stop.wait(SECONDS)
        self.calls.append("ended")
        self.ended.set()

    @contextmanager
    def running(self) -> Iterator[Group]:
        """Run the elector in another thread; stop it at the end of the block, and raise its error here."""
        group = Group()
        group.start(self.elector.run, self.stop, name="elector")
        try:
            yield group
        finally:
            self.stop.set()
            group.join(SECONDS)

    def step_through_sleep(self, number: int, seconds: float) -> None:
        """Step the clock by `seconds` in the elector's n-th sleep, counted from 1."""
        self.clock.wait_for_sleeps(number)
        self.clock.step(seconds)
