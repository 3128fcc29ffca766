"""Metadata-only objects: enough for owners, labels and counting, at a fraction of the memory."""

from typing import Any

import msgspec

from clientgo.meta.objects import GroupVersionResource, ObjectMeta
from clientgo.meta.scheme import ApiType


class PartialObjectMetadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The metadata of an object."""

    metadata: ObjectMeta = ObjectMeta()


_CLASSES: dict[tuple[GroupVersionResource, str, bool], type[PartialObjectMetadata]] = {}


def metadata_type(
    resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
) -> type[PartialObjectMetadata]:
    """Return the class of one resource's objects.

    Their kind in the API is `PartialObjectMetadata`: owner references and events need the real `kind`.
    """
    key = (resource, kind, namespaced)
    found = _CLASSES.get(key)
    if found is None:
        made: type[Any] = msgspec.defstruct(
            f"PartialObjectMetadata_{resource.resource}",
            [],
            bases=(PartialObjectMetadata,),
            frozen=True,
            kw_only=True,
            rename="camel",
            omit_defaults=True,
        )
        made.__api_type__ = ApiType(
            group=resource.group,
            version=resource.version,
            kind=kind or PartialObjectMetadata.__name__,
            plural=resource.resource,
            singular=kind.lower() or resource.resource,
            scope="Namespaced" if namespaced else "Cluster",
        )
        # Two threads may both create one; the first is used, because each class is a different kind.
        found = _CLASSES.setdefault(key, made)
    return found
