"""The fake of the manager's client, as unit tests of reconcilers use it."""

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.errors import ApiError, BadRequest, Conflict, Forbidden, NotFound
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.batch_v1 import Job, JobSpec
from clientgo.kubernetes.types.core_v1 import ConfigMap, Container, Node, PodSpec, PodTemplateSpec
from clientgo.manager import Client, NotIndexed, OperationResult, create_or_patch, set_controller_reference
from clientgo.meta import ObjectMeta, ObjectName, api_of, change, replace
from clientgo.record import EventRecorder, FakeRecorder
from clientgo.testing.client import FakeClient
from clientgo.typed.options import DeleteOptions
from clientgo.typed.scale import Scale, ScaleSpec
from controller.api.v1alpha1 import Foo, FooSpec, FooStatus
from tests.workloads import deployment

A = ObjectName("ns", "a")

pytestmark = pytest.mark.feature("B-CR-14")


def foo(name: str = "a", replicas: int = 1, **meta: object) -> Foo:
    return Foo(ObjectMeta(name=name, namespace="ns", **meta), FooSpec(f"{name}-deployment", replicas))  # type: ignore[arg-type]


class Reconciler:
    """Reconciler of Foos, written for the manager's client."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self.client = client
        self.recorder = recorder

    def reconcile(self, request: ObjectName) -> None:
        stored = self.client.find(Foo, request)
        if stored is None:
            return
        expected = deployment(stored.spec.deployment_name)
        _, outcome = create_or_patch(
            self.client,
            expected,
            lambda old: set_controller_reference(
                stored, change(old, lambda d: d.spec.replicas).to(stored.spec.replicas)
            ),
        )
        if outcome is not OperationResult.UNCHANGED:
            self.recorder.event(stored, "Normal", "Synced", outcome)
        self.client.update_status(replace(stored, status=FooStatus(available_replicas=stored.spec.replicas or 0)))


def test_reconciler_is_called_with_objects_in_memory() -> None:
    client, recorder = FakeClient(foo(replicas=3), deployment("a-deployment")), FakeRecorder(10)
    Reconciler(client, recorder).reconcile(A)
    assert client.get(Deployment, ObjectName("ns", "a-deployment")).spec.replicas == 3
    assert client.get(Foo, A).status.available_replicas == 3
    assert recorder.drain() == ["Normal Synced updated"]
    assert [str(action) for action in client.writes] == ["patch deployments ns/a-deployment", "update foos/status ns/a"]


def test_seeded_objects_have_the_generation_of_created_ones() -> None:
    client = FakeClient(foo(), foo("b", generation=7), Node(metadata=ObjectMeta(name="n")))
    assert client.get(Foo, A).metadata.generation == FakeClient().create(foo()).metadata.generation == 1
    assert client.get(Foo, ObjectName("ns", "b")).metadata.generation == 7
    config = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"))
    assert FakeClient(config).get(ConfigMap, A).metadata.generation == 0


def test_status_of_a_kind_that_no_given_object_has_is_a_subresource() -> None:
    client = FakeClient()
    built = client.create(replace(foo(), status=FooStatus(available_replicas=9)))
    assert built.status == FooStatus()
    assert client.update(replace(built, status=FooStatus(available_replicas=9))).status == FooStatus()
    assert client.update_status(replace(built, status=FooStatus(available_replicas=1))).status.available_replicas == 1
    assert client.patch_status(built, {"status": {"availableReplicas": 2}}).status.available_replicas == 2


def test_deletion_of_a_missing_object_is_an_error_unless_missing_ok() -> None:
    client = FakeClient()
    client.delete(foo(), missing_ok=True)
    with pytest.raises(NotFound):
        client.delete(foo())
    client.fail("delete", Foo, NotFound("404 page not found"))
    with pytest.raises(NotFound, match="page not found"):
        client.delete(foo(), missing_ok=True)


def test_objects_of_a_deleted_owner_remain() -> None:
    client = FakeClient(foo())
    owned = client.create(set_controller_reference(client.get(Foo, A), deployment("d")))
    client.delete(foo())
    assert client.api_reader.list(Deployment) == [owned]


@pytest.mark.parametrize("options", [None, DeleteOptions(propagation_policy="Foreground")])
def test_nothing_waits_for_the_garbage_collector(options: DeleteOptions | None) -> None:
    pods = PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=(Container(name="c", image="i"),)))
    client = FakeClient(job := Job(metadata=ObjectMeta(name="a", namespace="ns"), spec=JobSpec(template=pods)))
    client.delete(job, options=options)
    assert client.list(Job) == []


def test_lists_select_by_namespace_labels_and_indexed_fields() -> None:
    elsewhere = Foo(ObjectMeta(name="a", namespace="other"), FooSpec("a-deployment", 1))
    client = FakeClient(foo("a", labels={"team": "x"}), foo("b"), elsewhere)
    assert [item.metadata.name for item in client.list(Foo, namespace="ns")] == ["a", "b"]
    assert [entry.metadata.name for entry in client.list(Foo, label_selector="team=x")] == ["a"]
    assert len(client.list(Foo, limit=2)) == 2
    with pytest.raises(KeyError, match="deploymentName"):
        client.list(Foo, fields={"deploymentName": "a-deployment"})
    client.cache.add_index(Foo, "deploymentName", lambda element: [element.spec.deployment_name])
    result = client.list(Foo, fields={"deploymentName": "a-deployment"}, namespace="ns")
    assert result == client.list(Foo, fields={"deploymentName": "a-deployment"}, limit=1) == [client.get(Foo, A)]


def test_generated_names_subresources_and_typed_clients_work() -> None:
    client = FakeClient(deployment("d", replicas=1))
    built = client.create(ConfigMap(metadata=ObjectMeta(generate_name="settings-", namespace="ns")))
    assert built.metadata.name.startswith("settings-")
    scale = client.subresource("scale").get(deployment("d"), Scale)
    client.subresource("scale").update(deployment("d"), replace(scale, spec=ScaleSpec(replicas=5)))
    assert client.typed(Deployment, "ns").get("d").spec.replicas == 5
    assert client.api_reader.list(Deployment) == client.list(Deployment)
    client.delete_all_of(Deployment, namespace="ns")
    assert client.list(Deployment) == []


def test_apply_with_a_uid_does_not_create_a_missing_object() -> None:
    client = FakeClient(node := Node(metadata=ObjectMeta(name="n1", uid="1")))
    labelled = Node(metadata=ObjectMeta(name="n1", uid="1", labels={"zone": "a"}))
    assert client.apply(labelled).metadata.labels == {"zone": "a"}
    client.delete(node)
    with pytest.raises(Conflict, match="and no existing object was found"):
        client.apply(labelled)
    assert client.apply(change(labelled, lambda n: n.metadata.uid).to("")).metadata.uid != "1"


def test_failures_apply_to_a_verb_of_a_kind_for_a_number_of_calls() -> None:
    client = FakeClient(foo(), deployment("d"))
    client.fail("update", Foo, Conflict("changed"), times=1)
    client.fail("*", "deployments", Forbidden("no access"))
    stored = client.get(Foo, A)
    with pytest.raises(Conflict, match="changed"):
        client.update_status(stored)
    client.update_status(stored)
    for _ in range(2):
        with pytest.raises(Forbidden):
            client.list(Deployment)
    with pytest.raises(Forbidden):
        client.typed(Deployment, "ns").watch()
    client.fail("create", "*", ApiError("out of order"))
    with pytest.raises(ApiError, match="out of order"):
        client.create(ConfigMap(metadata=ObjectMeta(name="c", namespace="ns")))
    with pytest.raises(NotFound):
        client.get(ConfigMap, ObjectName("ns", "c"))


@pytest.mark.parametrize("make", [unstructured_type, metadata_type])
def test_kinds_without_a_class_are_listed_by_indexes_if_they_are_cached(make: Callable[..., type[Any]]) -> None:
    cls = make(api_of(ConfigMap).gvr, kind="ConfigMap")
    marked = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", annotations={"mode": "copy"}))
    client = FakeClient(marked, ConfigMap(metadata=ObjectMeta(name="b", namespace="ns")), cache_unstructured=True)
    client.add_index(cls, "mode", lambda obj: [obj.metadata.annotations.get("mode", "")])
    assert [obj.metadata.name for obj in client.list(cls, namespace="ns", fields={"mode": "copy"})] == ["a"]


def test_unstructured_kinds_are_selected_by_the_server_by_default() -> None:
    cls = unstructured_type(api_of(ConfigMap).gvr, kind="ConfigMap")
    client = FakeClient(ConfigMap(metadata=ObjectMeta(name="a", namespace="ns")))
    assert [obj.metadata.name for obj in client.list(cls, fields={"metadata.name": "a"})] == ["a"]
    with pytest.raises(BadRequest, match='"mode" is not a known field selector'):
        client.list(cls, fields={"mode": "copy"})


def test_list_by_a_field_without_an_index_is_rejected_before_there_are_objects() -> None:
    message = "ConfigMap has no index 'x': declare it on the reconciler, indexes={ConfigMap: {'x': function}}, or call"
    with pytest.raises(NotIndexed) as raised:
        FakeClient().list(ConfigMap, fields={"x": "y"})
    assert str(raised.value).startswith(message)


def test_objects_that_are_read_have_no_managed_fields_as_in_a_cache() -> None:
    client = FakeClient(foo())
    client.create(deployment("d"))
    name = ObjectName("ns", "d")
    assert client.api_reader.get(Deployment, name).metadata.managed_fields
    read = [client.get(Deployment, name), client.find(Deployment, name), *client.list(Deployment)]
    assert [obj.metadata.managed_fields for obj in read if obj] == [()] * 3
