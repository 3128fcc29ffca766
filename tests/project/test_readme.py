"""The README's first commands work where pip refuses to install outside of a virtual environment.

Empty distributions stand in for those of this checkout, so that pip needs no package index.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS: str = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """\
from pathlib import Path
from zipfile import ZipFile

NAME = "{name}"


def build_wheel(folder, config_settings=None, metadata_directory=None):
    info = f"{{NAME}}-1.0.dist-info"
    with ZipFile(Path(folder) / f"{{NAME}}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{{info}}/METADATA", f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: 1.0\\n")
        wheel.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{{info}}/RECORD", "")
    return f"{{NAME}}-1.0-py3-none-any.whl"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Folder with the distributions, and `bin/python3`, an interpreter outside of virtual environments."""
    for path, name in (("", "clientgo"), ("apiserver", "clientgo_apiserver"), ("tools", "clientgo_tools")):
        folder = tmp_path / "checkout" / path
        folder.mkdir()
        (folder / "pyproject.toml").write_text(PROJECT)
        (folder / "backend.py").write_text(BACKEND.format(name=name))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(Path(sys.base_prefix, "bin", "python3"))
    return tmp_path / "checkout"


def execute(checkout: Path, commands: str) -> "subprocess.CompletedProcess[str]":
    """Run commands in a shell, with a pip that refuses to install outside of a virtual environment."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL"))}
    path = f"{checkout.parent / 'bin'}:/usr/bin:/bin"
    pip = {"PIP_REQUIRE_VIRTUALENV": "1", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        ["bash", "-e", "-c", commands], cwd=checkout, env={**environ, **pip, "PATH": path}, capture_output=True,
        text=True, check=False, timeout=100,
    )  # fmt: skip


@pytest.mark.e2e
@pytest.mark.timeout(120)
def test_first_commands_install_into_a_virtual_environment(checkout: Path) -> None:
    done = execute(checkout, COMMANDS)
    assert done.returncode == 0, done.stdout + done.stderr
    packages = checkout.glob(".venv/lib/*/site-packages/*-1.0.dist-info")
    assert sorted(package.name.partition("-")[0] for package in packages) == [
        "clientgo",
        "clientgo_apiserver",
        "clientgo_tools",
    ]


@pytest.mark.e2e
def test_first_commands_fail_without_their_virtual_environment(checkout: Path) -> None:
    created, activated, *installed = COMMANDS.splitlines()
    assert "venv" in created
    assert "activate" in activated
    done = execute(checkout, "\n".join(installed))
    assert done.returncode != 0
    assert "virtualenv" in done.stderr
