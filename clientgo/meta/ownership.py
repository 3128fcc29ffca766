"""Owner references: controllers are identified by uid, because names may be reused."""

from collections.abc import Mapping

from clientgo.meta.objects import EMPTY_MAP, ApiObject, ObjectMeta, OwnerReference
from clientgo.meta.scheme import gvk_of


def controller_of(obj: ApiObject) -> OwnerReference | None:
    """Return the owner reference marked as controller, or None."""
    for reference in obj.metadata.owner_references:
        if reference.controller:
            return reference
    return None


def controller_uids(obj: ApiObject) -> list[str]:
    """Return the uid of the controller, or nothing: to index objects by their controller."""
    reference = controller_of(obj)
    return [reference.uid] if reference is not None else []


def is_controlled_by(obj: ApiObject, owner: ApiObject) -> bool:
    """Report whether `owner` is the controller of `obj`, by uid."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def new_controller_ref(owner: ApiObject) -> OwnerReference:
    """Return a reference that marks `owner` as the controller and blocks its foreground deletion.

    Raises:
        TypeError: the kind of `owner` is unknown.
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


def meta_for(
    owner: ApiObject,
    name: str = "",
    *,
    labels: Mapping[str, str] = EMPTY_MAP,
    annotations: Mapping[str, str] = EMPTY_MAP,
) -> ObjectMeta:
    """Return metadata for an object that belongs to `owner`: in its namespace, and by default of its name."""
    return ObjectMeta(
        name=name or owner.metadata.name,
        namespace=owner.metadata.namespace,
        labels=labels,
        annotations=annotations,
    )
