"""Server-side apply on the fake: ownership, conflicts, and removal of fields without owners."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from clientgo.errors import Conflict
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, Meta, ObjectMeta, Scheme, api_type
from clientgo.rest.request import APPLY_PATCH, MERGE_PATCH, Request
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.typed.client import TypedClient


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


def test_repeated_apply_is_a_call_that_leaves_the_object_as_it_is() -> None:
    fake = FakeClient()
    fake.apply(config(k="v"))
    before = fake.list(ConfigMap)
    fake.clear_actions()
    fake.apply(config(k="v"))
    assert [action.verb for action in fake.writes] == ["apply"]
    assert fake.list(ConfigMap) == before


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
