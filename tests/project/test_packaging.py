"""Wheels of the distributions: each contains its whole package, and nothing else."""

import fcntl
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hack.dist import build
from tests.project.checkouts import INGREDIENTS, ROOT, copy_checkout

pytestmark = pytest.mark.e2e

PACKAGES = {
    "clientgo": ROOT / "clientgo",
    "clientgo_apiserver": ROOT / "apiserver" / "clientgo_apiserver",
    "clientgo_tools": ROOT / "tools" / "clientgo",
    "clientgo_olm": ROOT / "olm" / "clientgo_olm",
}
"""Package of each distribution, by its name in that of the wheel."""


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the wheels, once in a run: its processes share the folder."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "wheels").exists():
            build_from_copy(folder / "source", folder / "built")
            (folder / "built").rename(folder / "wheels")
    return {path.name.partition("-")[0]: path for path in (folder / "wheels").glob("*.whl")}


def build_from_copy(source: Path, to: Path) -> None:
    """Build the wheels from a copy, which has more files than the wheels may contain."""
    copy_checkout(source)
    before = {path.name for path in (source / "apiserver").iterdir()}
    build(source, to, 0)
    assert {path.name for path in source.iterdir()} == {*INGREDIENTS}, "the build leaves nothing in the tree"
    assert {path.name for path in (source / "apiserver").iterdir()} == before


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def required(wheel: Path) -> set[str]:
    """Return the distributions that a wheel requires without extras."""
    [path] = [path for path in contents(wheel) if path.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(path).decode()
    lines = re.findall(r"^Requires-Dist: ([\w-]+)(.*)$", metadata, re.MULTILINE)
    return {name for name, condition in lines if "extra ==" not in condition}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_holds_every_file_of_its_package_and_nothing_else(wheels: dict[str, Path], package: str) -> None:
    folder = PACKAGES[package]
    files = {str(path.relative_to(folder.parent)) for path in folder.rglob("*") if path.is_file()}
    local = {path for path in files if "__pycache__" not in path}
    assert {path for path in contents(wheels[package]) if ".dist-info/" not in path} == local


def test_wheels_have_no_file_in_common_and_declare_types(wheels: dict[str, Path]) -> None:
    files = [{path for path in contents(wheel) if ".dist-info/" not in path} for wheel in wheels.values()]
    assert len(set.union(*files)) == sum(map(len, files))
    typed = {"clientgo/py.typed", "clientgo/testing/py.typed", "clientgo_apiserver/py.typed", "clientgo_olm/py.typed"}
    assert typed <= set.union(*files)


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_carries_its_licence(wheels: dict[str, Path], package: str) -> None:
    assert [path for path in contents(wheels[package]) if path.endswith("licenses/LICENSE")]


def test_tools_require_the_server_and_that_the_library_which_requires_neither(wheels: dict[str, Path]) -> None:
    assert required(wheels["clientgo_tools"]) == {"clientgo", "clientgo-apiserver"}
    assert "clientgo" in required(wheels["clientgo_apiserver"])
    assert "clientgo-tools" not in required(wheels["clientgo_apiserver"])
    above = {"clientgo-apiserver", "clientgo-tools", "uvicorn", "cryptography"}
    assert required(wheels["clientgo"]).isdisjoint(above)


@pytest.mark.parametrize(
    ("names", "module"),
    [(["clientgo"], "clientgo.meta"), (["clientgo", "clientgo_apiserver"], "clientgo_apiserver.server")],
)
def test_package_imports_from_the_wheels_alone(
    wheels: dict[str, Path], tmp_path: Path, names: list[str], module: str
) -> None:
    """Wheels are unpacked, as by pip; the repository is not on Python's path."""
    for name in names:
        with zipfile.ZipFile(wheels[name]) as archive:
            archive.extractall(tmp_path / name)
    path = os.pathsep.join(str(tmp_path / name) for name in names)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", f"import {module} as m; print(m.__file__)"], cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith(str(tmp_path / names[-1]))
