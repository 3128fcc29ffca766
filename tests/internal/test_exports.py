"""Lazy exports of packages: the names for Python and those for type checkers are equal."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.internal.exports import on_demand

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(
    str(path.parent.relative_to(ROOT)).replace("/", ".")
    for folder in ("clientgo", "generated")
    for path in (ROOT / folder).rglob("__init__.py")
    if "on_demand(" in path.read_text()
)


def read_by_type_checkers(package: str) -> dict[str, set[str]]:
    """Imports of a package for type checkers, by module."""
    tree = ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text())
    (choice,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in choice.body if isinstance(node, ast.ImportFrom)]
    return {node.module or "": {alias.name for alias in node.names} for node in imports}


def test_packages_with_lazy_exports_are_found() -> None:
    assert {"clientgo.cache", "clientgo.rest", "clientgo.typed", "generated.clientset"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_those_of_the_imports_for_type_checkers(package: str) -> None:
    read = read_by_type_checkers(package)
    loaded = importlib.import_module(package)
    assert {name for names in read.values() for name in names} == set(loaded.__all__)
    for module, names in read.items():
        for name in names:
            assert getattr(loaded, name) is getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_differ_from_those_of_modules(package: str) -> None:
    loaded = importlib.import_module(package)
    modules = {result.name for result in pkgutil.iter_modules(loaded.__path__)}
    assert not modules & set(loaded.__all__)


@pytest.mark.e2e
@pytest.mark.parametrize("package", PACKAGES)
def test_name_imports_only_its_module(package: str) -> None:
    (name, *_) = importlib.import_module(package).__all__
    code = (
        f"import sys, {package}\n"
        f"print([m for m in sys.modules if m.startswith('{package}.')])\n"
        f"from {package} import {name}\n"
        f"print('{name}' in vars(sys.modules['{package}']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["[]", "True"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Deployment", "import it from clientgo.kubernetes.types.apps_v1"),
        ("Event", "import it from clientgo.kubernetes.types.core_events or .core_v1 or .events_v1"),
        ("Deploymen", "cannot import name 'Deploymen' from 'clientgo.kubernetes.types' ("),
    ],
)
def test_import_of_a_built_in_kind_from_the_package_names_its_modules(name: str, expected: str) -> None:
    with pytest.raises(ImportError) as error:
        exec(f"from clientgo.kubernetes.types import {name}")
    assert expected in str(error.value)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'clientgo.cache' has no attribute 'Nothing'$"):
        on_demand("clientgo.cache", {"lister": "Lister"})("Nothing")
