"""Link of the checkout into an environment: what an editable installation would provide, without a build."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.version import VERSION
from hack.checkout import DISTRIBUTIONS, LEFT_OUT, READ_ONLY, requirements

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
ASKED = """
import clientgo.testing, clientgo_apiserver, clientgo_olm, importlib.metadata as metadata, json
print(json.dumps([metadata.version("clientgo"), len(metadata.entry_points(group="clientgo.commands"))]))
"""


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    link(folder, "embedded")
    return folder


def link(venv: Path, extra: str) -> None:
    subprocess.run([venv / "bin" / "python", ROOT / "hack" / "checkout.py", extra], check=True, timeout=60)


def asked(venv: Path) -> list[object]:
    """Ask the environment's Python, away from the repository, without the variables of this process."""
    command = [str(venv / "bin" / "python"), "-c", ASKED]
    done = subprocess.run(command, cwd=venv, env={}, capture_output=True, text=True, check=True, timeout=60)
    result: list[object] = json.loads(done.stdout)
    return result


def names(path: Path) -> list[str]:
    return [line.partition(">")[0].partition("=")[0].partition(";")[0] for line in path.read_text().splitlines()]


def test_linked_packages_are_importable_and_have_versions_and_entry_points(venv: Path) -> None:
    assert asked(venv) == [VERSION, 3]


def test_link_replaces_an_installation_of_another_release(venv: Path) -> None:
    [packages] = venv.glob("lib/python*/site-packages")
    [info] = packages.glob("clientgo-*.dist-info")
    (packages / "clientgo").mkdir()
    (packages / "clientgo" / "__init__.py").write_text("raise ImportError('copy of another release')")
    (packages / "__editable__.clientgo-0.0.1.pth").write_text("import nothing")
    info.rename(info.with_name("clientgo-0.0.1.dist-info"))
    link(venv, "embedded")
    assert [path.name for path in packages.glob("clientgo-*.dist-info")] == [f"clientgo-{VERSION}.dist-info"]
    assert asked(venv)[0] == VERSION


def test_command_runs_in_the_environment(venv: Path) -> None:
    text = (venv / "bin" / "clientgo").read_text()
    assert text.startswith(f"#!{venv}/bin/python\n")
    assert "from clientgo.cli.__main__ import main" in text


def test_run_needs_no_package_of_development_nor_the_distributions_of_the_checkout(venv: Path) -> None:
    full, files = names(venv / "requirements.txt"), names(venv / "requirements-files.txt")
    assert {"msgspec", "uvicorn", "cryptography"} <= set(full)
    assert set(full).isdisjoint({*DISTRIBUTIONS, *READ_ONLY, *LEFT_OUT, "pytest", "mypy", "pip"})
    assert set(files) == READ_ONLY


def test_development_requires_everything_of_every_extra_that_it_names() -> None:
    lines = set(requirements("clientgo", "dev"))
    assert {*requirements("clientgo"), *requirements("clientgo-apiserver")} <= lines
    assert {"python-socks>=3", "kopf>=1.45", "ruff==0.17.5", "kubernetes==37.0.*"} <= lines
    assert [line for line in lines if line.startswith("clientgo")] == []
