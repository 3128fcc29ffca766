"""Coordinators: a single replica, an elected leader, and shards, behind one interface."""

import threading
from typing import Any

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.coordination import LeaderElectionOptions, ShardingOptions, coordination_options, coordinator_for
from clientgo.errors import ConfigError
from clientgo.program.commandline import ShardingFlags
from clientgo.rest import Config
from clientgo.stop.lifecycle import Group
from clientgo.testing.kubernetes import FakeClientset

NOWHERE = Config(host="http://127.0.0.1:9")
ELECTION = LeaderElectionOptions(id="foos")
SHARDING = ShardingOptions(count=3, lease_prefix="foos")


@pytest.mark.parametrize(
    ("options", "role"),
    [
        pytest.param(None, "there are no other replicas", id="single"),
        pytest.param(ELECTION, "standing by; no replica leads", id="leader election"),
        pytest.param(SHARDING, "standing by for a shard; members: not known yet", id="sharding"),
    ],
)
def test_role_is_described_before_the_start(options: LeaderElectionOptions | ShardingOptions | None, role: str) -> None:
    with coordinator_for(options, NOWHERE) as coordinator:
        assert coordinator.describe() == role
        coordinator.check()


def test_single_replica_works_at_once_and_owns_every_object() -> None:
    worked = threading.Event()
    with coordinator_for(None, NOWHERE) as coordinator, coordinator.owning("uid") as owned:
        coordinator.run(lambda _: worked.set(), threading.Event())
        assert (worked.is_set(), coordinator.may_write(), owned) == (True, True, True)


@pytest.mark.parametrize(
    ("options", "role"),
    [
        pytest.param(ELECTION, "this replica leads", id="leader election"),
        pytest.param(SHARDING, "this replica has shard ", id="sharding"),
    ],
)
def test_first_replica_gets_to_write_and_releases_its_lease_at_the_end(
    options: LeaderElectionOptions | ShardingOptions, role: str
) -> None:
    clientset, working, stop = FakeClientset(), threading.Event(), threading.Event()
    with coordinator_for(options, clientset.requester, clock=SYSTEM_CLOCK) as coordinator, Group() as group:
        gained = threading.Event()
        coordinator.on_change(gained.set)

        def work(over: threading.Event) -> None:
            if options is SHARDING:
                assert gained.wait(10.0)
            with coordinator.owning("uid") as owned:
                assert (owned, coordinator.may_write()) == (True, True)
            assert coordinator.describe().startswith(role)
            working.set()
            assert over.wait(10.0)

        group.start(coordinator.run, work, stop, name="coordinator")
        assert working.wait(10.0)
        stop.set()
        group.join(10.0)
    (lease,) = clientset.coordination_v1.leases("default").list().items
    assert not lease.spec.holder_identity


def test_callback_of_a_change_that_raises_is_called_again_and_the_shard_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = ShardingOptions(count=1, lease_prefix="foos", retry_period=0.05)
    clientset, stop, calls, succeeded = FakeClientset(), threading.Event(), [], threading.Event()

    def changed() -> None:
        calls.append(coordinator.may_write())
        if len(calls) < 3:
            raise SystemExit("not yet")
        succeeded.set()

    with coordinator_for(options, clientset.requester) as coordinator, Group() as group:
        coordinator.on_change(changed)
        group.start(coordinator.run, lambda over: over.wait(10.0), stop, name="coordinator")
        assert succeeded.wait(10.0)
        stop.set()
        group.join(10.0)
    assert calls == [True] * 3
    assert caplog.text.count("callback of a change of shards failed; will retry") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(LeaderElectionOptions(id="foos", renew_deadline=20.0), "leader election", id="leader election"),
        pytest.param(ShardingOptions(count=3, lease_prefix="foos", renew_deadline=20.0), "sharding", id="sharding"),
    ],
)
def test_inconsistent_times_are_a_configuration_error(
    options: LeaderElectionOptions | ShardingOptions, message: str
) -> None:
    expected = f"^invalid {message} options: leaseDuration must be greater than renewDeadline"
    with pytest.raises(ConfigError, match=expected), coordinator_for(options, NOWHERE):
        pass


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        pytest.param({}, None, id="single"),
        pytest.param({"leader_elect": True}, LeaderElectionOptions(id="foos", namespace="ns"), id="leader election"),
        pytest.param({"shard_count": 3}, ShardingOptions(count=3, lease_prefix="foo", namespace="ns"), id="sharding"),
    ],
)
def test_flags_select_the_coordination(
    flags: dict[str, Any], options: LeaderElectionOptions | ShardingOptions | None
) -> None:
    names: dict[str, Any] = {
        "leader_elect_resource_name": "foos",
        "shard_lease_prefix": "foo",
        "leader_elect_resource_namespace": "ns",
    }
    assert coordination_options(ShardingFlags(**names, **flags)) == options
