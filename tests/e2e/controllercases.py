"""The sample controller in a cluster, and cases that hold for it with and without a manager."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.envtest.crds import install, read_crds
from clientgo.errors import Invalid, NotFound
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.meta import ObjectMeta
from clientgo.meta import replace as changed
from clientgo.record import EventBroadcaster, sink_for
from clientgo.rest import RESTClient
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo.typed.options import DeleteOptions
from clientgo_apiserver.embedded import EmbeddedServer
from controller import COMPONENT
from controller.api.v1alpha1 import Foo, FooSpec
from controller.controller import Controller
from controller.desired import new_deployment
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory
from tests.e2e.clusters import kubelet, namespace, patience, report_available

CRDS = Path(__file__).parent.parent.parent / "artifacts" / "crd"


class Cluster:
    """Namespace of an environment's server, with the controller running in it."""

    def __init__(self, bundled: BundledServer = BundledServer(), *, flags: Sequence[str] = ()) -> None:  # noqa: B008
        """Create a cluster on the environment's server: the bundled one, or a control plane with `flags`."""
        self.environment = Environment(crd_paths=[CRDS], server=server_from(bundled=bundled, flags=flags))
        self.patience = patience(self.environment)
        with ExitStack() as stack:
            config = stack.enter_context(self.environment)
            self.namespace = stack.enter_context(namespace(config, "foos"))
            stack.enter_context(kubelet(self.environment, config, self.namespace))
            self.client = stack.enter_context(closing(RESTClient(config)))
            self.place = stack.pop_all()
        self.foos_api, self.kube = Clientset(self.client), Kubernetes(self.client)
        self.foos = self.foos_api.samplecontroller_v1alpha1.foos(self.namespace)
        self.deployments = self.kube.apps_v1.deployments(self.namespace)
        self.group = Group()
        self.foo_informers = SharedInformerFactory(self.foos_api, resync=30.0, namespace=self.namespace)
        self.kube_informers = KubernetesInformerFactory(self.kube, resync=30.0, namespace=self.namespace)
        self.broadcaster = EventBroadcaster()
        self.broadcaster.start_recording_to_sink(sink_for(self.kube))
        self.foo_informer = self.foo_informers.samplecontroller.v1alpha1.foos.informer
        self.component = COMPONENT
        self.controller = Controller(
            self.kube.apps_v1, self.foos_api.samplecontroller_v1alpha1, self.kube_informers.apps.v1.deployments,
            self.foo_informers.samplecontroller.v1alpha1.foos, self.broadcaster.new_recorder(component=self.component),
        )  # fmt: skip

    def start(self) -> None:
        self.foo_informers.start(self.group.stop_event)
        self.kube_informers.start(self.group.stop_event)
        self.group.start(self.controller.run, 2, self.group.stop_event, name="controller")

    def close(self) -> None:
        with self.place:  # closed even if a thread does not end
            self.group.stop()
            self.group.join(10)
            self.broadcaster.shutdown()
            self.foo_informers.shutdown(10)
            self.kube_informers.shutdown(10)

    def eventually(self, what: Callable[[], object]) -> None:
        eventually(what, seconds=self.patience)

    def create_foo(self, name: str, replicas: int = 1) -> Foo:
        return self.foos.create(Foo(ObjectMeta(name=name, namespace=self.namespace), FooSpec(name, replicas)))

    def reports(self, name: str, available: int) -> None:
        """Wait until the Foo reports this number of available replicas."""

        def reported() -> bool:
            report_available(self.environment, self.deployments, name, available)
            return self.foos.get(name).status.available_replicas == available

        self.eventually(reported)

    def events(self, reason: str) -> list[Event]:
        return [event for event in self.kube.core_v1.events(self.namespace).list().items if event.reason == reason]

    def replicas(self, name: str) -> int | None:
        return self.deployments.get(name).spec.replicas

    def writes(self) -> dict[tuple[str, str, str], int]:
        """Count the write requests of clients, by method, resource and subresource."""
        server = self.environment.server
        assert isinstance(server, EmbeddedServer)
        resources = (("foos", ""), ("foos", "status"), ("deployments", ""), ("events", ""))
        return {
            (verb, resource, sub): count
            for verb in ("POST", "PUT", "PATCH", "DELETE")
            for resource, sub in resources
            if (count := server.requests(verb=verb, resource=resource, subresource=sub))
        }


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with closing(Cluster()) as built:
        built.start()
        yield built


@pytest.mark.feature("A-01", "A-30", "A-32", "A-10")
def test_a_foo_gets_its_deployment_its_status_and_its_event(cluster: Cluster) -> None:
    cluster.create_foo("a", replicas=2)
    cluster.reports("a", available=2)
    deployment = cluster.deployments.get("a")
    assert deployment.spec.replicas == 2
    assert deployment.spec.template.metadata.labels == {"app": "nginx", "controller": "a"}
    cluster.eventually(lambda: [event.message for event in cluster.events("Synced")] == ["Foo synced successfully"])
    (event,) = cluster.events("Synced")
    assert (event.source and event.source.component, event.involved_object.name) == (cluster.component, "a")


