"""Who controls an object, told by uid: a name may have been given to another object since."""

from clientgo.meta.objects import ApiObject, OwnerReference
from clientgo.meta.scheme import gvk_of


def controller_of(obj: ApiObject) -> OwnerReference | None:
    """The one owner reference marked as controller, or None."""
    for reference in obj.metadata.owner_references:
        if reference.controller:
            return reference
    return None


def is_controlled_by(obj: ApiObject, owner: ApiObject) -> bool:
    """Whether `owner` is the controller of `obj`, by uid."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def new_controller_ref(owner: ApiObject) -> OwnerReference:
    """Make the reference that makes `owner` the controller, and keeps it from being deleted in the foreground before.

    Raises:
        TypeError: the kind of `owner` is not known.
    """
    gvk = gvk_of(owner)
    return OwnerReference(
        api_version=gvk.api_version,
        kind=gvk.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
