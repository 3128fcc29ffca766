"""The Foo controller with a manager: the scenarios of the low-level one, and the manager's features."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.kubernetes.informers.apps_v1 import DeploymentInformer
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.manager import CacheOptions, ControllerBuilder, LeaderElectionOptions, Manager, Options
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo, FooSpec
from controller.controller import Controller as LowLevel
from examples.foo_manager import FooReconciler
from generated.clientset import Clientset
from generated.informers.samplecontroller_v1alpha1 import FooInformer
from tests.e2e.clusters import kubeconfig_of, namespace
from tests.e2e.controllercases import (
    CRDS,
    Cluster,
    all_report,
    test_a_deleted_deployment_comes_back,
    test_a_deleted_foo_takes_its_deployment_along,
    test_a_deployment_of_another_owner_is_reported_and_left_alone,
    test_a_foo_gets_its_deployment_its_status_and_its_event,
    test_a_foo_that_changes_takes_its_deployment_along_within_a_second,
    test_a_foo_that_waits_for_its_deployment_to_be_deleted_first_is_gone_soon,
    test_a_foo_that_was_odd_syncs_once_it_is_mended,
    test_an_undecodable_foo_is_skipped_and_logged_once,
    test_what_others_set_on_the_deployment_stays_when_it_is_scaled,
)
from tests.processes import Child

# The scenarios, run here again with the `cluster` below.
__all__ = [
    "test_a_deleted_deployment_comes_back",
    "test_a_deleted_foo_takes_its_deployment_along",
    "test_a_deployment_of_another_owner_is_reported_and_left_alone",
    "test_a_foo_gets_its_deployment_its_status_and_its_event",
    "test_an_undecodable_foo_is_skipped_and_logged_once",
    "test_a_foo_that_changes_takes_its_deployment_along_within_a_second",
    "test_a_foo_that_waits_for_its_deployment_to_be_deleted_first_is_gone_soon",
    "test_a_foo_that_was_odd_syncs_once_it_is_mended",
    "test_what_others_set_on_the_deployment_stays_when_it_is_scaled",
]

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parent.parent.parent


class ManagedCluster(Cluster):
    """Cluster with the manager's controller instead of the low-level one."""

    def __init__(self, bundled: BundledServer = BundledServer()) -> None:  # noqa: B008
        super().__init__(bundled)
        cache = CacheOptions(namespaces=(self.namespace,), resync=30.0)
        self.component = "foo-manager"
        self.manager = Manager(self.client, options=Options(name=self.component, cache=cache))
        self.add_controllers()
        self.foo_informer = self.manager.cache.informer(Foo)

    def add_controllers(self) -> None:
        self.manager.add_reconciler(FooReconciler)

    def start(self) -> None:
        self.group.start(self.manager.run, self.group.stop_event, name="manager")


@pytest.fixture
def cluster() -> Iterator[ManagedCluster]:
    with closing(ManagedCluster()) as built:
        built.start()
        yield built


@pytest.mark.timeout(120)
@pytest.mark.requires("simulated controllers")
@pytest.mark.parametrize("available", [pytest.param(1, id="available"), pytest.param(0, id="never available")])
def test_five_hundred_foos_cost_a_manager_s_controller_three_writes_each_too(
    available: int, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(ManagedCluster(BundledServer(simulate=bool(available)))) as cluster:
        cluster.start()
        for number in range(500):
            cluster.create_foo(f"foo-{number}")
        eventually(lambda: all_report(cluster, 500, available), seconds=60)
        eventually(lambda: len(cluster.events("Synced")) == 500, seconds=60)
        writes = cluster.writes()
    assert writes.pop(("POST", "foos", "")) == 500
    assert sum(writes.values()) <= (3 + available) * 500, writes  # the status once more when replicas are there
    # On a slow machine the server may say that its clients wait.
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.msg for record in warnings if not record.name.startswith("clientgo_apiserver")] == []


