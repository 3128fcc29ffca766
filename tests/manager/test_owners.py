"""Owner references."""

from collections.abc import Callable

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap, Node
from clientgo.manager.owners import (
    AlreadyOwnedError,
    has_controller_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from clientgo.meta import ObjectMeta, OwnerReference, new_controller_ref, replace
from controller.api.v1alpha1 import Foo
from tests.manager.managed import new_foo

pytestmark = pytest.mark.feature("B-CR-11")

FOO = new_foo()
CONFIG = ConfigMap(metadata=ObjectMeta(name="c", namespace="ns"))


def test_controller_is_set_once() -> None:
    owned = set_controller_reference(FOO, CONFIG)
    assert owned.metadata.owner_references == (new_controller_ref(FOO),)
    assert has_controller_reference(owned)
    assert not has_controller_reference(CONFIG)
    assert set_controller_reference(FOO, owned) is owned


def test_second_controller_reference_is_rejected() -> None:
    owned = set_controller_reference(FOO, CONFIG)
    with pytest.raises(AlreadyOwnedError, match="ns/c is already controlled by Foo a") as refused:
        set_controller_reference(new_foo("b"), owned)
    assert refused.value.owner == new_controller_ref(FOO)


def test_reference_to_a_recreated_owner_is_updated() -> None:
    owned = set_controller_reference(FOO, CONFIG)
    again = replace(FOO, metadata=replace(FOO.metadata, uid="another"))
    assert [item.uid for item in set_controller_reference(again, owned).metadata.owner_references] == ["another"]


def test_non_controlling_owner_is_added_and_removed() -> None:
    other = new_foo("b")
    owned = set_owner_reference(other, set_controller_reference(FOO, CONFIG))
    assert owned.metadata.owner_references[1] == OwnerReference(
        api_version="samplecontroller.k8s.io/v1alpha1", kind="Foo", name="b", uid="uid-b"
    )
    assert remove_owner_reference(other, owned) == set_controller_reference(FOO, CONFIG)
    with pytest.raises(ValueError, match="ns/c has no owner reference to Foo b"):
        remove_owner_reference(other, CONFIG)


@pytest.mark.parametrize("refer", [set_controller_reference, set_owner_reference])
def test_owner_without_uid_is_rejected(refer: Callable[[Foo, ConfigMap], ConfigMap]) -> None:
    unsent = replace(FOO, metadata=replace(FOO.metadata, uid=""))
    with pytest.raises(ValueError, match=r"Foo ns/a has no uid and cannot own ns/c: use the owner as the server"):
        refer(unsent, CONFIG)


@pytest.mark.parametrize(
    ("owned", "location"),
    [
        (ConfigMap(metadata=ObjectMeta(name="c", namespace="other")), "in another namespace"),
        (Node(metadata=ObjectMeta(name="n")), "cluster-scoped"),
    ],
)
def test_namespaced_owner_owns_only_objects_of_its_namespace(owned: ConfigMap | Node, location: str) -> None:
    with pytest.raises(ValueError, match=location):
        set_controller_reference(FOO, owned)


def test_cluster_scoped_owner_owns_anything() -> None:
    node = Node(metadata=ObjectMeta(name="n", uid="u"))
    assert has_controller_reference(set_controller_reference(node, CONFIG))
    assert has_controller_reference(set_controller_reference(node, replace(node, metadata=ObjectMeta(name="m"))))
