"""Kinds, models and module placement of the generated groups, read from the official client.

A type of one group is defined in its module. Types of several groups have modules of their own, so that importing a
group loads no other: `pods`, `volumes`, and `shared` for the rest. So has
core/v1's `Event`, which every controller sends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes import client as official_client

from clientgo.codegen.builtin.groups import GROUPS, METHODS, OfficialKind, kinds_of
from clientgo.codegen.builtin.models import OURS, Model, read_model
from clientgo.codegen.model import short_name
from clientgo.meta.scheme import ApiType

SHARED = "shared"
APART = {
    "pods": frozenset({"core_v1", "apps_v1", "batch_v1"}),
    "volumes": frozenset({"core_v1", "storage_v1"}),
}
"""Modules of large families of types that only these groups use, to keep `shared` small."""
ALONE = {"CoreV1Event": "core_events", "CoreV1EventSeries": "core_events"}
"""Modules of types that are used without the others of their group: they load in a tenth of its time."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Kinds and reachable types by group module, the types' records, and where each is defined."""

    kinds: Mapping[str, tuple[OfficialKind, ...]]
    uses: Mapping[str, set[type[Any]]]
    models: Mapping[type[Any], Model]
    places: Mapping[type[Any], str]

    def defined(self, module: str) -> list[Model]:
        """Return the types that a module defines, by name."""
        models = (self.models[official] for official, owner in self.places.items() if owner == module)
        return sorted(models, key=lambda model: model.record.name)

    def borrowed(self, module: str) -> dict[str, set[str]]:
        """Return the types that a module takes from others, by module."""
        # A group offers every type its kinds reach, wherever it is defined; `pods` only takes what it mentions.
        needed = set(self.uses.get(module, ())).union(*(model.needs for model in self.defined(module)))
        borrowed: dict[str, set[str]] = {}
        for official in needed:
            if self.places.get(official, module) != module:
                borrowed.setdefault(self.places[official], set()).add(self.models[official].record.name)
        return borrowed


def survey() -> Survey:
    """Read the official client."""
    kinds = {
        f"{short_name(group)}_{version}": tuple(kinds_of(getattr(official_client, api), official_client))
        for api, (group, version) in GROUPS.items()
    }
    models = _read_all({kind.model: kind.api for group in kinds.values() for kind in group})
    uses = {
        group: _reachable((*(kind.model for kind in members), *_bodies(members[0].api.group)), models)
        for group, members in kinds.items()
    }
    users: dict[type[Any], set[str]] = defaultdict(set)
    for group, used in uses.items():
        for model in used:
            users[model].add(group)
    return Survey(kinds, uses, models, {model: _place(model, groups) for model, groups in users.items()})


def _bodies(group: str) -> Iterator[type[Any]]:
    """Yield what the methods of a group's clients send besides its kinds; the group's module offers it, too."""
    for (owner, _), methods in METHODS.items():
        if owner == group:
            yield from (getattr(official_client, method.body) for method in methods if method.body)


def _read_all(roots: Mapping[type[Any], ApiType]) -> dict[type[Any], Model]:
    models: dict[type[Any], Model] = {}
    waiting = list(roots)
    while waiting:
        official = waiting.pop()
        if official not in models and official.__name__ not in OURS:
            models[official] = read_model(official, roots.get(official))
            waiting += models[official].needs
    return models


def _reachable(roots: Iterable[type[Any]], models: Mapping[type[Any], Model]) -> set[type[Any]]:
    reachable: set[type[Any]] = set()
    waiting = [root for root in roots if root in models]
    while waiting:
        model = waiting.pop()
        if model not in reachable:
            reachable.add(model)
            waiting += [need for need in models[model].needs if need in models]
    return reachable


def _place(model: type[Any], groups: set[str]) -> str:
    if model.__name__ in ALONE:
        return ALONE[model.__name__]
    if len(groups) == 1:
        return min(groups)
    return next((name for name, family in APART.items() if groups <= family), SHARED)


def in_order(models: Iterable[Model]) -> list[Model]:
    """Move models behind their dependencies where cycles permit."""
    by_class = {model.official: model for model in models}
    ordered: dict[type[Any], Model] = {}
    begun: set[type[Any]] = set()

    def visit(model: Model) -> None:
        if model.official in begun:
            return
        begun.add(model.official)
        # Dependencies of defaults come first: they must be defined, even in cycles.
        for needed in sorted(model.needs, key=lambda c: (c not in model.zeros, c.__name__)):
            if needed in by_class:
                visit(by_class[needed])
        ordered[model.official] = model

    for model in by_class.values():
        visit(model)
    return list(ordered.values())
