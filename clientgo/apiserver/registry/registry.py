"""What the server serves: one `Resource` per (group, version, plural), and the `Registry` that holds them.

Everything that answers "which kinds are there" (URL routing, discovery, OpenAPI, tables) reads it here, so a
CustomResourceDefinition changes all of them by one `add`. `Registry.version` rises with each change: whoever
caches a document made from the registry compares that number and nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from clientgo.meta.scheme import Column, Scale

ALL_VERBS: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Converter(Protocol):
    """Turns objects of one version of a kind into another."""

    def convert(self, objects: Sequence[dict[str, Any]], api_version: str, /) -> list[dict[str, Any]]:
        """The objects in this version, in their order."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource. `group` is "" for core; `list_kind` names the kind of its lists.

    `storage` is what objects are stored under, `(group, plural)`: two resources that are views of one thing
    (core events and events.k8s.io events, autoscaling v1 and v2) name the same.
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
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    schema: dict[str, Any] | None = None
    storage_version: str = ""
    custom: bool = False
    storage_group: str | None = None
    selectable_fields: tuple[str, ...] = ()
    converter: Converter | None = None  # of custom kinds whose versions differ in more than apiVersion
    definition: str = ""  # name of the CustomResourceDefinition it comes from
    deprecation: str = ""  # what whoever uses a deprecated version is told
    # By apiVersion, the schemas of versions that name defaults: what an object lacks is filled in by the version it is
    # stored in, before it is converted.
    filling: Mapping[str, Any] = field(default_factory=dict, repr=False)
    defaults_since: int = 0  # revision of a definition with defaults: objects stored before may lack some of them
    generation: bool = True  # metadata.generation counts changes of what is desired
    unconditional_update: bool = True  # an update without resourceVersion is taken
    create_on_update: bool = False  # a PUT of what is not there creates it
    returns_deleted: bool = False  # a DELETE is answered with the object in place of a Status
    api_version: str = field(init=False, repr=False)
    """`v1` for core, `group/version` for others: what an object's apiVersion says."""
    storage: tuple[str, str] = field(init=False, repr=False)
    """The key the store keeps its objects under, the same for every version and view."""
    stored_version: str = field(init=False, repr=False)
    """The apiVersion under which its objects are stored."""

    def __post_init__(self) -> None:
        # Each write asks for these a dozen times.
        group = self.group if self.storage_group is None else self.storage_group
        version = self.storage_version or self.version
        derived = {
            "api_version": f"{self.group}/{self.version}" if self.group else self.version,
            "storage": (group, self.plural),
            "stored_version": f"{group}/{version}" if group else version,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def qualified(self) -> str:
        """`deployments.apps`, or `pods` for core: how messages name the resource."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Registry:
    """The resources served now. `version` rises with each change; order of groups and versions is that of adding."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.version = 0
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str, str], Resource] = {}
        for resource in resources:
            self.add(resource)

    def __repr__(self) -> str:
        return f"<Registry {len(self._by_path)} resources, version {self.version}>"

    def resources(self) -> list[Resource]:
        """All served resources, in the order they were added."""
        return list(self._by_path.values())

    def groups(self) -> dict[str, list[str]]:
        """Each group with its versions, the preferred one first ("" is core)."""
        found: dict[str, list[str]] = {}
        for resource in self._by_path.values():
            versions = found.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        return {group: sorted(versions, key=version_priority) for group, versions in found.items()}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at this place of the URL space, or None."""
        return self._by_path.get((group, version, plural))

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource whose objects say this apiVersion and kind, or None."""
        return self._by_kind.get((group, version, kind))

    def of_storage(self, storage: tuple[str, str]) -> list[Resource]:
        """Every version and view of what is stored under this key."""
        return [resource for resource in self._by_path.values() if resource.storage == storage]

    def add(self, resource: Resource) -> None:
        """Serve this resource from now on; one at the same place is replaced."""
        self._by_path[(resource.group, resource.version, resource.plural)] = resource
        self._by_kind[(resource.group, resource.version, resource.kind)] = resource
        self.version += 1

    def remove(self, resource: Resource) -> None:
        """Stop serving the resource at this place; nothing happens when none is there."""
        known = self._by_path.pop((resource.group, resource.version, resource.plural), None)
        if known is not None:
            self._by_kind.pop((known.group, known.version, known.kind), None)
            self.version += 1


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key that puts versions in Kubernetes' order: v2, v1, v1beta2, v1beta1, v1alpha1, then any other name."""
    stage = 0
    text = version[1:] if version.startswith("v") else ""
    for word, rank in (("beta", 1), ("alpha", 2)):
        if word in text:
            major, _, minor = text.partition(word)
            if major.isdigit() and (minor.isdigit() or not minor):
                return (rank, -int(major), -int(minor or 0), "")
    return (stage, -int(text), 0, "") if text.isdigit() else (3, 0, 0, version)
