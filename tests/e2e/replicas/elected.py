"""Replicas of the sample controller with leader election."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.kubernetes.types.coordination_v1 import LeaseSpec
from clientgo.meta import ObjectMeta
from clientgo.testing.eventually import eventually
from controller import COMPONENT
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from tests.e2e.clusters import namespace, write_user
from tests.e2e.program import ROOT, Program
from tests.e2e.replicas.trail import Write, writes

LEASE, RENEW, RETRY = 4.0, 3.0, 0.3
FOOS = 1000
BUSY = 120.0
"""Seconds within which a busy machine has synced all Foos."""


class Replicas:
    """Server with an audit log, and replicas of the controller, each with its own user."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.trail = folder, folder / "audit.log"
        self.environment = Environment(
            crd_paths=[ROOT / "artifacts" / "crd"],
            server=server_from(bundled=BundledServer(secure=True, audit_log=self.trail)),
        )
        self.config = self.environment.start()
        self.clientset = Clientset(self.config)
        self.foos = self.clientset.samplecontroller_v1alpha1
        self.programs: dict[str, Program] = {}

    def start(self, name: str, *flags: str) -> Program:
        config = self.environment.add_user(name, "system:masters")
        folder = self.folder / name
        path = write_user(folder / "kubeconfig", config)
        times = [f"--leader-elect-{key}={value}s" for key, value in times_of_lease().items()]
        self.programs[name] = Program([f"--kubeconfig={path}", *times, *flags], folder)
        return self.programs[name]

    def start_pair(self) -> tuple[Program, Program]:
        """Start a leader, and a candidate that has observed it."""
        first = self.start("one", "--leader-elect")
        first.wait_for("starting workers")
        second = self.start("two", "--leader-elect")
        second.wait_for("new leader elected")
        return first, second

    def lease(self) -> LeaseSpec:
        with closing(Kubernetes(self.config)) as kubernetes:
            return kubernetes.coordination_v1.leases("default").get(COMPONENT).spec

    def create_foos(self, temporary_namespace: str, first: int, last: int) -> None:
        for number in range(first, last):
            name = f"foo-{number}"
            self.foos.foos(temporary_namespace).create(
                Foo(ObjectMeta(name=name), FooSpec(name, 1)), field_manager="test"
            )

    def synced(self, temporary_namespace: str) -> int:
        available = 1 if self.environment.runs_controllers else 0
        return sum(
            foo.status.available_replicas == available for foo in self.foos.foos(temporary_namespace).list().items
        )

    def wait_until_synced(self, temporary_namespace: str) -> None:
        # Not each 10 ms: to list the Foos takes longer, and the replicas need the processor as well.
        eventually(lambda: self.synced(temporary_namespace), FOOS.__eq__, seconds=BUSY, every=0.25)

    def writes(self) -> list[Write]:
        return [write for write in writes(self.trail) if write.user in self.programs]

    def stop(self) -> None:
        for program in self.programs.values():
            program.end(signal.SIGKILL)
        self.clientset.close()
        self.environment.stop()


def times_of_lease() -> dict[str, float]:
    return {"lease-duration": LEASE, "renew-deadline": RENEW, "retry-period": RETRY}


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    built = Replicas(tmp_path)
    try:
        yield built
    finally:
        built.stop()


@pytest.fixture
def temporary_namespace(replicas: Replicas) -> Iterator[str]:
    with namespace(replicas.config, "ha") as name:
        yield name
