"""Work of the elected leader among several replicas."""

import threading
from typing import Any

import pytest

from clientgo.leaderelection import Leadership, LeadershipLost, LeaseLock
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset

SECONDS = 10.0


class Replica:
    """Replica whose work records its steps."""

    def __init__(self, clientset: FakeClientset, identity: str, clock: FakeClock) -> None:
        self.clock, self.clientset = clock, clientset
        lock = LeaseLock(clientset, "ns", "sample-controller", identity)
        self.leadership = Leadership(lock, clock=clock)
        self.stop, self.working, self.told = threading.Event(), threading.Event(), threading.Event()
        self.finish = threading.Event()
        self.notes: list[Any] = []

    def work(self, over: threading.Event) -> None:
        self.working.set()
        assert over.wait(SECONDS)
        self.told.set()
        assert self.finish.wait(SECONDS)
        self.notes.append((self.holder(), self.leadership.may_write()))

    def run(self) -> None:
        try:
            self.leadership.run(self.work, self.stop)
        except LeadershipLost as error:
            self.notes.append(str(error))

    def holder(self) -> str | None:
        return self.clientset.coordination_v1.leases("ns").get("sample-controller").spec.holder_identity


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def clientset(clock: FakeClock) -> FakeClientset:
    return FakeClientset(clock=clock)


def test_stopped_leader_finishes_its_work_before_it_releases_the_lease(
    clientset: FakeClientset, clock: FakeClock
) -> None:
    """The lease is renewed until the work ends."""
    replica = Replica(clientset, "one", clock)
    with Group() as group:
        group.start(replica.run, name="one")
        assert replica.working.wait(SECONDS)
        replica.stop.set()
        assert replica.told.wait(SECONDS)
        for sleeps in range(1, 21):
            clock.wait_for_sleeps(sleeps)
            clock.step(2.0)
        replica.finish.set()
        group.join(SECONDS)
    assert replica.notes == [("one", True)]
    assert replica.holder() == ""


def test_shutdown_waits_for_work_after_a_lost_lease(
    clientset: FakeClientset, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker may be in a request without a response; it writes nothing more, and the shutdown is orderly."""
    replica = Replica(clientset, "one", clock)
    with Group() as group:
        group.start(replica.run, name="one")
        assert replica.working.wait(SECONDS)
        clock.wait_for_sleeps(1)
        clientset.coordination_v1.leases("ns").patch("sample-controller", {"spec": {"holderIdentity": "two"}})
        clock.step(2.0)
        assert replica.told.wait(SECONDS)
        clock.step(60.0)
        assert replica.stop.wait(SECONDS)  # the elector has given the work up
        replica.finish.set()
        group.join(SECONDS)
    assert replica.notes == [("two", False), "leader election lost"]
    assert "thread died" not in caplog.text


def test_standby_ends_at_once_and_leaves_the_lease_alone(clientset: FakeClientset, clock: FakeClock) -> None:
    one_source, two = Replica(clientset, "one", clock), Replica(clientset, "two", clock)
    one_source.finish.set()
    with Group(stop=one_source.stop) as first:
        first.start(one_source.run, name="one")
        assert one_source.working.wait(SECONDS)
        with Group(stop=two.stop) as second:
            second.start(two.run, name="two")
            clock.wait_for_sleeps(2)
            assert not two.leadership.may_write()
            two.stop.set()
            second.join(SECONDS)
        assert (two.notes, one_source.holder()) == ([], "one")
