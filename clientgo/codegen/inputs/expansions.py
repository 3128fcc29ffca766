"""Methods written by hand that generated clients and listers inherit, found by the names that client-go gives them.

For a kind Foo: `FooExpansion` goes into its client, `FooListerExpansion` into its lister, and
`FooNamespaceListerExpansion` into the lister of one namespace. Modules are parsed and not imported: what extends
generated code imports it, and may have to be there before that code is.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clientgo.codegen.inputs.declarations import parsed
from clientgo.codegen.model import Expansions, Kind
from clientgo.codegen.problems import Problems

# The longer ones first, as each ends like the next.
_PARTS = {"NamespaceListerExpansion": "namespace_lister", "ListerExpansion": "lister", "Expansion": "client"}


@dataclass(frozen=True, slots=True)
class Expansion:
    """A class with methods, and where it stands."""

    name: str
    module: str
    file: str
    line: int


def read_expansions(names: Iterable[str], problems: Problems) -> list[Expansion]:
    """The classes in these modules that are called like expansions; whatever is wrong goes to `problems`."""
    found: list[Expansion] = []
    for name in names:
        source = parsed(name, problems)
        if source is None:
            continue
        classes = [node for node in source.tree.body if isinstance(node, ast.ClassDef)]
        here = [
            Expansion(node.name, name, source.file, node.lineno) for node in classes if node.name.endswith("Expansion")
        ]
        if not here:
            told = "no class is called like an expansion: write FooExpansion, FooListerExpansion"
            problems.at_module(source.file, 1, f"{told} or FooNamespaceListerExpansion for a kind Foo")
        found += here
    return found


def expanded(kinds: Sequence[Kind], found: Iterable[Expansion], problems: Problems) -> list[Kind]:
    """The kinds with their expansions; one that is for no kind goes to `problems`."""
    given: dict[str, Expansions] = {}
    names = {kind.class_name: kind for kind in kinds}
    for expansion in found:
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
        before = given.get(kind.class_name, Expansions())
        given[kind.class_name] = replace(before, **{part: f"{expansion.module}:{expansion.name}"})
    return [replace(kind, expansions=given.get(kind.class_name, kind.expansions)) for kind in kinds]


def _wrong(expansion: Expansion, fitting: tuple[Kind, str] | None = None) -> str:
    if fitting is None:
        return f"{expansion.name} is for no kind that is generated: call it like one, as in FooListerExpansion"
    kind, part = fitting
    if part == "namespace_lister" and not kind.api.namespaced:
        return f"{kind.class_name} belongs to no namespace: write {kind.class_name}ListerExpansion"
    if part != "client" and not kind.has_cache:
        return f"{kind.class_name} has no lister, because it can't be listed and watched"
    return ""
