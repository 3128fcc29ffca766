"""Cached reads, writes, and reading the client's own writes."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.dynamic.unstructured import unstructured_type
from clientgo.errors import BadRequest, Conflict, NotFound
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap, Node
from clientgo.manager import AlreadyOwnedError, Client, DirectClient, Manager
from clientgo.meta import ObjectMeta, ObjectName, api_of, replace
from clientgo.meta.applyconfiguration import ObjectMetaApplyConfiguration
from clientgo.rest.client import RESTClient
from clientgo.testing.client import FakeClient
from clientgo.testing.fake import FakeRequester
from clientgo.testing.kubernetes import FakeClientset
from controller.api.v1alpha1 import Foo, FooStatus
from generated.applyconfigurations.samplecontroller_v1alpha1 import FooApplyConfiguration, FooStatusApplyConfiguration
from tests.manager.managed import declared_foo, fake, manager_of, new_foo, running
from tests.workloads import deployment

A = ObjectName("ns", "a")

pytestmark = pytest.mark.feature("B-CR-04")


@pytest.fixture
def requester() -> FakeRequester:
    return fake(new_foo("a"), new_foo("b"), new_foo("c", namespace="other"))


@pytest.fixture
def manager(requester: FakeRequester) -> Iterator[Manager]:
    built = manager_of(requester)
    built.cache.add_index(Foo, "spec.deploymentName", lambda foo: [foo.spec.deployment_name])
    with running(built):
        yield built


def names(objects: list[Foo]) -> list[str]:
    return sorted(foo.metadata.name for foo in objects)


@pytest.mark.feature("B-CR-03")
def test_first_read_starts_an_informer_and_later_reads_need_no_request(
    manager: Manager, requester: FakeRequester
) -> None:
    assert manager.client.get(Foo, A) == manager.api_reader.get(Foo, A) == manager.api_reader.find(Foo, A)
    assert manager.api_reader.find(Foo, A._replace(name="another")) is None
    requester.clear_actions()
    assert names(manager.client.list(Foo)) == ["a", "b", "c"]
    assert manager.client.find(Foo, ObjectName("ns", "absent")) is None
    assert requester.actions == []
    assert manager.client.list(ConfigMap) == []
    assert [action.verb for action in requester.actions if action.resource.resource == "configmaps"][:1] == ["list"]


def test_object_of_another_controller_is_not_taken_over_by_an_apply(manager: Manager, requester: FakeRequester) -> None:
    config = ConfigMap(metadata=ObjectMeta(name="c", namespace="ns"), data={"a": "b"})
    first, second = (manager.client.get(Foo, ObjectName("ns", name)) for name in ("a", "b"))
    manager.client.list(ConfigMap)
    manager.client.apply(config, owner=first)
    requester.clear_actions()
    with pytest.raises(AlreadyOwnedError, match="ns/c is already controlled by Foo a"):
        manager.client.apply(config, owner=second)
    assert [action.verb for action in requester.actions if action.verb not in ("list", "watch")] == []
    manager.client.apply(replace(config, data={}), owner=first)


def test_object_still_exists_only_with_its_uid_and_until_it_is_deleted(
    manager: Manager, requester: FakeRequester
) -> None:
    foo = manager.client.get(Foo, A)
    assert manager.client.still_exists(foo)
    other = replace(foo, metadata=replace(foo.metadata, uid="of an earlier object"))
    assert not manager.client.still_exists(other)
    finalizers = replace(foo, metadata=replace(foo.metadata, finalizers=("example.com/cleanup",)))
    updated = manager.client.update(finalizers)
    manager.client.delete(updated)
    assert not manager.client.still_exists(updated)
    assert not manager.client.still_exists(new_foo("absent"))


def test_object_is_current_only_with_the_spec_of_the_server(manager: Manager) -> None:
    foo = manager.client.get(Foo, A)
    assert manager.client.is_current(foo)
    earlier = replace(foo, metadata=replace(foo.metadata, generation=foo.metadata.generation - 1))
    assert not manager.client.is_current(earlier)
    assert not manager.client.is_current(new_foo("absent"))


def test_object_without_a_generation_is_current_only_with_the_content_of_the_server(manager: Manager) -> None:
    config = manager.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"), data={"a": "1"}))
    assert manager.client.is_current(config)
    assert not manager.client.is_current(replace(config, data={"a": "0"}))


def test_missing_object_is_not_found(manager: Manager) -> None:
    with pytest.raises(NotFound, match=r'foos.samplecontroller.k8s.io "x" not found'):
        manager.client.get(Foo, ObjectName("ns", "x"))


def test_namespace_of_a_name_must_match_the_scope_of_its_kind(manager: Manager) -> None:
    with pytest.raises(ValueError, match="a Foo must have a namespace"):
        manager.client.get(Foo, ObjectName("", "a"))
    with pytest.raises(ValueError, match="a Node cannot have a namespace"):
        manager.client.find(Node, A)


NODE = Node(metadata=ObjectMeta(name="a", namespace="ns"))


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.create(NODE),
        lambda client: client.update(NODE),
        lambda client: client.update_status(NODE),
        lambda client: client.patch(NODE, {}),
        lambda client: client.apply(NODE),
        lambda client: client.delete(NODE),
        lambda client: client.list(Node, namespace="ns"),
        lambda client: client.delete_all_of(Node, namespace="ns"),
        lambda client: client.typed(Node, "ns"),
        lambda client: client.subresource("status").get(NODE, Node),
        lambda client: client.create(replace(new_foo(), metadata=ObjectMeta(name="a"))),
    ],
)
@pytest.mark.parametrize("make", [FakeClient, lambda: manager_of(fake()).client])
def test_call_with_a_namespace_that_the_kind_cannot_have_is_an_error(
    call: Callable[[Client], object], make: Callable[[], Client]
) -> None:
    with pytest.raises(ValueError, match=r"a Node cannot have a namespace|a Foo must have a namespace"):
        call(make())


def test_fake_clientset_rejects_the_namespace_of_a_cluster_scoped_object() -> None:
    with pytest.raises(ValueError, match="a Node cannot have a namespace"):
        FakeClientset(NODE)
    nodes = FakeClientset().core_v1.nodes()
    assert nodes.create(NODE).metadata.namespace == ""  # as on a server
    with pytest.raises(ValueError, match="a Node cannot have a namespace"):
        type(nodes)(FakeClientset().requester, "ns")


def test_text_is_no_name_of_an_object(manager: Manager) -> None:
    text: Any = "ns/a"
    for reader in (manager.client, manager.api_reader, FakeClient()):
        for read in (reader.get, reader.find):
            with pytest.raises(TypeError, match=r"invalid name 'ns/a': expected ObjectName\(namespace, name\)"):
                read(Foo, text)


@pytest.mark.feature("B-CR-03")
def test_objects_are_listed_by_namespace_labels_and_indexed_fields(manager: Manager) -> None:
    client = manager.client
    client.patch(new_foo("a"), {"metadata": {"labels": {"team": "x"}}})
    assert names(client.list(Foo, namespace="ns")) == ["a", "b"]
    assert names(client.list(Foo, label_selector="team=x")) == ["a"]
    assert names(client.list(Foo, fields={"spec.deploymentName": "b-deployment"})) == ["b"]
    assert names(client.list(Foo, namespace="other", fields={"spec.deploymentName": "b-deployment"})) == []
    two = {"spec.deploymentName": "a-deployment", "metadata.uid": "uid-b"}
    manager.cache.add_index(Foo, "metadata.uid", lambda foo: [foo.metadata.uid])
    assert client.list(Foo, fields=two) == []
    assert names(client.list(Foo, fields={**two, "metadata.uid": "uid-a"})) == ["a"]
    with pytest.raises(KeyError, match=r"spec\.replicas"):
        client.list(Foo, fields={"spec.replicas": "1"})


@pytest.mark.feature("C-35")
def test_every_write_has_a_field_manager(manager: Manager, requester: FakeRequester) -> None:
    client = manager.client
    foo = client.create(new_foo("d"))
    foo = client.update(replace(foo, spec=replace(foo.spec, replicas=2)))
    foo = client.update_status(replace(foo, status=FooStatus(1)))
    foo = client.patch(foo, {"spec": {"replicas": 3}})
    foo = client.patch_status(foo, {"status": {"availableReplicas": 3}})
    assert (foo.spec.replicas, foo.status.available_replicas) == (3, 3)
    labelled = ObjectMetaApplyConfiguration(name="d", namespace="ns", labels={"team": "x"})
    assert client.apply_configuration(FooApplyConfiguration(metadata=labelled)).metadata.labels == {"team": "x"}
    with pytest.raises(Conflict):
        client.update(foo)
    client.delete(foo)
    client.delete_all_of(Foo, namespace="ns")
    writes = [action for action in requester.actions if action.is_write]
    assert [action.verb for action in writes] == [
        "create", "update", "update", "patch", "patch", "apply", "update", "delete", "deletecollection",
    ]  # fmt: skip
    assert {action.field_manager for action in writes[:7]} == {"test"}
    assert names(manager.api_reader.list(Foo)) == ["c"]


@pytest.mark.feature("C-35")
def test_object_and_status_are_applied(manager: Manager, requester: FakeRequester) -> None:
    foo = declared_foo("d")
    assert manager.client.apply(foo).spec == foo.spec
    with_status = replace(foo, status=FooStatus(2))
    assert manager.client.apply(with_status, status=True).status == FooStatus(2)
    configured = FooApplyConfiguration(
        metadata=ObjectMetaApplyConfiguration(name="d", namespace="ns"),
        status=FooStatusApplyConfiguration(available_replicas=3),
    )
    assert manager.client.apply_configuration(configured, status=True, force=True).status == FooStatus(3)
    applies = [(action.subresource, action.field_manager) for action in requester.actions if action.verb == "apply"]
    assert applies == [("", "test"), ("status", "test"), ("status", "test")]
    with pytest.raises(BadRequest, match="a namespace must be given"):
        manager.client.apply_configuration(FooApplyConfiguration(metadata=ObjectMetaApplyConfiguration(name="d")))


def test_unstructured_kinds_are_read_from_the_server_by_default(requester: FakeRequester) -> None:
    cls = unstructured_type(api_of(Foo).gvr, kind="Foo")
    for cached in (False, True):
        manager = manager_of(requester, cache_unstructured=cached)
        with running(manager):
            assert manager.client.get(cls, A)["spec"]["deploymentName"] == "a-deployment"
            stored = manager.client.find(cls, A)
            assert stored is not None
            assert len(manager.client.list(cls, namespace="ns")) == 2
            assert len(manager.cache.informers()) == int(cached)


def test_finding_an_uncached_object_needs_only_get(manager: Manager, requester: FakeRequester) -> None:
    cls = unstructured_type(api_of(Foo).gvr, kind="Foo")
    requester.clear_actions()
    stored = manager.client.find(cls, A)
    assert stored is not None
    assert stored.metadata.name == A.name
    assert manager.client.find(cls, A._replace(name="absent")) is None
    assert [action.verb for action in requester.actions] == ["get", "get"]


def test_typed_client_has_scale_and_other_methods(manager: Manager) -> None:
    manager.client.create(deployment("d"))
    assert manager.client.typed(Deployment, "ns").get_scale("d").metadata.name == "d"


@pytest.mark.parametrize(
    ("create", "words"),
    [
        (RESTClient, "expected a Config, such as load_config()"),
        (Clientset, "expected a requester, such as RESTClient(load_config())"),
        (DirectClient, "expected a requester, such as RESTClient(load_config())"),
        (Manager, "expected a requester, such as RESTClient(load_config())"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_client_of_an_address_is_rejected_at_once(create: Callable[[Any], object], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"{words}, got a str")):
        create("https://api.example:6443")
