"""Kinds and group versions, and the names of their modules, classes and accessors.

Clients, listers and informers are rendered from `Kind` alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.codegen.names import class_case, identifier
from clientgo.meta.classes.hints import snake
from clientgo.meta.scheme import ApiType, plural_of

# Attributes of clients, listers and factories.
_OF_CLIENTS = frozenset({"get", "in_namespace", "kind", "kinds", "list"})
_OF_FACTORIES = frozenset({
    "factory", "for_resource", "informer_for", "resources", "shutdown", "start", "wait_for_cache_sync",
    "wait_for_sync_result",
})  # fmt: skip

STATUS_VERBS = ("update_status", "patch_status", "apply_status")


def non_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose value is not None, False, 0, "" or an empty collection."""
    return {key: value for key, value in values.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A client method for a subresource; classes are given as `module:class`."""

    name: str
    verb: str
    subresource: str
    input: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind: its API names, and its class."""

    api: ApiType
    class_name: str
    module: str
    source: str
    """Input named in generated files; never an absolute path."""
    methods: tuple[Method, ...] = ()
    client_base: str = ""
    """Hand-written base class of the client, as `module:class`."""

    @property
    def accessor(self) -> str:
        """Attribute of the client: the plural in snake case, such as `config_maps`, or a custom plural."""
        if self.api.plural == plural_of(self.api.kind.lower()):
            name = identifier(plural_of(snake(self.api.kind)))
        else:
            name = identifier(self.api.plural)
        return f"{name}_" if name in _OF_CLIENTS else name

    @property
    def has_client(self) -> bool:
        """True if it has a client of its own."""
        return bool(self.api.verbs)

    @property
    def has_cache(self) -> bool:
        """True if it can be listed and watched."""
        return {"list", "watch"} <= set(self.api.verbs)


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """A version of a group and its kinds, sorted by name."""

    group: str
    version: str
    name: str
    """Python name of the group: `samplecontroller`, or `core` for the core group."""
    kinds: tuple[Kind, ...]

    @property
    def module(self) -> str:
        """Module name, such as `samplecontroller_v1alpha1`."""
        return f"{self.name}_{self.version_name}"

    @property
    def version_name(self) -> str:
        """Version as an attribute name, such as `v1alpha1`."""
        return identifier(self.version)

    @property
    def class_name(self) -> str:
        """Class name, such as `SamplecontrollerV1alpha1`."""
        return class_case(self.module)

    @property
    def api_version(self) -> str:
        """API version in prose, such as `apps/v1`, with `core/v1` for the core group."""
        return f"{self.group or 'core'}/{self.version}"

    @property
    def sources(self) -> tuple[str, ...]:
        """Inputs of its kinds."""
        return tuple(sorted({kind.source for kind in self.kinds}))


def group_versions(kinds: Iterable[Kind]) -> list[GroupVersion]:
    """Return the kinds by group version, sorted by Python name."""
    kinds_by_version: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        kinds_by_version.setdefault((kind.api.group, kind.api.version), []).append(kind)
    names = group_names(group for group, _ in kinds_by_version)
    versions = [
        GroupVersion(group, version, names[group], tuple(sorted(members, key=lambda kind: kind.class_name)))
        for (group, version), members in kinds_by_version.items()
    ]
    return sorted(versions, key=lambda group_version: (group_version.name, group_version.version))


def group_names(groups: Iterable[str]) -> Mapping[str, str]:
    """Return the Python name of each group: its first label, or all labels if that is ambiguous."""
    short = {group: short_name(group) for group in groups}
    names = list(short.values())
    return {group: name if names.count(name) == 1 else identifier(group) for group, name in short.items()}


def short_name(group: str) -> str:
    """Return `samplecontroller` for samplecontroller.k8s.io, and `core` for the core group."""
    name = identifier(group.split(".")[0]) or "core"
    return f"{name}_" if name in _OF_FACTORIES else name
