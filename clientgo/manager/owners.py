"""Owner references: they delete an object with its owner, and lead from an object to the reconciliation of its owner.

Objects are values: each function returns the updated object, and the caller writes it.
"""

from typing import TypeVar

from clientgo.errors import ClientGoError
from clientgo.meta.codec import replace
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject, OwnerReference
from clientgo.meta.ownership import controller_of, new_controller_ref
from clientgo.meta.scheme import api_of

T = TypeVar("T", bound=ApiObject)


class AlreadyOwnedError(ClientGoError):
    """The object already has another controller; `owner` is the reference to it."""

    def __init__(self, obj: ApiObject, owner: OwnerReference) -> None:
        super().__init__(f"{object_name(obj)} is already controlled by {owner.kind} {owner.name}")
        self.owner = owner


def set_controller_reference(owner: ApiObject, obj: T, *, block_owner_deletion: bool = True) -> T:
    """Return `obj` with `owner` as its controller; the same object if it already is.

    Raises:
        AlreadyOwnedError: it has another controller.
        ValueError: the owner has no uid or is in another namespace, or `obj` is cluster-scoped and the owner is not.
    """
    controller = controller_of(obj)
    reference = replace(new_controller_ref(owner), block_owner_deletion=block_owner_deletion)
    if controller is not None and not _same(controller, reference):
        raise AlreadyOwnedError(obj, controller)
    return _referring(owner, obj, reference)


def set_owner_reference(owner: ApiObject, obj: T, *, block_owner_deletion: bool = False) -> T:
    """Return `obj` with `owner` among its owners; ValueError if it has no uid, or their namespaces differ."""
    reference = replace(new_controller_ref(owner), controller=None, block_owner_deletion=block_owner_deletion or None)
    return _referring(owner, obj, reference)


def remove_owner_reference(owner: ApiObject, obj: T) -> T:
    """Return `obj` without `owner` among its owners; ValueError if it is not one of them."""
    reference = new_controller_ref(owner)
    remaining = tuple(existing for existing in obj.metadata.owner_references if not _same(existing, reference))
    if len(remaining) == len(obj.metadata.owner_references):
        raise ValueError(f"{object_name(obj)} has no owner reference to {reference.kind} {reference.name}")
    return replace(obj, metadata=replace(obj.metadata, owner_references=remaining))


def has_controller_reference(obj: ApiObject) -> bool:
    """Return whether the object has a controller."""
    return controller_of(obj) is not None


def _referring(owner: ApiObject, obj: T, reference: OwnerReference) -> T:
    if not reference.uid:
        raise ValueError(
            f"{reference.kind} {object_name(owner)} has no uid and cannot own {object_name(obj)}: use the owner as the "
            "server returned it"
        )
    _check_namespaces(owner, obj)
    references = obj.metadata.owner_references
    if reference in references:
        return obj
    if any(_same(existing, reference) for existing in references):
        updated = tuple(reference if _same(existing, reference) else existing for existing in references)
    else:
        updated = (*references, reference)
    return replace(obj, metadata=replace(obj.metadata, owner_references=updated))


def _check_namespaces(owner: ApiObject, obj: ApiObject) -> None:
    # The garbage collector looks for owners in the object's own namespace and among cluster-scoped objects.
    if not api_of(type(owner)).namespaced:
        return
    theirs, namespace = owner.metadata.namespace, obj.metadata.namespace
    if not namespace:
        raise ValueError(f"{object_name(owner)} cannot own {object_name(obj)}, which is cluster-scoped")
    if theirs != namespace:
        raise ValueError(f"{object_name(owner)} cannot own {object_name(obj)}, which is in another namespace")


def _same(reference: OwnerReference, other: OwnerReference) -> bool:
    # By group, kind and name, as in controller-runtime: another version is the same owner, and an outdated uid is to be
    # corrected.
    group, other_group = reference.api_version.rpartition("/")[0], other.api_version.rpartition("/")[0]
    return (group, reference.kind, reference.name) == (other_group, other.kind, other.name)
