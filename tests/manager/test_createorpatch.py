"""Writes of create-or-patch and create-or-update."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.errors import Conflict, Invalid
from clientgo.kubernetes.types.apps_v1 import DeploymentStatus
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import DirectClient, Manager, OperationResult, create_or_patch, create_or_update
from clientgo.meta import EMPTY_MAP, ObjectMeta, Scheme, api_of, api_type, object_name, replace
from clientgo.meta.jsonvalues import same
from clientgo.testing.client import FakeClient
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo, FooStatus
from tests.manager.managed import fake, manager_of, new_foo, running
from tests.workloads import deployment

pytestmark = pytest.mark.feature("B-CR-11")


@dataclass(frozen=True, slots=True)
class Item:
    name: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class BagSpec:
    items: tuple[Item, ...] = ()
    open: Mapping[str, Any] = EMPTY_MAP


@api_type(group="example.com", version="v1", status=False, crd=False)
@dataclass(frozen=True, slots=True)
class Bag:
    """Kind whose server has fields that this class lacks."""

    metadata: ObjectMeta
    spec: BagSpec = BagSpec()


FOO = replace(new_foo(), status=FooStatus(1))


@pytest.fixture
def requester() -> FakeRequester:
    return fake(FOO)


@pytest.fixture
def manager(requester: FakeRequester) -> Iterator[Manager]:
    built = manager_of(requester)
    with running(built):
        built.client.list(Foo)
        built.client.list(ConfigMap)
        requester.clear_actions()
        yield built


def patches(requester: FakeRequester) -> list[tuple[str, object]]:
    return [(action.subresource, json.loads(action.patch)) for action in requester.actions if action.verb == "patch"]


def writes(requester: FakeRequester) -> list[str]:
    """Return the verbs of the writes; the informers' watches may open at any time."""
    return [action.verb for action in requester.actions if action.verb not in ("get", "list", "watch")]


def test_missing_object_is_created(manager: Manager) -> None:
    config = ConfigMap(metadata=ObjectMeta(name="c", namespace="ns"))
    built, outcome = create_or_patch(manager.client, config, lambda obj: replace(obj, data={"a": "b"}))
    assert outcome == "created"
    assert manager.api_reader.list(ConfigMap) == [built]
    assert built.data == {"a": "b"}


@pytest.mark.parametrize("registered", [True, False], ids=["status subresource", "whole objects"])
def test_status_of_a_new_object_is_written(registered: bool) -> None:
    client = FakeClient(new_foo("other")) if registered else DirectClient(fake())
    built, outcome = create_or_patch(client, new_foo(), lambda obj: replace(obj, status=FooStatus(2)))
    assert (built.status, outcome) == (FooStatus(2), OperationResult.CREATED)
    assert client.api_reader.get(Foo, object_name(built)) == built


def test_new_object_without_status_is_written_once(manager: Manager, requester: FakeRequester) -> None:
    create_or_patch(manager.client, new_foo("new"), lambda obj: obj)
    assert writes(requester) == ["create"]


def test_equal_object_is_not_written(manager: Manager, requester: FakeRequester) -> None:
    _, outcome = create_or_patch(manager.client, FOO, lambda obj: obj)
    assert outcome == OperationResult.UNCHANGED
    assert writes(requester) == []


def test_only_the_difference_is_sent(manager: Manager, requester: FakeRequester) -> None:
    done, outcome = create_or_patch(
        manager.client, FOO, lambda obj: replace(obj, spec=replace(obj.spec, replicas=3, deployment_name="b"))
    )
    assert outcome == OperationResult.UPDATED
    assert done.spec.replicas == 3
    assert patches(requester) == [("", {"metadata": {"uid": "uid-a"}, "spec": {"replicas": 3, "deploymentName": "b"}})]


@pytest.mark.parametrize(
    ("write", "retained"), [(create_or_patch, {"newer": 1}), (create_or_update, {})], ids=["patch", "update"]
)
def test_unknown_fields_are_dropped_by_an_update_and_in_items_of_patched_lists(
    write: Callable[..., object], retained: dict[str, int]
) -> None:
    stored = {"metadata": {"name": "d", "namespace": "ns"}, "spec": {"newer": 1, "items": [{"name": "a", "newer": 1}]}}
    requester = FakeRequester({"apiVersion": "example.com/v1", "kind": "Bag", **stored}, scheme=Scheme(Bag))

    def with_image(obj: Bag) -> Bag:
        return replace(obj, spec=replace(obj.spec, items=(Item("a", "b"),)))

    with running(built := manager_of(requester)):
        write(built.client, Bag(ObjectMeta(name="d", namespace="ns")), with_image)
    spec = requester.tracker.get(api_of(Bag).gvr, "ns", "d")["spec"]
    assert spec == {"items": [{"name": "a", "image": "b"}], **retained}


