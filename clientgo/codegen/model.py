"""What the generator knows of a kind, and how its modules, classes and accessors are called.

A `Kind` is all that clients, listers and informers are rendered from, whichever front end found it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clientgo.codegen.source import snake
from clientgo.meta.plural import plural_of
from clientgo.meta.scheme import ApiType

STATUS_VERBS = ("update_status", "patch_status", "apply_status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: what the API calls it, and where its class is."""

    api: ApiType
    class_name: str
    module: str
    source: str
    """What it was read from, as told in the generated file; never an absolute path."""

    @property
    def accessor(self) -> str:
        """`foos`, `config_maps`: the plural with its words parted, or a plural of one's own as it is."""
        if self.api.plural == plural_of(self.api.kind.lower()):
            return plural_of(snake(self.api.kind))
        return identifier(self.api.plural)

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
        return f"{self.name}_{self.version}"

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
    return identifier(group.split(".")[0]) or "core"


def identifier(text: str) -> str:
    """`text` with what Python forbids in a name made an underscore."""
    return re.sub(r"\W", "_", text)


def class_case(name: str) -> str:
    """`my_group_v1` → `MyGroupV1`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
