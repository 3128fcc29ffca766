"""Coordinated leader election: the API server assigns the lease among LeaseCandidates."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clientgo.clock import utc
from clientgo.errors import InternalError
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection.leasecandidate import (
    OLDEST_EMULATION_VERSION,
    REQUEUE_SECONDS,
    LeaseCandidacy,
    LeaseCandidateClient,
    LeaseCandidateSpec,
)
from clientgo.leaderelection.record import LeaderElectionRecord, Observation
from clientgo.meta import change, replace
from clientgo.meta.objects import MicroTime
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset
from tests.leaderelection.election import HOURS, SECONDS, Bench, Script, candidate, lease, verbs

FUTURE = 1000 * HOURS


@pytest.mark.feature("B-LE-14")
@pytest.mark.parametrize(
    ("holder", "requests", "holds"),
    [
        pytest.param("bing", ["get"], False, id="held by another", marks=pytest.mark.behaviour("LE-09")),
        pytest.param("baz", ["get", "update"], True, id="its own", marks=pytest.mark.behaviour("LE-10")),
    ],
)
def test_lease_is_renewed_only_if_assigned(holder: str, requests: list[str], holds: bool) -> None:
    result = lease(holder_identity=holder, strategy=OLDEST_EMULATION_VERSION)
    script = Script(*[(verb, result if verb == "get" else None) for verb in requests])
    item = candidate(script.clientset, FakeClock(), coordinated=True)
    item.observed = Observation(LeaderElectionRecord.from_spec(result.spec), FUTURE)
    assert item.try_acquire_or_renew() is holds
    assert (script.left, item.observed.holder) == ([], holder)
    assert item.observed.record.leader_transitions == 0
    assert item.observed.record.strategy == OLDEST_EMULATION_VERSION


def test_missing_or_expired_lease_is_left_to_the_server() -> None:
    clock = FakeClock()
    clientset = FakeClientset(clock=clock)
    item = candidate(clientset, clock, coordinated=True)
    assert not item.try_acquire_or_renew()
    leases = clientset.coordination_v1.leases("foo")
    leases.create(lease(holder_identity="baz", lease_duration_seconds=10, strategy=OLDEST_EMULATION_VERSION))
    assert item.try_acquire_or_renew()
    clock.step(11)
    clientset.clear_actions()
    assert not item.try_acquire_or_renew()
    assert verbs(clientset) == ["get"]


class Given(Bench):
    """Elector of the candidate baz, and the server's coordinator, which assigns the lease foo/bar."""

    def __init__(self) -> None:
        super().__init__(coordinated=True)
        self.leases = self.clientset.coordination_v1.leases("foo")
        # Not by a request: a server without coordinated election drops the fields of it.
        self.clientset.tracker.add(
            lease(holder_identity="baz", lease_duration_seconds=15, strategy=OLDEST_EMULATION_VERSION)
        )

    def prefer(self, other: str) -> None:
        self.clientset.tracker.add(change(self.lease(), lambda obj: obj.spec.preferred_holder).to(other))

    def lease(self) -> Lease:
        return self.leases.get("bar")


@pytest.mark.feature("B-LE-14")
def test_leader_ends_its_term_as_soon_as_the_server_prefers_another() -> None:
    bench = Given()
    with bench.running() as group:
        assert bench.led.wait(SECONDS)
        bench.clock.wait_for_sleeps(1)
        bench.prefer("bing")
        bench.clock.step(1.0)
        assert bench.ended.wait(SECONDS)
        group.join(SECONDS)
    assert bench.calls == ["began", "ended", "stopped"]
    assert bench.lease().spec.holder_identity == ""


class Candidacy:
    """LeaseCandidacy with a fake server."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.clientset = FakeClientset(clock=self.clock)
        self.client = LeaseCandidateClient(self.clientset.requester, "default")
        self.standing = LeaseCandidacy(
            self.clientset, "default", "foo", lease_name="lease", binary_version="1.30.0", clock=self.clock
        )

    def spec(self) -> LeaseCandidateSpec:
        return self.client.get("foo").spec

    def step(self, seconds: float) -> bool:
        """Step the clock; return False for use in a condition."""
        self.clock.step(seconds)
        return False

    def ping(self) -> None:
        """Ping the candidate as the server does."""
        self.client.patch("foo", {"spec": {"pingTime": MicroTime.of(utc(self.clock)).wire()}})

    def seen(self, verb: str) -> threading.Event:
        """Return an event that is set at a request of that verb."""
        event = threading.Event()

        def note(_: Action) -> tuple[bool, object]:
            event.set()
            return False, None

        self.clientset.prepend_reactor(verb, "leasecandidates", note)
        return event

    @contextmanager
    def running(self) -> Iterator[None]:
        stop = threading.Event()
        with Group(stop=stop) as group:
            group.start(self.standing.run, stop, name="standing")
            yield


@pytest.mark.behaviour("LE-26")
@pytest.mark.feature("B-LE-14")
def test_candidacy_creates_a_lease_candidate() -> None:
    candidacy = Candidacy()
    candidacy.standing.ensure()
    spec = candidacy.spec()
    assert (spec.lease_name, spec.strategy) == ("lease", OLDEST_EMULATION_VERSION)
    assert (spec.binary_version, spec.emulation_version) == ("1.30.0", "1.30.0")
    assert spec.renew_time is not None


def test_unchanged_candidate_is_not_written() -> None:
    candidacy = Candidacy()
    candidacy.standing.ensure()
    candidacy.clientset.clear_actions()
    candidacy.clock.step(REQUEUE_SECONDS)
    candidacy.standing.ensure()
    assert verbs(candidacy.clientset) == ["get"]


def test_candidate_of_an_older_version_is_updated() -> None:
    candidacy = Candidacy()
    candidacy.standing.ensure()
    before = candidacy.client.get("foo")
    candidacy.client.update(replace(before, spec=replace(before.spec, binary_version="1.29.0")))
    candidacy.clock.step(1.0)
    candidacy.standing.ensure()
    assert candidacy.spec().binary_version == "1.30.0"
    assert candidacy.spec().renew_time != before.spec.renew_time


@pytest.mark.feature("B-LE-14")
def test_ping_is_answered_at_once_and_only_once() -> None:
    candidacy = Candidacy()
    created, updated = candidacy.seen("create"), candidacy.seen("update")
    with candidacy.running():
        assert created.wait(SECONDS)
        candidacy.clock.set_time(candidacy.clock.time() + 1.0)
        candidacy.ping()
        assert updated.wait(SECONDS)
    spec = candidacy.spec()
    assert spec.renew_time == spec.ping_time == MicroTime.of(utc(candidacy.clock))
    candidacy.clientset.clear_actions()
    candidacy.standing.ensure()
    assert verbs(candidacy.clientset) == ["get"]


def test_rejected_requests_are_logged_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    candidacy = Candidacy()
    refused, created = threading.Event(), candidacy.seen("create")

    def refuse_once(_: Action) -> tuple[bool, object]:
        if not refused.is_set():
            refused.set()
            raise InternalError("not now")
        return False, None

    candidacy.clientset.prepend_reactor("get", "leasecandidates", refuse_once)
    with candidacy.running():
        assert refused.wait(SECONDS)
        # Step after step, for nothing tells when the queue has begun to wait.
        assert any(candidacy.step(0.01) or created.wait(0.01) for _ in range(1000)), "not within ten seconds"
    assert "cannot update lease candidate" in [record.msg for record in caplog.records]
