"""Page for users of kopf, kubebuilder and client-go: the names in its last column exist."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import clientgo

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coming-from.md").read_text()
OTHERS = {"Foo", "FooReconciler", "Deployment", "Pod", "None", "True", "Annotated", "py"}
"""Names of the reader's program, of built-in kinds, and of Python."""


def used(text: str) -> set[str]:
    """Return the classes, called functions, attributes and keyword arguments in a cell's code."""
    names = set[str]()
    for code in re.findall(r"`([^`]+)`", text):
        without_strings = re.sub(r'"[^"]*"', "", code)
        names.update(*re.findall(r"\b([A-Z][A-Za-z]+)\b|\b(\w+)\(|(?<=\w\.)([a-z]\w*)|\b([a-z_]+)=", without_strings))
    return names - {""}


ROWS = [line.strip("| \n").split(" | ") for line in PAGE.splitlines() if re.match(r"\| (?!---)", line)]
NAMES = sorted(set().union(*(used(cells[-1]) for cells in ROWS)) - OTHERS)


def bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node defines."""
    match node:
        case ast.ClassDef() | ast.FunctionDef():
            yield node.name
        case ast.arg():
            yield node.arg
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            yield name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name


@functools.cache
def defined() -> frozenset[str]:
    """Return all names that the library defines."""
    names = set[str]()
    for folder in map(Path, clientgo.__path__):
        for path in (path for path in folder.rglob("*.py") if "types" not in path.parts):
            names.update(path.relative_to(folder.parent).with_suffix("").parts)
            names.update(name for node in ast.walk(ast.parse(path.read_text())) for name in bound(node))
    return frozenset(names)


def test_page_is_read() -> None:
    assert len(ROWS) > 80
    assert {"Reconciler", "requeue_after", "add_event_handler"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    assert name in defined()