class SharingCluster(ManagedCluster):
    """Low-level controller, run by a manager on the manager's cache."""

    def add_controllers(self) -> None:
        factory = self.manager.cache.factory
        apps, foos = self.kube.apps_v1, self.foos_api.samplecontroller_v1alpha1
        low_level = LowLevel(apps, foos, DeploymentInformer(factory), FooInformer(factory), self.manager.recorder)
        self.manager.add(lambda stop: low_level.run(2, stop))


@pytest.mark.feature("A-11")
@pytest.mark.feature("A-77")
@pytest.mark.parametrize("kind", [ManagedCluster, SharingCluster])
def test_controllers_of_either_kind_share_one_cache(kind: type[ManagedCluster]) -> None:
    seen: set[ObjectName] = set()
    with closing(kind()) as cluster:
        ControllerBuilder(cluster.manager).for_(Deployment).complete(seen.add)
        cluster.start()
        cluster.create_foo("a")
        cluster.reports("a", available=1)
        cluster.eventually(lambda: ObjectName(cluster.namespace, "a") in seen)
        cluster.eventually(lambda: cluster.events("Synced"))
        watches = {informer.name: informer.state().watches for informer in cluster.manager.cache.informers()}
        assert watches == {"foos": 1, "deployments": 1}


@pytest.mark.e2e
@pytest.mark.feature("A-26")
def test_the_example_runs_as_a_program_and_ends_in_good_order(tmp_path: Path) -> None:
    environment = Environment(
        crd_paths=[CRDS], server=server_from(bundled=BundledServer(kubeconfig=tmp_path / "kubeconfig"))
    )
    with (
        environment as config,
        namespace(config, "foos") as space,
        closing(Clientset(config)) as foos,
        closing(Kubernetes(config)) as kube,
    ):
        foos.samplecontroller_v1alpha1.foos(space).create(Foo(ObjectMeta(name="a", namespace=space), FooSpec("a", 1)))
        with example(kubeconfig_of(environment, tmp_path / "kubeconfig"), tmp_path / "output.txt") as process:
            eventually(lambda: kube.apps_v1.deployments(space).get("a"), seconds=30.0)
            code, log = process.end(signal.SIGTERM, seconds=30.0)
    assert code == 0, log
    lines = (
        "starting manager", "Starting EventSource", "Starting Controller", "Starting workers", "All workers finished",
    )  # fmt: skip
    messages = [log.index(line) for line in lines]
    assert messages == sorted(messages), log


def example(kubeconfig: Path, output: Path) -> Child:
    """Run `examples/foo_manager.py` as a process."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(kubeconfig)}
    command = [sys.executable, str(ROOT / "examples" / "foo_manager.py")]
    return Child(command, output, env=environ)


@pytest.mark.feature("A-14")
@pytest.mark.feature("B-CR-02")
def test_manager_that_leads_says_so_in_a_lease_of_its_own_namespace_and_gives_it_up() -> None:
    with (
        Environment(crd_paths=[CRDS]) as config,
        namespace(config, "lease") as space,
        closing(Kubernetes(config)) as kube,
        Group() as group,
    ):
        options = Options(name="elected", leader_election=LeaderElectionOptions(id="elected"))
        manager = Manager(replace(config, namespace=space), options=options)
        group.start(manager.run, group.stop_event, name="manager")
        assert manager.elected.wait(20.0)
        spec = kube.coordination_v1.leases(space).get("elected").spec
        assert spec.holder_identity
        assert spec.holder_identity.startswith(f"{socket.gethostname()}_")
        assert (spec.lease_duration_seconds, spec.lease_transitions) == (15, 0)
        group.stop()
        group.join(20.0)
        assert not kube.coordination_v1.leases(space).get("elected").spec.holder_identity
        messages = [event.message or "" for event in kube.core_v1.events(space).list().items]
        assert [message for message in messages if message.endswith("became leader")]
