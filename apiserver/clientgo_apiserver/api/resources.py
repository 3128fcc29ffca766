"""Registry of served resources: one `Resource` per group, version and plural.

Routing, discovery, OpenAPI and tables read it, so a CustomResourceDefinition changes all of them by one `add`.
`Registry.version` increases with each change; documents made from the registry are cached by that number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from clientgo.meta.scheme import Column, ScaleSubresource, version_priority

Object = dict[str, Any]
"""An API object as decoded JSON."""

ALL_VERBS: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


SUBRESOURCE_VERBS = ("get", "patch", "update")


class ServedSubresource(NamedTuple):
    """A subresource: `group` and `version` of its kind are empty if they are those of the resource."""

    name: str
    kind: str
    verbs: tuple[str, ...] = SUBRESOURCE_VERBS
    group: str = ""
    version: str = ""


class Converter(Protocol):
    """Converts objects of one version of a kind to another."""

    async def convert(self, objects: Sequence[Object], api_version: str, /) -> list[Object]:
        """Return the objects in this version, in the same order (500)."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource. `group` is "" for core; `list_kind` is the kind of its lists.

    `storage` is the key of its objects, `(group, plural)`: two resources that are views of the same objects (core
    events and events.k8s.io events, autoscaling v1 and v2) have the same key.
    """

    group: str
    version: str
    plural: str
    kind: str
    singular: str
    list_kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    status: bool = False
    scale: ScaleSubresource | None = None
    connected: tuple[ServedSubresource, ...] = ()  # subresources other than status and scale
    columns: tuple[Column, ...] = ()
    schema: dict[str, Any] | None = None
    storage_version: str = ""
    custom: bool = False
    storage_group: str | None = None
    selectable_fields: tuple[str, ...] = ()
    converter: Converter | None = None  # for custom kinds whose versions differ in more than apiVersion
    definition: str = ""  # name of its CustomResourceDefinition
    deprecation: str = ""  # warning for users of a deprecated version
    # Schemas by apiVersion: stored objects are pruned and defaulted in their stored version, before conversion.
    schemas: Mapping[str, Any] = field(default_factory=dict, repr=False)
    schemas_since: int = 0  # revision of the schemas: older objects may not fit them
    generation: bool = True  # metadata.generation counts changes of the spec
    unconditional_update: bool = True  # an update without resourceVersion is accepted
    create_on_update: bool = False  # PUT of a missing object creates it
    returns_deleted: bool = False  # DELETE returns the object instead of a Status
    api_version: str = field(init=False, repr=False)
    """apiVersion of its objects: `v1` for core, `group/version` for others."""
    storage: tuple[str, str] = field(init=False, repr=False)
    """Key of its objects in the store, the same for every version and view."""
    stored_version: str = field(init=False, repr=False)
    """apiVersion in which its objects are stored."""
    json_start: bytes = field(init=False, repr=False)
    """Start of the JSON of an object of this version of the kind."""

    def __post_init__(self) -> None:
        # Precomputed: each write uses these a dozen times.
        group = self.group if self.storage_group is None else self.storage_group
        version = self.storage_version or self.version
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        # In the order of their JSON: fields of custom kinds are sorted, and some may come before `kind`.
        head = (
            f'"apiVersion":"{api_version}",' if self.custom else f'"kind":"{self.kind}","apiVersion":"{api_version}",'
        )
        derived = {
            "api_version": api_version,
            "storage": (group, self.plural),
            "stored_version": f"{group}/{version}" if group else version,
            "json_start": f"{{{head}".encode(),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def package(self) -> str:
        """Go package of a built-in kind's internal type, as in messages: `apps`, or `core`."""
        return self.storage[0].partition(".")[0] or "core"

    @property
    def qualified(self) -> str:
        """Name of the resource in messages: `deployments.apps`, or `pods` for core."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def scale_paths(self) -> ScaleSubresource:
        """Paths of the replicas of a resource that scales."""
        assert self.scale is not None, "only asked for resources that scale"
        return self.scale

    @property
    def subresources(self) -> tuple[ServedSubresource, ...]:
        """Its subresources, in the order of discovery."""
        subresources = [ServedSubresource("status", self.kind)] if self.status else []
        if self.scale is not None:
            subresources.append(ServedSubresource("scale", "Scale", group="autoscaling", version="v1"))
        return tuple(subresources if self.custom else sorted((*subresources, *self.connected)))


SCALE = Resource("autoscaling", "v1", "scales", "Scale", "scale", "", namespaced=True, verbs=("get",))
"""The resource as which every Scale is decoded and documented."""


class Registry:
    """Served resources; groups and versions keep the order in which they were added."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.version = 0
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str, str], Resource] = {}
        self._by_storage: dict[tuple[str, str], list[Resource]] = {}  # until the next change
        for resource in resources:
            self.add(resource)

    def copy(self) -> "Registry":
        """Return a registry of the same resources."""
        copied = Registry()
        copied.version, copied._by_path, copied._by_kind = self.version, {**self._by_path}, {**self._by_kind}
        return copied

    def __repr__(self) -> str:
        return f"<Registry {len(self._by_path)} resources, version {self.version}>"

    def resources(self) -> list[Resource]:
        """Return all served resources, in the order they were added."""
        return list(self._by_path.values())

    def groups(self) -> dict[str, list[str]]:
        """Return the versions of each group, the preferred one first ("" is core)."""
        groups: dict[str, list[str]] = {}
        for resource in self._by_path.values():
            versions = groups.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        return {group: sorted(versions, key=version_priority) for group, versions in groups.items()}

    def is_built_in(self, group: str) -> bool:
        """Return whether a group has built-in kinds; none is named by the empty text."""
        return bool(group) and any(resource.group == group and not resource.custom for resource in self.resources())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the resource at this path, or None."""
        return self._by_path.get((group, version, plural))

    def built_in(self, group: str, plural: str) -> Resource:
        """Return a built-in resource in the version v1."""
        return self._by_path[group, "v1", plural]

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """Return the resource whose objects have this apiVersion and kind, or None."""
        return self._by_kind.get((group, version, kind))

    def of_storage(self, storage: tuple[str, str]) -> list[Resource]:
        """Return every version and view of the objects stored under this key; the list must not be modified."""
        return self._by_storage.get(storage) or self._by_storage.setdefault(
            storage, [resource for resource in self._by_path.values() if resource.storage == storage]
        )

    def add(self, resource: Resource) -> None:
        """Add a resource; one at the same path is replaced."""
        self._by_path[(resource.group, resource.version, resource.plural)] = resource
        self._by_kind[(resource.group, resource.version, resource.kind)] = resource
        self._by_storage.clear()
        self.version += 1

    def remove(self, resource: Resource) -> None:
        """Remove the resource at this path; an absent one is ignored."""
        removed = self._by_path.pop((resource.group, resource.version, resource.plural), None)
        if removed is not None:
            self._by_kind.pop((removed.group, removed.version, removed.kind), None)
            self._by_storage.clear()
            self.version += 1
