"""Names of public classes and type aliases: one meaning per name in the library."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = "clientgo/kubernetes/"
MIRRORED = "a class for Kubernetes' type that does not load the generated types"
ALLOWED = {
    "ApplyConfiguration": "the base of apply configurations has client-go's name, the generated class is an API type",
    "DeleteOptions": MIRRORED,
    "Preconditions": MIRRORED,
    "UserInfo": MIRRORED,
    "WebhookConversion": "the conversion of a kind: as declared in Python, and in its CustomResourceDefinition",
}
"""Names that one hand-written class shares with a generated one, with the reason."""


def definitions(source: str) -> Iterator[tuple[str, bool]]:
    """Yield the name of each public class (True) and type alias (False) of a module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, True
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper():
                yield name, False


def shared(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the modules of each name that a hand-written class shares with another class or a type alias."""
    classes, aliases = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for path, source in sources.items():
        for name, is_class in definitions(source):
            (classes if is_class else aliases)[name].append(path)
    result = {name: [*paths, *aliases[name]] for name, paths in classes.items() if len(paths) + len(aliases[name]) > 1}
    return {
        name: sorted(paths) for name, paths in result.items() if any(not path.startswith(GENERATED) for path in paths)
    }


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a.py": "class Route: ...", "b.py": "class Route: ..."}, {"Route": ["a.py", "b.py"]}),
        ({"a.py": "class Route: ...", "b.py": "Route = dict[str, int]"}, {"Route": ["a.py", "b.py"]}),
        ({"a.py": "class Pod: ...", f"{GENERATED}b.py": "class Pod: ..."}, {"Pod": ["a.py", f"{GENERATED}b.py"]}),
        ({"a.py": "Object = dict[str, int]", "b.py": "Object = dict[str, int]"}, {}),
        ({"a.py": "class _Route: ...", "b.py": "class _Route: ..."}, {}),
        ({f"{GENERATED}a.py": "class Pod: ...", f"{GENERATED}b.py": "class Pod: ..."}, {}),
    ],
    ids=["two classes", "class and alias", "generated class", "two aliases", "private", "both generated"],
)  # fmt: skip
def test_shared_names_are_found(sources: Mapping[str, str], expected: Mapping[str, list[str]]) -> None:
    assert shared(sources) == expected


def test_no_two_public_classes_share_a_name() -> None:
    paths = [
        *ROOT.glob("clientgo/**/*.py"),
        *ROOT.glob("tools/clientgo/**/*.py"),
        *ROOT.glob("apiserver/clientgo_apiserver/**/*.py"),
        *ROOT.glob("olm/clientgo_olm/*.py"),
    ]
    files = {path.relative_to(ROOT).as_posix(): path for path in paths}
    result = shared({name: path.read_text(encoding="utf-8") for name, path in files.items()})
    excused = {name for name, paths in result.items() if sum(not path.startswith(GENERATED) for path in paths) == 1}
    assert {name: paths for name, paths in result.items() if name not in excused & ALLOWED.keys()} == {}
    assert ALLOWED.keys() - result.keys() == set(), "these names are unique now: remove them from ALLOWED"


EMPTY_WORDS = frozenset(
    (
        *("answer", "asked", "found", "given", "here", "kept", "known", "left", "look", "made", "one", "others", "own"),
        *(
            "parts",
            "place",
            "rest",
            "said",
            "shown",
            "taken",
            "there",
            "told",
            "wanted",
            "way",
            "where",
            "whole",
            "why",
        ),
    )
)
"""Names that say nothing about what they hold."""

CEILINGS = {
    **dict.fromkeys(("apiserver", "benchmarks", "clientgo", "controller", "examples", "hack", "olm", "tools"), 0),
    "tests": 15,
}
"""Uses of such names for variables and parameters by path; a ceiling may only fall."""


def empty_names(source: str) -> list[str]:
    """Return the assigned names and parameters of a module that are empty words."""
    assigned = (
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)) or isinstance(node, ast.arg)
    )
    return [name for name in assigned if name in EMPTY_WORDS]


def test_empty_names_are_found() -> None:
    source = "for one in parts:\n    x = [kept for kept in f(one=1)]\ndef f(given, *, way): where: int = 1"
    assert sorted(empty_names(source)) == ["given", "kept", "one", "way", "where"]


@pytest.mark.parametrize("path", CEILINGS)
def test_names_say_what_they_hold(path: str) -> None:
    nested = tuple(other for other in CEILINGS if other.startswith(f"{path}/"))
    root = ROOT / path
    modules = [root] if root.is_file() else sorted(root.rglob("*.py"))
    uses = {
        name: words
        for module in modules
        if not (name := str(module.relative_to(ROOT))).startswith((GENERATED, *nested))
        and (words := empty_names(module.read_text()))
    }
    assert sum(map(len, uses.values())) <= CEILINGS[path], uses
