"""Server-side apply on the fake: ownership, conflicts, and removal of fields without owners."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.errors import BadRequest, Conflict, Invalid
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, ObjectMeta, Scheme
from clientgo.meta.apply.comparison import compare, field_set, managed
from clientgo.meta.apply.fieldsets import paths
from clientgo.meta.apply.serverside import merge
from clientgo.meta.apply.typerules import rules_of
from clientgo.rest.request import APPLY_PATCH, Request
from clientgo.testing.apply import Writer, applied, updated
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.typed.client import TypedClient
from generated.applyconfigurations.samplecontroller_v1alpha1 import (
    FooApplyConfiguration,
    FooSpecApplyConfiguration,
    FooStatusApplyConfiguration,
)
from generated.clientset.fake import FakeClientset
from tests.codegen.kinds.bakery import Oven
from tests.codegen.kinds.fleet import Ship


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
    assert client.create(config(k0="v0")).metadata.managed_fields == ()
    stored = client.apply(config(k1="v1"), field_manager="m")
    owned = {(e.manager, e.operation): dict(e.fields_v1 or {}) for e in stored.metadata.managed_fields}
    assert owned == {
        ("before-first-apply", "Update"): {"f:data": {".": {}, "f:k0": {}}},
        ("m", "Apply"): {"f:data": {"f:k1": {}}},
    }


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


def by(manager: str, kind: str = "Pod", subresource: str = "") -> Writer:
    return Writer(manager=manager, at=0, rules=rules_of(None, kind), subresource=subresource)


def test_what_others_keep_below_a_field_outlives_it() -> None:
    empty = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
    live = applied({}, empty, by("one"), force=False)
    live = applied(live, {**empty, "spec": {"x": 1}}, by("two"), force=False)
    without_spec = {key: value for key, value in empty.items() if key != "spec"}
    assert applied(live, without_spec, by("one"), force=False)["spec"] == {"x": 1}


def test_an_apply_without_a_manager_is_invalid(client: ConfigMaps) -> None:
    with pytest.raises(Invalid, match="fieldManager: Required value"):
        client.apply(config(), field_manager="")


@pytest.mark.behaviour("FX-11")
@pytest.mark.behaviour("FX-12")
def test_kinds_the_fake_has_never_heard_of_can_be_applied_and_updated() -> None:
    fake, gvr = FakeRequester(), GroupVersionResource("shop.example.com", "v1", "gadgets")
    body = b'{"apiVersion":"shop.example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"x":%d}}'
    location = {"resource": gvr, "namespace": "ns", "name": "g"}
    query = {"fieldManager": "m"}
    fake.do(Request(verb="apply", body=body % 1, content_type=APPLY_PATCH, query=query, **location))  # type: ignore[arg-type]
    fake.do(Request(verb="update", body=body % 2, query={"fieldManager": "n"}, **location))  # type: ignore[arg-type]
    assert fake.tracker.get(gvr, "ns", "g")["spec"] == {"x": 2}
    with pytest.raises(Conflict, match=r'conflict with "n" using shop\.example\.com/v1'):
        fake.do(Request(verb="apply", body=body % 3, content_type=APPLY_PATCH, query=query, **location))  # type: ignore[arg-type]


GADGETS = GroupVersionResource("shop.example.com", "v1", "gadgets")


def apply_body(body: bytes, name: str) -> FakeRequester:
    fake, query = FakeRequester(), {"fieldManager": "m"}
    location: dict[str, Any] = {"resource": GADGETS, "namespace": "ns", "name": name}
    fake.do(Request(verb="apply", body=body, content_type=APPLY_PATCH, query=query, **location))
    return fake


@pytest.mark.parametrize("metadata", [b"", b', "metadata": {}', b', "metadata": null', b', "metadata": {"name": "g"}'])
def test_the_url_names_the_applied_object(metadata: bytes) -> None:
    fake = apply_body(b'{"kind": "Gadget"%s}' % metadata, "g")
    assert fake.tracker.get(GADGETS, "ns", "g")["metadata"]["name"] == "g"


@pytest.mark.parametrize(
    ("body", "name", "error"),
    [
        (b"{}", "", Invalid),
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


def containers(**images: str) -> dict[str, Any]:
    items = [{"name": name, "image": image} for name, image in images.items()]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": items}}


def images(pod: Mapping[str, Any]) -> dict[str, str]:
    return {item["name"]: item["image"] for item in pod.get("spec", {}).get("containers", [])}


def test_items_of_a_list_are_owned_one_by_one() -> None:
    item = applied({}, containers(web="1"), by("one"), force=False)
    both = applied(item, containers(log="1"), by("two"), force=False)
    assert images(both) == {"web": "1", "log": "1"}
    with pytest.raises(Conflict, match=r'conflict with "one": .spec.containers\[name="web"\].image'):
        applied(both, containers(web="2"), by("two"), force=False)
    assert images(applied(both, containers(), by("one"), force=False)) == {"log": "1"}


def test_finalizers_are_owned_one_by_one() -> None:
    def named(*finalizers: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": list(finalizers)}}

    live = applied({}, named("a", "b"), by("one"), force=False)
    live = applied(live, named("c"), by("two"), force=False)
    assert applied(live, named("b"), by("one"), force=False)["metadata"]["finalizers"] == ["b", "c"]


def test_an_update_of_what_was_never_applied_leaves_no_trace() -> None:
    assert updated(containers(web="1"), containers(web="2"), by("m")) == containers(web="2")


NAMES = st.sampled_from(["a", "b", "c"])
TREES: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 3) | st.just({}),
    lambda inner: (
        st.dictionaries(NAMES, inner, max_size=3)
        | st.dictionaries(NAMES, inner, min_size=1).map(lambda d: {"containers": [{**d, "name": n} for n in d]})
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(NAMES, TREES, max_size=3).map(lambda spec: {"metadata": {"name": "x"}, "spec": spec})


def owned(obj: dict[str, Any]) -> set[tuple[str, ...]]:
    return set(paths(field_set(managed(obj), rules_of(None, "Pod")))) - {("f:metadata",)}


@given(OBJECTS)
def test_an_apply_owns_what_it_sets_and_nothing_else(obj: dict[str, Any]) -> None:
    (*remainder, entry) = applied({}, obj, by("m"), force=False)["metadata"]["managedFields"] or [{"fieldsV1": {}}]
    assert (remainder, set(paths(entry["fieldsV1"]))) == ([], owned(obj))


@given(OBJECTS, OBJECTS)
def test_repeated_apply_results_in_the_configuration(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied({}, first, by("m"), force=False)
    after = applied(live, second, by("m"), force=False)
    assert applied(after, second, by("m"), force=False) == after
    assert not compare(managed(merge(after, second, by("m").rules, ())), managed(after), by("m").rules).changed


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


def merged(cls: type, *path: str) -> tuple[str, tuple[str, ...]]:
    rule = rules_of(cls, "")(path)
    return (rule.list_type, rule.map_keys) if rule is not None else ("", ())


@pytest.mark.feature("D-85")
def test_lists_of_custom_kinds_merge_by_their_class() -> None:
    assert merged(Ship, "spec", "engines") == ("map", ("name",))
    assert merged(Ship, "spec", "ports") == ("set", ())
    assert merged(Ship, "spec", "route") == ("atomic", ())
    assert merged(Ship, "spec", "home") == ("atomic", ())
    assert merged(Ship, "spec", "engines", "options") == ("", ())
    assert merged(Ship, "metadata", "finalizers") == ("set", ())
    assert merged(Ship, "spec", "cargo", "coal") == merged(Ship, "spec", "absent") == ("", ())


@pytest.mark.feature("D-85")
def test_lists_of_built_in_types_in_custom_kinds_merge_as_in_a_pod() -> None:
    containers = ("spec", "template", "spec", "containers")
    assert merged(Oven, *containers) == ("map", ("name",))
    assert merged(Oven, *containers, "ports") == ("map", ("containerPort", "protocol"))
    assert merged(Oven, "spec", "ports") == ("", ()), "its class declares no list type"


def test_two_managers_apply_an_engine_each() -> None:
    def ship(engine: str) -> dict[str, Any]:
        body = {"apiVersion": "fleet.example.com/v1", "kind": "Ship", "metadata": {"name": "s"}}
        return {**body, "spec": {"engines": [{"name": engine, "power": 1}]}}

    def of(manager: str) -> Writer:
        return Writer(manager=manager, at=0, rules=rules_of(Ship, "Ship"))

    both = applied(applied({}, ship("a"), of("one"), force=False), ship("b"), of("two"), force=False)
    assert [engine["name"] for engine in both["spec"]["engines"]] == ["a", "b"]
    alone = applied(both, {**ship("b"), "spec": {}}, of("one"), force=False)
    assert [engine["name"] for engine in alone["spec"]["engines"]] == ["b"]


A, B = {"name": "a", "power": 1}, {"name": "b"}


@pytest.mark.parametrize(
    ("cls", "first", "change", "second"),
    [
        (Ship, {"engines": [A, B]}, {**A, "power": 2}, {"engines": [B]}),
        (Ship, {"extra": {"k": {"x": 1}, "l": {}}}, {"x": 2}, {"extra": {"l": {}}}),
        (Oven, {"claims": {"k": {"volumeName": "v"}, "l": {}}}, {"volumeName": "w"}, {"claims": {"l": {}}}),
    ],
    ids=["item of a list", "entry of a free map", "entry of a map of a type"],
)  # fmt: skip
def test_part_of_which_a_field_was_updated_leaves_with_its_applier(
    cls: type, first: dict[str, Any], change: dict[str, Any], second: dict[str, Any]
) -> None:
    def written(spec: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": cls.__name__, "metadata": {"name": "x"}, "spec": spec}

    writer = Writer(manager="one", at=0, rules=rules_of(cls, cls.__name__))
    live = applied({}, written(first), writer, force=False)
    ((field, value),) = first.items()
    changed = [change, *value[1:]] if isinstance(value, list) else {**value, "k": change}
    live = updated(live, {**live, "spec": {field: changed}}, Writer(manager="two", at=0, rules=writer.rules))
    assert applied(live, written(second), writer, force=False)["spec"] == second
