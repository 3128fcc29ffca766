"""Which module defines which type, and in what order.

A type that one group uses is defined with that group. One that several use is defined apart, so that importing a group
loads no other: pods and what they are made of in `pods`, volumes in `volumes`, the rest in `shared`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from clientgo.codegen.builtin.models import Model

SHARED = "shared"
APART = {
    "pods": frozenset({"core_v1", "apps_v1", "batch_v1"}),
    "volumes": frozenset({"core_v1", "storage_v1"}),
}
"""Modules for the types that only these groups use: big families, which `shared` would make everyone load."""


def reachable(roots: Iterable[type[Any]], models: Mapping[type[Any], Model]) -> set[type[Any]]:
    """Everything `roots` mention, directly or not, themselves included."""
    found: set[type[Any]] = set()
    waiting = [root for root in roots if root in models]
    while waiting:
        model = waiting.pop()
        if model not in found:
            found.add(model)
            waiting += [need for need in models[model].needs if need in models]
    return found


def place(uses: Mapping[str, set[type[Any]]]) -> dict[type[Any], str]:
    """The module of each type, given what each group uses."""
    users: dict[type[Any], set[str]] = defaultdict(set)
    for group, used in uses.items():
        for model in used:
            users[model].add(group)
    return {model: _module(groups) for model, groups in users.items()}


def _module(groups: set[str]) -> str:
    if len(groups) == 1:
        return min(groups)
    return next((name for name, family in APART.items() if groups <= family), SHARED)


def in_order(models: Iterable[Model]) -> list[Model]:
    """By name, but after what they mention; only types that mention each other come before one of those."""
    by_class = {model.official: model for model in sorted(models, key=lambda m: m.name)}
    ordered: dict[type[Any], Model] = {}
    begun: set[type[Any]] = set()

    def visit(model: Model) -> None:
        if model.official in begun:
            return
        begun.add(model.official)
        # What defaults are made of comes first: it must be there whatever else goes round in circles.
        for needed in sorted(model.needs, key=lambda c: (c not in model.zeros, c.__name__)):
            if needed in by_class:
                visit(by_class[needed])
        ordered[model.official] = model

    for model in by_class.values():
        visit(model)
    return list(ordered.values())