@pytest.mark.feature("A-01")
def test_a_foo_that_changes_takes_its_deployment_along_within_a_second(cluster: Cluster) -> None:
    cluster.create_foo("a")
    cluster.eventually(lambda: cluster.replicas("a") == 1)
    cluster.foos.patch("a", {"spec": {"replicas": 4}})
    eventually(lambda: cluster.replicas("a") == 4, seconds=1.0)
    cluster.reports("a", available=4)


def test_what_others_set_on_the_deployment_stays_when_it_is_scaled(cluster: Cluster) -> None:
    cluster.create_foo("a")
    cluster.eventually(lambda: cluster.replicas("a") == 1)
    cluster.deployments.patch("a", {"metadata": {"annotations": {"theirs": "kept"}}, "spec": {"paused": True}})
    cluster.foos.patch("a", {"spec": {"replicas": 3}})
    cluster.eventually(lambda: cluster.replicas("a") == 3)
    deployment = cluster.deployments.get("a")
    assert deployment.metadata.annotations["theirs"] == "kept"
    assert deployment.spec.paused


@pytest.mark.feature("A-01")
def test_a_deleted_deployment_comes_back(cluster: Cluster) -> None:
    cluster.create_foo("a")
    cluster.eventually(lambda: cluster.replicas("a") == 1)
    first = cluster.deployments.get("a").metadata.uid
    cluster.deployments.delete("a")
    cluster.eventually(lambda: cluster.deployments.get("a").metadata.uid != first)


@pytest.mark.requires("controllers")
def test_a_deleted_foo_takes_its_deployment_along(cluster: Cluster) -> None:
    cluster.create_foo("a")
    cluster.eventually(lambda: cluster.replicas("a") == 1)
    cluster.foos.delete("a")
    cluster.eventually(lambda: cluster.deployments.list().items == [])


@pytest.mark.requires("controllers")
def test_a_foo_that_waits_for_its_deployment_to_be_deleted_first_is_gone_soon(cluster: Cluster) -> None:
    cluster.create_foo("a")
    cluster.reports("a", available=1)
    cluster.foos.delete("a", DeleteOptions(propagation_policy="Foreground"))
    cluster.eventually(lambda: cluster.foos.list().items == [] and cluster.deployments.list().items == [])
    if cluster.environment.server is not None:
        assert cluster.writes()["POST", "deployments", ""] == 1


def test_a_deployment_of_another_owner_is_reported_and_left_alone(cluster: Cluster) -> None:
    foreign = new_deployment(Foo(ObjectMeta(name="x", namespace=cluster.namespace), FooSpec("taken", 7)))
    foreign = changed(foreign, metadata=changed(foreign.metadata, owner_references=()))
    cluster.deployments.create(foreign)
    cluster.foos.create(Foo(ObjectMeta(name="a", namespace=cluster.namespace), FooSpec("taken", 1)))
    cluster.eventually(lambda: cluster.events("ErrResourceExists"))
    (event,) = cluster.events("ErrResourceExists")
    assert event.type == "Warning"
    assert event.message == 'Resource "taken" already exists and is not managed by Foo'
    assert cluster.replicas("taken") == 7
    assert cluster.foos.get("a").status.available_replicas is None


def all_report(cluster: Cluster, count: int, available: int) -> bool:
    foos = cluster.foos.list().items
    return len(foos) == count and all(foo.status.available_replicas == available for foo in foos)


def create_odd(cluster: Cluster) -> None:
    """Store a Foo that cannot be decoded, under a CRD that accepts anything."""
    cluster.place.callback(install, cluster.client, read_crds([CRDS]))
    crds = cluster.kube.apiextensions_v1.custom_resource_definitions()
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    path = "/spec/versions/0/schema/openAPIV3Schema"
    crds.patch("foos.samplecontroller.k8s.io", [{"op": "replace", "path": path, "value": anything}])
    body = b'{"metadata":{"name":"odd"},"spec":{"deploymentName":3}}'
    body = b'{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo",' + body[1:]
    create = Request(verb="create", resource=cluster.foos._gvr, namespace=cluster.namespace, body=body)

    def created() -> bool:
        try:
            cluster.client.do(create)
        except Invalid:
            return False  # a real server takes a moment until it uses the new schema
        return True

    cluster.eventually(created)


def test_an_undecodable_foo_is_skipped_and_logged_once(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    create_odd(cluster)
    cluster.create_foo("fine")
    cluster.reports("fine", available=1)
    # A second list meets the odd one again.
    listed = cluster.foos.list()
    assert [foo.metadata.name for foo in listed.items] == ["fine"]
    assert [error.metadata.name for error in listed.undecodable] == ["odd"]
    assert cluster.foo_informer.undecodable.total == 1
    skipped = [record for record in caplog.records if "cannot be decoded" in record.msg]
    assert len(skipped) == 1
    with pytest.raises(NotFound):
        cluster.deployments.get("odd")


def test_a_foo_that_was_odd_syncs_once_it_is_mended(cluster: Cluster) -> None:
    create_odd(cluster)
    cluster.eventually(lambda: cluster.foo_informer.undecodable)
    cluster.foos.patch("odd", {"spec": {"deploymentName": "odd", "replicas": 3}})
    cluster.reports("odd", available=3)
    assert not cluster.foo_informer.undecodable
