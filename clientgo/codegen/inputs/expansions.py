"""Hand-written base classes of generated clients and listers, found by client-go's names.

For a kind Foo, the client inherits `FooExpansion`, the lister `FooListerExpansion`, and the lister of one namespace
`FooNamespaceListerExpansion`. Modules are parsed, not imported, because they import the generated code, which may not
exist yet.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clientgo.codegen.inputs.declarations import parsed
from clientgo.codegen.model import Expansions, Kind
from clientgo.codegen.problems import Problems

# Longest suffix first, because each ends like the next.
_PARTS = {"NamespaceListerExpansion": "namespace_lister", "ListerExpansion": "lister", "Expansion": "client"}


@dataclass(frozen=True, slots=True)
class Expansion:
    """An expansion class and its place."""

    name: str
    module: str
    file: str
    line: int


def read_expansions(names: Iterable[str], problems: Problems) -> list[Expansion]:
    """Read the expansion classes of these modules; errors go to `problems`."""
    expansions: list[Expansion] = []
    for name in names:
        source = parsed(name, problems)
        if source is None:
            continue
        classes = [node for node in source.tree.body if isinstance(node, ast.ClassDef)]
        module_expansions = [
            Expansion(node.name, name, source.file, node.lineno) for node in classes if node.name.endswith("Expansion")
        ]
        if not module_expansions:
            message = "no expansion class found: name it FooExpansion, FooListerExpansion"
            problems.at_module(source.file, 1, f"{message} or FooNamespaceListerExpansion for a kind Foo")
        expansions += module_expansions
    return expansions


def expanded(kinds: Sequence[Kind], expansions: Iterable[Expansion], problems: Problems) -> list[Kind]:
    """Return the kinds with their expansions; expansions of unknown kinds go to `problems`."""
    by_kind: dict[str, Expansions] = {}
    names = {kind.class_name: kind for kind in kinds}
    for expansion in expansions:
        fitting = [
            (kind, part)
            for suffix, part in _PARTS.items()
            if expansion.name.endswith(suffix) and (kind := names.get(expansion.name.removesuffix(suffix)))
        ]
        message = _wrong(expansion, *fitting[:1])
        if message:
            problems.at_module(expansion.file, expansion.line, message)
            continue
        kind, part = fitting[0]
        before = by_kind.get(kind.class_name, Expansions())
        by_kind[kind.class_name] = replace(before, **{part: f"{expansion.module}:{expansion.name}"})
    return [replace(kind, expansions=by_kind.get(kind.class_name, kind.expansions)) for kind in kinds]


def _wrong(expansion: Expansion, fitting: tuple[Kind, str] | None = None) -> str:
    if fitting is None:
        return f"no kind found for {expansion.name}: name it after a kind, such as FooListerExpansion"
    kind, part = fitting
    if part == "namespace_lister" and not kind.api.namespaced:
        return f"{kind.class_name} is cluster-scoped: use {kind.class_name}ListerExpansion"
    if part != "client" and not kind.has_cache:
        return f"{kind.class_name} has no lister, because it cannot be listed and watched"
    return ""
