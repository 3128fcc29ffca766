"""Leader election of managers: one replica works, others stand by, a lost lease ends the program."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.errors import ConfigError, LeaseNotHeld
from clientgo.kubernetes.clients.coordination_v1 import CoordinationV1
from clientgo.manager import (
    Controller,
    ControllerBuilder,
    ControllerOptions,
    LeaderElectionOptions,
    LeadershipLost,
    Manager,
)
from clientgo.meta import ObjectName
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running

pytestmark = pytest.mark.feature("A-14")

QUICK = LeaderElectionOptions(
    id="test", namespace="ns", lease_duration=2.0, renew_deadline=1.0, retry_period=0.05, labels={"team": "a"}
)


def replica(requester: FakeRequester, name: str) -> Manager:
    return manager_of(requester, name, leader_election=QUICK)


@contextmanager
def standing_by(manager: Manager) -> Iterator[Group]:
    with Group() as group:
        group.start(manager.run, group.stop_event, name="standing-by")
        yield group


def follow(manager: Manager, seen: list[ObjectName], **options: Any) -> Controller:
    with_options = ControllerBuilder(manager).for_(Foo).named(manager.options.name).with_options(**options)
    return with_options.complete(seen.append)


@pytest.mark.feature("C-32")
def test_standby_fills_its_queue_writes_nothing_and_takes_over() -> None:
    requester, seen = fake(new_foo()), list[ObjectName]()
    first, second = replica(requester, "first"), replica(requester, "second")
    follow(first, seen)
    waiting = follow(second, seen)
    with running(first):
        assert first.is_leader
        eventually(lambda: seen == [ObjectName("ns", "a")])
        with standing_by(second) as group:
            eventually(lambda: len(waiting.queue) == 1)
            assert second.client.get(Foo, ObjectName("ns", "a")).metadata.name == "a"
            assert not second.is_leader
            with pytest.raises(LeaseNotHeld):
                second.client.create(new_foo("b"))
            assert seen == [ObjectName("ns", "a")]
            first._stop.set()
            eventually(lambda: len(seen) == 2)
            group.stop()


@pytest.mark.feature("C-32")
def test_controller_can_disable_warm_up() -> None:
    requester, seen = fake(new_foo()), list[ObjectName]()
    first, second = replica(requester, "first"), replica(requester, "second")
    cold = follow(second, seen, warm_up=False)
    with running(first), standing_by(second):
        eventually(lambda: second._stages["others"]._waiting is None)
        assert second.cache.informers() == []
        first._stop.set()
        eventually(lambda: seen)
    assert cold.options == ControllerOptions(warm_up=False)


def test_runnables_without_leader_election_run_in_every_replica() -> None:
    requester, seen = fake(new_foo()), list[ObjectName]()
    first, second = replica(requester, "first"), replica(requester, "second")
    follow(second, seen, needs_leader_election=False)
    with running(first), standing_by(second):
        eventually(lambda: seen)
        assert not second.is_leader


@pytest.mark.feature("B-CR-02")
def test_losing_the_lease_ends_the_manager_with_an_error() -> None:
    requester = fake()
    manager, refused = replica(requester, "loser"), list[str]()

    def work(stop: threading.Event) -> None:
        stop.wait()
        try:
            manager.client.create(new_foo())
        except LeaseNotHeld as error:
            refused.append(str(error))

    def run_until_the_lease_is_stolen() -> None:
        with running(manager) as group:
            leases = CoordinationV1(requester).leases("ns")
            lease = leases.get("test")
            assert lease.metadata.labels == {"team": "a"}
            assert (lease.spec.lease_duration_seconds, lease.spec.lease_transitions) == (2, 0)
            leases.patch("test", {"spec": {"holderIdentity": "thief"}})
            assert group.stop_event.wait(10.0)

    manager.add(work)
    with pytest.raises(LeadershipLost, match=r"^leader election lost$"):
        run_until_the_lease_is_stolen()
    assert refused == ["create foos not sent: the lease is not held"]


def test_inconsistent_times_are_rejected() -> None:
    odd = LeaderElectionOptions(id="test", lease_duration=1.0, renew_deadline=2.0)
    with pytest.raises(ConfigError, match="invalid leader election options: leaseDuration must be"):
        manager_of(fake(), "odd", leader_election=odd)


@pytest.mark.feature("B-CR-01")
def test_the_times_are_kubernetes_own_by_default() -> None:
    times = LeaderElectionOptions(id="test")
    assert (times.lease_duration, times.renew_deadline, times.retry_period) == (15.0, 10.0, 2.0)
