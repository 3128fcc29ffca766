"""What the generator knows of a kind, and how its modules, classes and accessors are called.

A `Kind` is all that clients, listers and informers are rendered from, whichever front end found it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.codegen.names import class_case, identifier, snake
from clientgo.meta.scheme import ApiType, plural_of

# Names that clients, listers and factories have themselves.
_OF_CLIENTS = frozenset({"get", "in_namespace", "kind", "kinds", "list"})
_OF_FACTORIES = frozenset({
    "factory", "for_resource", "informer_for", "resources", "shutdown", "start", "wait_for_cache_sync",
    "wait_for_sync_result",
})  # fmt: skip

STATUS_VERBS = ("update_status", "patch_status", "apply_status")


def non_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that say something: not None, False, 0, "" or an empty collection."""
    return {key: value for key, value in values.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansions:
    """Classes by hand, as `module:class`, that parts of a kind's generated code inherit."""

    client: str = ""
    lister: str = ""
    namespace_lister: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A client's method for a subresource; classes are `module:class`."""

    name: str
    verb: str
    subresource: str
    input: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: what the API calls it, and where its class is."""

    api: ApiType
    class_name: str
    module: str
    source: str
    """What it was read from, as told in the generated file; never an absolute path."""
    methods: tuple[Method, ...] = ()
    expansions: Expansions = Expansions()

    @property
    def accessor(self) -> str:
        """`foos`, `config_maps`: the plural with its words parted, or a plural of one's own as it is."""
        if self.api.plural == plural_of(self.api.kind.lower()):
            name = plural_of(snake(self.api.kind))
        else:
            name = identifier(self.api.plural)
        return f"{name}_" if name in _OF_CLIENTS else name

    @property
    def has_client(self) -> bool:
        """Whether it can be asked for by itself."""
        return bool(self.api.verbs)

    @property
    def has_cache(self) -> bool:
        """Whether an informer can follow it."""
        return {"list", "watch"} <= set(self.api.verbs)


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """One version of a group and its kinds, sorted by name."""

    group: str
    version: str
    name: str
    """What the group is called in Python: `samplecontroller`, or `core` for the group without a name."""
    kinds: tuple[Kind, ...]

    @property
    def module(self) -> str:
        """`samplecontroller_v1alpha1`."""
        return f"{self.name}_{self.version_name}"

    @property
    def version_name(self) -> str:
        """`v1alpha1`: the version, as an attribute is called by it."""
        return identifier(self.version)

    @property
    def class_name(self) -> str:
        """`SamplecontrollerV1alpha1`."""
        return class_case(self.module)

    @property
    def api_version(self) -> str:
        """`apps/v1`, and `core/v1` for the group without a name, in prose."""
        return f"{self.group or 'core'}/{self.version}"

    @property
    def sources(self) -> tuple[str, ...]:
        """What its kinds were read from."""
        return tuple(sorted({kind.source for kind in self.kinds}))


def group_versions(kinds: Iterable[Kind]) -> list[GroupVersion]:
    """The kinds by group and version, in the order of their Python names."""
    found: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        found.setdefault((kind.api.group, kind.api.version), []).append(kind)
    names = group_names(group for group, _ in found)
    made = [
        GroupVersion(group, version, names[group], tuple(sorted(members, key=lambda kind: kind.class_name)))
        for (group, version), members in found.items()
    ]
    return sorted(made, key=lambda group_version: (group_version.name, group_version.version))


def group_names(groups: Iterable[str]) -> Mapping[str, str]:
    """Each group's first label, or all of its labels where two groups would be called the same."""
    short = {group: short_name(group) for group in groups}
    taken = list(short.values())
    return {group: name if taken.count(name) == 1 else identifier(group) for group, name in short.items()}


def short_name(group: str) -> str:
    """`samplecontroller` for samplecontroller.k8s.io, `core` for the group without a name."""
    name = identifier(group.split(".")[0]) or "core"
    return f"{name}_" if name in _OF_FACTORIES else name
