"""Owner references and controllers."""

import dataclasses

import pytest

from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.meta import (
    ApiObject,
    GroupVersionResource,
    ObjectMeta,
    OwnerReference,
    api_type,
    controller_of,
    controller_uids,
    is_controlled_by,
    meta_for,
    new_controller_ref,
)

UNNAMED = ObjectMeta()


@api_type(group="samplecontroller.k8s.io", version="v1alpha1")
@dataclasses.dataclass(frozen=True)
class Foo:
    metadata: ObjectMeta = UNNAMED


FOO = Foo(ObjectMeta(name="foo", namespace="default", uid="uid-1"))


def owned(*references: OwnerReference) -> Foo:
    return Foo(ObjectMeta(name="child", owner_references=references))


def test_controller_reference_names_the_owner_and_blocks_its_deletion() -> None:
    assert new_controller_ref(FOO) == OwnerReference(
        api_version="samplecontroller.k8s.io/v1alpha1", kind="Foo", name="foo", uid="uid-1", controller=True,
        block_owner_deletion=True,
    )  # fmt: skip


def test_metadata_for_an_owned_object_has_labels_and_annotations() -> None:
    meta = meta_for(FOO, "child", labels={"a": "b"}, annotations={"c": "d"})
    assert meta == ObjectMeta(name="child", namespace="default", labels={"a": "b"}, annotations={"c": "d"})


def test_the_owner_marked_as_controller_is_the_controller() -> None:
    plain = OwnerReference(name="other", uid="uid-2")
    ref = new_controller_ref(FOO)
    assert controller_of(owned(plain, ref)) == ref
    assert controller_of(owned(plain)) is None
    assert controller_of(owned(OwnerReference(uid="uid-3", controller=False))) is None
    assert controller_of(owned()) is None
    assert (controller_uids(owned(plain, ref)), controller_uids(owned(plain))) == ([ref.uid], [])


@pytest.mark.parametrize(
    ("references", "controlled"),
    [
        pytest.param((new_controller_ref(FOO),), True, id="controller"),
        pytest.param((OwnerReference(name="foo", uid="uid-1"),), False, id="owner only"),
        pytest.param((), False, id="none"),
        pytest.param(
            (OwnerReference(kind="Foo", name="foo", uid="uid-of-an-earlier-foo", controller=True),),
            False,
            id="same name",
        ),
    ],
)
def test_controller_is_identified_by_uid(references: tuple[OwnerReference, ...], *, controlled: bool) -> None:
    assert is_controlled_by(owned(*references), FOO) is controlled


def test_owner_without_api_type_is_rejected() -> None:
    @dataclasses.dataclass(frozen=True)
    class Plain:
        metadata: ObjectMeta = UNNAMED

    with pytest.raises(TypeError, match="is not an API kind"):
        new_controller_ref(Plain())


THINGS = GroupVersionResource("example.com", "v1", "things")
NAMED = ObjectMeta(name="a", uid="u")


@pytest.mark.parametrize(
    "owner",
    [
        metadata_type(THINGS, kind="Thing")(metadata=NAMED),
        unstructured_type(THINGS, kind="Thing")(metadata=NAMED),
        unstructured_type(THINGS)(api_version="example.com/v1", kind="Thing", metadata=NAMED),
    ],
    ids=["metadata only", "unstructured", "unstructured without a kind in its class"],
)
def test_owner_reference_of_dynamic_objects_has_the_real_kind(owner: ApiObject) -> None:
    reference = new_controller_ref(owner)
    assert (reference.api_version, reference.kind) == ("example.com/v1", "Thing")


@pytest.mark.parametrize("cls", [metadata_type(THINGS), unstructured_type(THINGS)], ids=["metadata", "unstructured"])
def test_owner_of_unknown_kind_is_an_error(cls: type[ApiObject]) -> None:
    with pytest.raises(TypeError, match=r"the kind of things.example.com is unknown: pass kind="):
        new_controller_ref(cls(metadata=NAMED))  # type: ignore[call-arg]
