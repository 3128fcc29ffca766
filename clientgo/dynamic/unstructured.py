"""Unstructured objects: typed metadata, which caches and queues need, and the rest as JSON; or the metadata alone.

Each resource has its own class, created at the first use, because other parts of the library identify kinds by class:
a lister's NotFound, or an informer in its factory.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import msgspec

from clientgo.meta.codec import encode_value
from clientgo.meta.objects import EMPTY_MAP, GroupVersionKind, GroupVersionResource, ObjectMeta
from clientgo.meta.readonly import protect
from clientgo.meta.scheme import ApiType

T = TypeVar("T")


class Unstructured(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable object of any kind: `content` is everything except apiVersion, kind and metadata."""

    __codec_class__: ClassVar[type[Any]]
    """The codec, set by the module `codec`: no wire type can be derived from the class."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    content: Mapping[str, Any] = EMPTY_MAP

    @property
    def gvk(self) -> GroupVersionKind:
        """The object's own group, version and kind."""
        group, _, version = self.api_version.rpartition("/")
        return GroupVersionKind(group, version, self.kind)

    def __getitem__(self, key: str) -> Any:
        """Return a part of the content: `obj["spec"]["replicas"]`; raise KeyError if it is absent."""
        return self.content[key]

    def get(self, *path: str, default: Any = None) -> Any:
        """Return a part of the content: `obj.get("spec", "replicas")`; `default` if it is absent."""
        value: Any = self.content
        for step in path:
            if not isinstance(value, Mapping) or step not in value:
                return default
            value = value[step]
        return value

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict of the JSON form, which shares nothing with the object."""
        content = {"apiVersion": self.api_version, "kind": self.kind, "metadata": self.metadata, **self.content}
        decoded: dict[str, Any] = msgspec.json.decode(encode_value(content))
        return decoded


protect(Unstructured)


class PartialObjectMetadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The metadata of an object: enough for owners, labels and counting, at a fraction of the memory."""

    metadata: ObjectMeta = ObjectMeta()


_CLASSES: dict[tuple[type[Any], GroupVersionResource, str, bool, str], type[Any]] = {}


def unstructured_type(
    resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True, list_kind: str = ""
) -> type[Unstructured]:
    """Return the class of one resource's objects; without a `kind`, objects of any kind are accepted."""
    return _class_of(Unstructured, resource, kind, namespaced, list_kind)


def metadata_type(
    resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
) -> type[PartialObjectMetadata]:
    """Return the class of one resource's objects, of which only the metadata is known.

    Their kind in the API is `PartialObjectMetadata`: owner references and events need the real `kind`.
    """
    return _class_of(PartialObjectMetadata, resource, kind, namespaced)


def _class_of(
    base: type[T], resource: GroupVersionResource, kind: str, namespaced: bool, list_kind: str = ""
) -> type[T]:
    key = (base, resource, kind, namespaced, list_kind)
    cls = _CLASSES.get(key)
    if cls is None:
        is_plain = base is Unstructured
        name = kind if is_plain and kind else f"{base.__name__}_{resource.resource}"
        defined: type[Any] = msgspec.defstruct(name, [], bases=(base,), frozen=True)
        # Not by `api_type`, whose default kind is the class's name.
        defined.__api_type__ = ApiType(
            group=resource.group,
            version=resource.version,
            kind=kind or ("" if is_plain else base.__name__),
            plural=resource.resource,
            singular=kind.lower() or resource.resource,
            scope="Namespaced" if namespaced else "Cluster",
            list_kind=list_kind,
        )
        # Two threads may both create one; the first is used, because each class is a different kind.
        cls = _CLASSES.setdefault(key, defined)
    return cls
