"""The wheel contains the whole library, and nothing else."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
INGREDIENTS = (
    "clientgo",
    "controller",
    "generated",
    "tests",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, which has more files than the wheel may contain."""
    source = tmp_path_factory.mktemp("source")
    for name in INGREDIENTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", "dist"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "."]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=100)
    assert {path.name for path in source.iterdir()} == {*INGREDIENTS, "dist"}, "the build leaves nothing in the tree"
    [built] = (source / "dist").iterdir()
    return built


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.timeout(120)
def test_wheel_holds_every_file_of_the_library_and_nothing_else(wheel: Path) -> None:
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "clientgo").rglob("*") if path.is_file()}
    library = {path for path in files if "__pycache__" not in path}
    assert {path for path in contents(wheel) if ".dist-info/" not in path} == library
    assert "clientgo/py.typed" in library


def test_wheel_carries_its_licence(wheel: Path) -> None:
    assert [path for path in contents(wheel) if path.endswith("licenses/LICENSE")]


def test_library_imports_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """Python imports from a wheel like from a folder; the repository is not on its path."""
    code = "import clientgo.meta, clientgo.version as v; print(v.__file__)"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONPATH": str(wheel)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith(str(wheel))
