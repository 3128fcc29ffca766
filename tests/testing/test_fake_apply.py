"""Server-side apply on the fake: ownership, conflicts, and removal of fields without owners."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from clientgo.errors import BadRequest, Conflict, Invalid
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, Meta, ObjectMeta, Scheme, api_type
from clientgo.rest.request import APPLY_PATCH, MERGE_PATCH, Request
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.typed.client import TypedClient
from generated.applyconfigurations.samplecontroller_v1alpha1 import (
    FooApplyConfiguration,
    FooSpecApplyConfiguration,
    FooStatusApplyConfiguration,
)
from generated.clientset.fake import FakeClientset


class ConfigMaps(TypedClient[ConfigMap]):
    kind = ConfigMap


@pytest.fixture
def client() -> ConfigMaps:
    return ConfigMaps(FakeRequester(scheme=Scheme(ConfigMap), clock=FakeClock()), "default")


def config(**data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="cm-1", namespace="default"), data=data)


def apply(client: ConfigMaps, manager: str, *, force: bool = False, **data: str) -> dict[str, str]:
    return dict(client.apply(config(**data), field_manager=manager, force=force).data)


@pytest.mark.feature("D-09", "B-TST-04", "B-CR-14")
@pytest.mark.behaviour("FX-08")
def test_managers_own_what_they_apply(client: ConfigMaps) -> None:
    client.create(config(k0="v0"))
    assert apply(client, "test-manager-1", k1="v1") == {"k0": "v0", "k1": "v1"}
    with pytest.raises(Conflict) as caught:
        apply(client, "test-manager-2", k1="xyz")
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "test-manager-1": .data.k1'
    assert apply(client, "test-manager-2", k2="v2") == {"k0": "v0", "k1": "v1", "k2": "v2"}
    assert apply(client, "test-manager-1", k1="v101") == {"k0": "v0", "k1": "v101", "k2": "v2"}
    assert apply(client, "test-manager-2", force=True, k1="v202") == {"k0": "v0", "k1": "v202"}
    assert dict(client.update(config(k99="v99"), field_manager="test-manager-1").data) == {"k99": "v99"}


@pytest.mark.feature("B-TST-04")
def test_managed_fields_name_the_owner_of_each_field(client: ConfigMaps) -> None:
    client.create(config(k0="v0"), field_manager="creator")
    stored = client.apply(config(k1="v1"), field_manager="m")
    owned = {(e.manager, e.operation): dict(e.fields_v1 or {}) for e in stored.metadata.managed_fields}
    assert owned == {("creator", "Update"): {"f:data": {".": {}, "f:k0": {}}}, ("m", "Apply"): {"f:data": {"f:k1": {}}}}


def test_a_conflict_with_an_update_says_of_which_version(client: ConfigMaps) -> None:
    client.apply(config(a="1", b="1"), field_manager="m")
    client.patch("cm-1", {"data": {"a": "2", "b": "2"}}, field_manager="editor")
    with pytest.raises(Conflict) as caught:
        apply(client, "m", a="3", b="3")
    assert str(caught.value) == (
        'Apply failed with 2 conflicts: conflicts with "editor" using v1:\n- .data.a\n- .data.b'
    )
    assert [cause.field for cause in caught.value.details.causes] == [".data.a", ".data.b"]


def test_fields_that_two_managers_apply_alike_stay_until_both_let_go(client: ConfigMaps) -> None:
    apply(client, "one", k="v", own="1")
    apply(client, "two", k="v")
    assert apply(client, "one", own="1") == {"own": "1", "k": "v"}
    assert apply(client, "two") == {"own": "1"}


def test_an_update_takes_what_it_changes_and_frees_what_it_drops(client: ConfigMaps) -> None:
    client.apply(config(a="1", b="1", c="1"), field_manager="m")
    client.patch("cm-1", {"data": {"a": "2"}}, field_manager="editor")
    stored = client.patch("cm-1", {"data": {"b": "2", "c": None}}, field_manager="editor")
    owned = {e.manager: dict(e.fields_v1 or {}) for e in stored.metadata.managed_fields}
    assert owned == {"editor": {"f:data": {"f:a": {}, "f:b": {}}}}


def test_an_apply_without_a_manager_is_invalid(client: ConfigMaps) -> None:
    with pytest.raises(Invalid, match="fieldManager: Required value"):
        client.apply(config(), field_manager="")


@pytest.mark.behaviour("FX-11")
@pytest.mark.behaviour("FX-12")
def test_kinds_the_fake_has_never_heard_of_can_be_applied_and_updated() -> None:
    fake, gvr = FakeRequester(), GroupVersionResource("shop.example.com", "v1", "gadgets")
    body = b'{"apiVersion":"shop.example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"x":%d}}'
    patch = b'{"spec":{"x":2}}'
    location = {"resource": gvr, "namespace": "ns", "name": "g"}
    query = {"fieldManager": "m"}
    fake.do(Request(verb="apply", body=body % 1, content_type=APPLY_PATCH, query=query, **location))  # type: ignore[arg-type]
    fake.do(Request(verb="patch", body=patch, content_type=MERGE_PATCH, query={"fieldManager": "n"}, **location))  # type: ignore[arg-type]
    assert fake.tracker.get(gvr, "ns", "g")["spec"] == {"x": 2}
    with pytest.raises(Conflict, match=r'conflict with "n" using shop\.example\.com/v1'):
        fake.do(Request(verb="apply", body=body % 3, content_type=APPLY_PATCH, query=query, **location))  # type: ignore[arg-type]


GADGETS = GroupVersionResource("shop.example.com", "v1", "gadgets")


def apply_body(body: bytes, name: str) -> FakeRequester:
    fake, query = FakeRequester(), {"fieldManager": "m"}
    location: dict[str, Any] = {"resource": GADGETS, "namespace": "ns", "name": name}
    fake.do(Request(verb="apply", body=body, content_type=APPLY_PATCH, query=query, **location))
    return fake


@pytest.mark.parametrize(
    ("body", "name", "error"),
    [
        (b"{}", "", BadRequest),
        (b'{"metadata": {"name": "other"}}', "g", BadRequest),
        (b'{"metadata": []}', "g", BadRequest),
        (b"[]", "g", BadRequest),
    ],
)
def test_apply_without_a_usable_name_or_metadata_is_rejected(body: bytes, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        apply_body(body, name)


def test_create_without_a_name_is_invalid(client: ConfigMaps) -> None:
    with pytest.raises(Invalid, match="name or generateName is required"):
        client.create(ConfigMap(metadata=ObjectMeta(namespace="default")))


NAME = {"name": "f", "namespace": "ns"}


@pytest.mark.feature("A-46")
def test_an_apply_of_the_status_is_an_entry_of_its_own_and_sets_nothing_else() -> None:
    foos = FakeClientset().samplecontroller_v1alpha1.foos("ns")
    foos.apply({"metadata": NAME, "spec": {"deploymentName": "d"}}, field_manager="m")
    spec, status = FooSpecApplyConfiguration(replicas=9), FooStatusApplyConfiguration(available_replicas=2)
    foo = foos.apply_status({"metadata": NAME, **FooApplyConfiguration(spec=spec, status=status)}, field_manager="m")
    assert (foo.spec.replicas, foo.status.available_replicas) == (None, 2)
    entries = {entry.subresource or "": dict(entry.fields_v1 or {}) for entry in foo.metadata.managed_fields}
    assert entries == {"": {"f:spec": {"f:deploymentName": {}}}, "status": {"f:status": {"f:availableReplicas": {}}}}
    assert FooApplyConfiguration.extract(foo, "m", subresource="status").status == status
    assert "status" not in FooApplyConfiguration.extract(foo, "m")
    updated_foo = foos.update_status(foo, field_manager="other")
    assert updated_foo.metadata.managed_fields == foo.metadata.managed_fields, "an update that changes nothing"


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class RackSpec:
    slots: Annotated[tuple[Slot, ...], Meta(list_type="map", list_map_keys=("name",))] = ()


@api_type(group="shop.example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Rack:
    metadata: ObjectMeta
    spec: RackSpec = RackSpec()


def test_two_managers_apply_an_item_each_by_the_definition_of_the_class() -> None:
    client = FakeClient()

    def apply_slots(manager: str, *names: str) -> list[str]:
        spec = RackSpec(slots=tuple(map(Slot, names)))
        rack = client.writing(field_manager=manager).apply(Rack(ObjectMeta(name="r", namespace="ns"), spec))
        return [slot.name for slot in rack.spec.slots]

    assert apply_slots("one", "a") == ["a"]
    assert apply_slots("two", "b") == ["a", "b"]
    assert apply_slots("one") == ["b"]