def test_status_subresource_is_patched_separately(manager: Manager, requester: FakeRequester) -> None:
    _, outcome = create_or_patch(manager.client, FOO, lambda obj: replace(obj, status=FooStatus(2)))
    assert outcome == OperationResult.UPDATED_STATUS_ONLY
    assert patches(requester) == [("status", {"metadata": {"uid": "uid-a"}, "status": {"availableReplicas": 2}})]
    requester.clear_actions()
    done, outcome = create_or_patch(
        manager.client, FOO, lambda obj: replace(obj, status=FooStatus(), spec=replace(obj.spec, replicas=None))
    )
    assert outcome == OperationResult.UPDATED_STATUS
    assert [subresource for subresource, _ in patches(requester)] == ["", "status"]
    assert (done.spec.replicas, done.status.available_replicas) == (None, None)


def test_create_or_update_replaces_an_unchanged_object(manager: Manager, requester: FakeRequester) -> None:
    updated = replace(FOO.spec, replicas=3)
    done, outcome = create_or_update(manager.client, FOO, lambda obj: replace(obj, spec=updated))
    assert (done.spec, outcome) == (updated, OperationResult.UPDATED)
    assert create_or_update(manager.client, FOO, lambda obj: obj) == (done, OperationResult.UNCHANGED)
    assert writes(requester) == ["update"]
    old = replace(done, metadata=replace(done.metadata, resource_version="1"))
    with pytest.raises(Conflict):
        create_or_update(manager.client, FOO, lambda _: replace(old, spec=FOO.spec))
    config = ConfigMap(metadata=ObjectMeta(name="c", namespace="ns"))
    assert create_or_update(manager.client, config, lambda obj: obj)[1] == OperationResult.CREATED


def test_update_excludes_a_status_subresource(manager: Manager, requester: FakeRequester) -> None:
    done = create_or_update(manager.client, FOO, lambda obj: replace(obj, status=FooStatus(2)))
    assert done[1] == OperationResult.UNCHANGED
    assert writes(requester) == []


def test_change_of_the_name_is_rejected(manager: Manager) -> None:
    with pytest.raises(ValueError, match="ns/a was changed into ns/b: the name of an object cannot change"):
        create_or_patch(manager.client, FOO, lambda _: new_foo("b"))


@pytest.mark.parametrize("write", [create_or_patch, create_or_update])
@pytest.mark.parametrize(("before", "after"), [(True, 1), (0, False), ([1], [True]), ({"a": 0}, {"a": False})])
def test_boolean_and_number_of_an_open_map_are_different(write: Any, before: Any, after: Any) -> None:
    bag = Bag(ObjectMeta(name="b", namespace="ns"), BagSpec(open={"on": before}))
    client = FakeClient(bag)
    written, result = write(client, bag, lambda obj: replace(obj, spec=BagSpec(open={"on": after})))
    assert result == "updated"
    assert same(dict(written.spec.open), {"on": after})
    assert write(client, bag, lambda obj: replace(obj, spec=BagSpec(open={"on": after})))[1] == "unchanged"


FOREIGN: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "spec": (new_foo("a"), lambda foo: replace(foo, spec=replace(foo.spec, replicas=7))),
    "status": (deployment("a"), lambda found: replace(found, status=DeploymentStatus(replicas=7))),
}


@pytest.mark.parametrize(("obj", "desired"), FOREIGN.values(), ids=FOREIGN)
def test_object_created_under_the_name_in_the_meantime_is_not_patched(obj: Any, desired: Callable[[Any], Any]) -> None:
    client = FakeClient(obj)
    read = client.list(type(obj))[0]

    def change(live: Any) -> Any:
        client.delete(live)
        client.create(replace(live, metadata=ObjectMeta(name="a", namespace="ns")))
        return desired(live)

    with pytest.raises(Invalid, match=r"metadata.uid: .*field is immutable"):
        create_or_patch(client, read, change)
    (foreign,) = client.list(type(obj))
    assert (foreign.spec, foreign.status) == (read.spec, read.status)
