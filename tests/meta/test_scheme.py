"""`@api_type`, Scheme and plurals."""

from dataclasses import dataclass

import msgspec
import pytest

from clientgo.dynamic import Unstructured
from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import ApiType, GroupVersionKind, GroupVersionResource, ObjectMeta, Scheme, api_of, api_type
from clientgo.meta.scheme import ALL_VERBS, plural_of, version_priority

UNNAMED = ObjectMeta()


@api_type(group="samplecontroller.k8s.io", version="v1alpha1")
@dataclass(frozen=True, slots=True)
class Foo:
    metadata: ObjectMeta = UNNAMED


@api_type(group="", version="v1", kind="Node", scope="Cluster", status=False, short_names=("no",), verbs=("get",))
class NodeStruct(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def test_api_names_default_to_the_class_name() -> None:
    api = api_of(Foo)
    assert (api.kind, api.plural, api.singular) == ("Foo", "foos", "foo")
    assert (api.api_version, api.namespaced, api.status) == ("samplecontroller.k8s.io/v1alpha1", True, True)
    assert (api.storage, api.served, api.verbs) == (True, True, ALL_VERBS)
    assert api.gvk == GroupVersionKind("samplecontroller.k8s.io", "v1alpha1", "Foo")
    assert api.gvr == GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "foos")


def test_given_api_names_are_used() -> None:
    api = api_of(NodeStruct)
    assert (api.kind, api.plural, api.api_version) == ("Node", "nodes", "v1")
    assert (api.namespaced, api.status, api.short_names, api.verbs) == (False, False, ("no",), ("get",))


def test_unmarked_class_is_named_in_the_error() -> None:
    class Plain:
        pass

    with pytest.raises(TypeError, match=r"Plain is not an API kind: mark it with @api_type"):
        api_of(Plain)


def test_base_class_of_the_library_needs_a_marked_subclass() -> None:
    with pytest.raises(TypeError, match=r"Unstructured is not an API kind: mark a subclass of it with @api_type"):
        api_of(Unstructured)


def test_part_of_objects_belongs_to_a_kind() -> None:
    with pytest.raises(TypeError, match=r"Condition is not an API kind: use the kind whose objects have such a part"):
        api_of(Condition)


def test_api_type_is_not_inherited() -> None:
    class Bar(Foo):
        pass

    with pytest.raises(TypeError, match="is not an API kind"):
        api_of(Bar)


@pytest.mark.feature("A-07")
def test_scheme_finds_the_class_of_a_kind() -> None:
    scheme = Scheme(Foo)
    scheme.add(NodeStruct)
    assert scheme.class_of(GroupVersionKind("", "v1", "Node")) is NodeStruct
    assert scheme.class_of(GroupVersionKind("", "v2", "Node")) is None
    assert scheme.kinds() == [api_of(Foo).gvk, api_of(NodeStruct).gvk]
    assert repr(scheme) == "<Scheme 2 kinds>"


@pytest.mark.feature("A-07")
def test_kind_has_one_class() -> None:
    @api_type(group="samplecontroller.k8s.io", version="v1alpha1", kind="Foo")
    class Other:
        pass

    scheme = Scheme(Foo)
    scheme.add(Foo)
    with pytest.raises(ValueError, match=r"cannot register .*Other for .* is registered already"):
        scheme.add(Other)
    assert scheme.kinds() == [api_of(Foo).gvk]


def test_api_type_is_immutable() -> None:
    assert api_of(Foo) == ApiType(
        group="samplecontroller.k8s.io", version="v1alpha1", kind="Foo", plural="foos", singular="foo"
    )


@pytest.mark.feature("D-38")
@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("foo", "foos"),
        ("deployment", "deployments"),
        ("networkpolicy", "networkpolicies"),
        ("gateway", "gateways"),
        ("key", "keys"),
        ("ingress", "ingresses"),
        ("storageclass", "storageclasses"),
        ("box", "boxes"),
        ("batch", "batches"),
        ("mesh", "meshes"),
        ("endpoints", "endpoints"),
        ("chassis", "chassis"),
        ("timeseries", "timeseries"),
    ],
)
def test_kinds_get_the_english_plural(singular: str, plural: str) -> None:
    assert plural_of(singular) == plural


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    mixed = ["v1alpha1", "v1", "foo", "v1beta2", "v2", "v1beta1"]
    assert sorted(mixed, key=version_priority) == ["v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]
