"""An object of any kind: its metadata typed, because caches and queues need it, and the rest as JSON.

Each resource has a class of its own, made when first asked for. So whatever is told by class elsewhere, as a lister's
NotFound or an informer's place in a factory, is told here too.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from clientgo.meta.codec import encode_value
from clientgo.meta.objects import EMPTY_MAP, GroupVersionKind, GroupVersionResource, ObjectMeta
from clientgo.meta.readonly import protect
from clientgo.meta.scheme import ApiType


class Unstructured(msgspec.Struct, frozen=True, kw_only=True):
    """Any object as a value: `content` is all of it but apiVersion, kind and metadata."""

    __codec_class__: ClassVar[type[Any]]
    """What reads and writes it, set by the module `codec`: there is no wire shape to derive from the class."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    content: Mapping[str, Any] = EMPTY_MAP

    @property
    def gvk(self) -> GroupVersionKind:
        """What it says it is."""
        group, _, version = self.api_version.rpartition("/")
        return GroupVersionKind(group, version, self.kind)

    def __getitem__(self, key: str) -> Any:
        """A part of its content, as `obj["spec"]["replicas"]`; KeyError if there is none."""
        return self.content[key]

    def get(self, *path: str, default: Any = None) -> Any:
        """A part of its content, as `obj.get("spec", "replicas")`; `default` if any step is absent."""
        found: Any = self.content
        for step in path:
            if not isinstance(found, Mapping) or step not in found:
                return default
            found = found[step]
        return found

    def to_dict(self) -> dict[str, Any]:
        """The dict that its JSON stands for; it shares nothing with the object."""
        whole = {"apiVersion": self.api_version, "kind": self.kind, "metadata": self.metadata, **self.content}
        made: dict[str, Any] = msgspec.json.decode(encode_value(whole))
        return made


protect(Unstructured)

_CLASSES: dict[tuple[GroupVersionResource, str, bool], type[Unstructured]] = {}


def unstructured_type(resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True) -> type[Unstructured]:
    """The class of one resource's objects; without a `kind`, objects of any are taken."""
    key = (resource, kind, namespaced)
    found = _CLASSES.get(key)
    if found is None:
        made: type[Any] = msgspec.defstruct(
            kind or f"Unstructured_{resource.resource}", [], bases=(Unstructured,), frozen=True, kw_only=True
        )
        # Not by `api_type`, which takes the class's name for want of a kind.
        made.__api_type__ = ApiType(  # the note that makes a class an API kind
            group=resource.group,
            version=resource.version,
            kind=kind,
            plural=resource.resource,
            singular=kind.lower() or resource.resource,
            scope="Namespaced" if namespaced else "Cluster",
        )
        # Two threads may both make one; the first stays, because classes are told apart.
        found = _CLASSES.setdefault(key, made)
    return found
