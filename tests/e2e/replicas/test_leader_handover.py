"""Two processes and one lease: when the leader ends in any way, the other leads in time."""

import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.coordination_v1 import LeaseSpec
from tests.e2e.clusters import kubeconfig_of, namespace
from tests.processes import Child

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).parent / "leader_program.py"
LEASE, RENEW, RETRY = 2.0, 1.5, 0.3
LONGEST_PAUSE = RETRY * 2.2
"""Between two tries of a candidate: the period and up to 1.2 times as much again."""
MACHINE = 0.7
"""Seconds that a busy machine may take for what takes milliseconds."""


class Replica:
    """One candidate process."""

    def __init__(self, folder: Path, kubeconfig: Path, temporary_namespace: str, identity: str) -> None:
        command = [
            sys.executable, str(PROGRAM), str(kubeconfig), temporary_namespace, identity,
            *map(str, (LEASE, RENEW, RETRY)),
        ]  # fmt: skip
        self.child = Child(command, folder / f"{identity}.out")

    def wait_for(self, line: str) -> float:
        """Return the time in monotonic seconds at which the process printed a line."""
        self.child.wait_for(f"^{line}$")
        return SYSTEM_CLOCK.now()


@dataclass
class Replicas:
    """Two candidates; the first leads, and the second has observed that."""

    clientset: Clientset
    namespace: str
    first: Replica
    second: Replica

    def lease(self) -> LeaseSpec:
        return self.clientset.coordination_v1.leases(self.namespace).get("handover").spec


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    environment = Environment(server=server_from(bundled=BundledServer(kubeconfig=tmp_path / "kubeconfig")))
    with environment as config, namespace(config, "handover") as temporary_namespace:
        kubeconfig = kubeconfig_of(environment, tmp_path / "kubeconfig")
        clientset = Clientset(config)
        first = Replica(tmp_path, kubeconfig, temporary_namespace, "first")
        with first.child:
            first.wait_for("leading")
            second = Replica(tmp_path, kubeconfig, temporary_namespace, "second")
            with second.child:
                second.wait_for("leader is first")
                yield Replicas(clientset, temporary_namespace, first, second)
        clientset.close()


@pytest.mark.feature("A-14", "C-51")
def test_killed_leader_is_followed_when_its_lease_expires_and_not_before(replicas: Replicas) -> None:
    replicas.first.child.kill()
    killed = SYSTEM_CLOCK.now()
    took = replicas.second.wait_for("leading") - killed
    # It was renewed at most one period before, and that was seen, and its end is noticed, within one pause each.
    assert LEASE - RETRY - MACHINE < took < LEASE + 2 * LONGEST_PAUSE + MACHINE
    lease = replicas.lease()
    assert (lease.holder_identity, lease.lease_duration_seconds, lease.lease_transitions) == ("second", 2, 1)
    assert lease.acquire_time is not None
    assert lease.renew_time is not None
    assert lease.renew_time >= lease.acquire_time


@pytest.mark.feature("A-14")
def test_leader_hands_over_within_one_retry_on_shutdown(replicas: Replicas) -> None:
    replicas.first.child.signal(signal.SIGTERM)
    messages = SYSTEM_CLOCK.now()
    took = replicas.second.wait_for("leading") - messages
    assert took < LONGEST_PAUSE + MACHINE
    replicas.first.wait_for("stopped")
    assert replicas.first.child.end(seconds=10)[0] == 0
    lease = replicas.lease()
    assert (lease.holder_identity, lease.lease_transitions) == ("second", 1)


def test_leader_that_is_suspended_past_its_lease_stops_when_it_wakes(replicas: Replicas) -> None:
    replicas.first.child.signal(signal.SIGSTOP)
    replicas.second.wait_for("leading")
    replicas.first.child.signal(signal.SIGCONT)
    replicas.first.wait_for("stopped")
    assert replicas.first.child.end(seconds=10)[0] == 0
    assert replicas.lease().holder_identity == "second"


def test_the_last_leader_leaves_a_lease_without_holder(replicas: Replicas) -> None:
    for replica in (replicas.first, replicas.second):
        assert replica.child.end(signal.SIGTERM, seconds=10)[0] == 0
    lease = replicas.lease()
    assert (lease.holder_identity, lease.lease_duration_seconds) == ("", 1)
