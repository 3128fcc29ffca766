"""Everything the official client tells about the generated groups, gathered once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes import client as official_client

from clientgo.codegen.builtin.groups import GROUPS, METHODS, OfficialKind, kinds_of
from clientgo.codegen.builtin.models import OURS, Model, read_model
from clientgo.codegen.builtin.placing import place, reachable
from clientgo.codegen.model import short_name


@dataclass(frozen=True, slots=True)
class Survey:
    """Kinds and reachable types by group module, the types' records, and where each is defined."""

    kinds: Mapping[str, tuple[OfficialKind, ...]]
    uses: Mapping[str, set[type[Any]]]
    models: Mapping[type[Any], Model]
    places: Mapping[type[Any], str]


def survey() -> Survey:
    """Read the official client."""
    kinds = {
        _module(*group_version): tuple(kinds_of(getattr(official_client, api), official_client))
        for api, group_version in sorted(GROUPS.items(), key=lambda item: _module(*item[1]))
    }
    marked = {kind.model for group in kinds.values() for kind in group}
    models = _read_all(marked)
    uses = {
        group: reachable((*(kind.model for kind in found), *_bodies(found[0].group)), models)
        for group, found in kinds.items()
    }
    return Survey(kinds, uses, models, place(uses))


def _bodies(group: str) -> Iterator[type[Any]]:
    """Yield what the methods of a group's clients send besides its kinds; the group's module offers it, too."""
    for (owner, _), methods in METHODS.items():
        if owner == group:
            yield from (getattr(official_client, method.body) for method in methods if method.body)


def _module(group: str, version: str) -> str:
    return f"{short_name(group)}_{version}"


def _read_all(roots: set[type[Any]]) -> dict[type[Any], Model]:
    models: dict[type[Any], Model] = {}
    waiting = list(roots)
    while waiting:
        official = waiting.pop()
        if official not in models and official.__name__ not in OURS:
            models[official] = read_model(official, is_kind=official in roots)
            waiting += models[official].needs
    return models
