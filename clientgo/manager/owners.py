"""Who an object belongs to: references that make it go with its owner, and lead from it to the owner's reconciliation.

Objects are values, so each function gives the object as it should be; writing it is the caller's.
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
    """The object has another controller; `owner` is the reference to it."""

    def __init__(self, obj: ApiObject, owner: OwnerReference) -> None:
        super().__init__(f"{object_name(obj)} is controlled by {owner.kind} {owner.name} already")
        self.owner = owner


def set_controller_reference(owner: ApiObject, obj: T, *, block_owner_deletion: bool = True) -> T:
    """`obj` with `owner` as its one controller; the same object if it is that already.

    Raises:
        AlreadyOwnedError: it has another controller.
        ValueError: an owner in a namespace can't own what is in another, or in none.
    """
    controller = controller_of(obj)
    reference = replace(new_controller_ref(owner), block_owner_deletion=block_owner_deletion)
    if controller is not None and not _same(controller, reference):
        raise AlreadyOwnedError(obj, controller)
    return _referring(owner, obj, reference)


def set_owner_reference(owner: ApiObject, obj: T, *, block_owner_deletion: bool = False) -> T:
    """`obj` with `owner` as one of its owners; ValueError if they are in different namespaces."""
    reference = replace(new_controller_ref(owner), controller=None, block_owner_deletion=block_owner_deletion or None)
    return _referring(owner, obj, reference)


def remove_owner_reference(owner: ApiObject, obj: T) -> T:
    """`obj` without `owner` as an owner; ValueError if it is none."""
    reference = new_controller_ref(owner)
    kept = tuple(one for one in obj.metadata.owner_references if not _same(one, reference))
    if len(kept) == len(obj.metadata.owner_references):
        raise ValueError(f"{object_name(obj)} has no reference to {reference.kind} {reference.name}")
    return replace(obj, metadata=replace(obj.metadata, owner_references=kept))


def has_controller_reference(obj: ApiObject) -> bool:
    """Whether somebody controls it."""
    return controller_of(obj) is not None


def _referring(owner: ApiObject, obj: T, reference: OwnerReference) -> T:
    _check_namespaces(owner, obj)
    references = obj.metadata.owner_references
    if reference in references:
        return obj
    if any(_same(one, reference) for one in references):
        updated = tuple(reference if _same(one, reference) else one for one in references)
    else:
        updated = (*references, reference)
    return replace(obj, metadata=replace(obj.metadata, owner_references=updated))


def _check_namespaces(owner: ApiObject, obj: ApiObject) -> None:
    # The garbage collector looks for an owner in the object's own namespace, or among what has none.
    if not api_of(type(owner)).namespaced:
        return
    theirs, own = owner.metadata.namespace, obj.metadata.namespace
    if not own:
        raise ValueError(f"{object_name(owner)} can't own {object_name(obj)}, which is in no namespace")
    if theirs != own:
        raise ValueError(f"{object_name(owner)} can't own {object_name(obj)}, which is in another namespace")


def _same(one: OwnerReference, other: OwnerReference) -> bool:
    # By group, kind and name, as controller-runtime has it: a version more or less makes no other owner, and a uid that
    # is not the owner's any more is to be put right.
    group, others = one.api_version.rpartition("/")[0], other.api_version.rpartition("/")[0]
    return (group, one.kind, one.name) == (others, other.kind, other.name)
