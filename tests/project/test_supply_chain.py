"""Packages of the image: locked with hashes, complete, and listed in the SBOM."""

import configparser
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "hack" / "requirements.lock"
BUILD_LOCK = ROOT / "hack" / "requirements-build.lock"


class Locked(NamedTuple):
    version: str
    hashes: frozenset[str]


def locked(path: Path) -> dict[str, Locked]:
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    result = {}
    for line in text.splitlines():
        pin = re.match(r"([\w.-]+)==(\S+)", line)
        assert pin is not None, line
        result[pin[1]] = Locked(pin[2], frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line)))
    return result


def wanted(extra: str = "") -> list[Requirement]:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    section, key = ("options.extras_require", extra) if extra else ("options", "install_requires")
    return [Requirement(line) for line in parser[section][key].split("\n") if line and not line.startswith("#")]


@pytest.mark.parametrize("path", [LOCK, BUILD_LOCK], ids=lambda path: path.stem)
def test_every_locked_package_has_hashes(path: Path) -> None:
    assert [name for name, pin in locked(path).items() if not pin.hashes] == []


@pytest.mark.parametrize("path", [LOCK, BUILD_LOCK], ids=lambda path: path.stem)
def test_lock_names_no_index(path: Path) -> None:
    assert re.findall(r"index-url|find-links|https?://|file:", path.read_text()) == []


def test_lock_holds_what_the_controller_needs_and_fits_setup_cfg() -> None:
    """Detects a changed requirement without `make lock`, without an index."""
    pins = locked(LOCK)
    for requirement in [*wanted(), *wanted("secure-serving"), *wanted("auth-providers")]:
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)].version), requirement
    assert pins.keys().isdisjoint({"pytest", "mypy", "uvicorn", "setuptools", "pip"})


def test_wheel_is_built_with_what_pyproject_asks_for() -> None:
    [requirement] = map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])
    source = [line for line in (ROOT / "hack" / "requirements-build.in").read_text().splitlines() if line[0] != "#"]
    assert [Requirement(line) for line in source] == [requirement]
    assert requirement.specifier.contains(locked(BUILD_LOCK)[requirement.name].version)


def written(target: Path, epoch: int = 0) -> Any:
    command = [sys.executable, "-m", "hack.sbom", str(LOCK), str(target)]
    environment = {"SOURCE_DATE_EPOCH": str(epoch), "PATH": "/usr/bin:/bin"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=50)
    return json.loads(target.read_text())


@pytest.mark.e2e
def test_bill_of_materials_lists_each_locked_package_with_version_and_hashes(tmp_path: Path) -> None:
    bill = written(tmp_path / "made" / "sbom.cdx.json")
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "sample-controller")
    listed = {
        part["name"]: Locked(
            part["version"],
            frozenset(
                hashed["content"] for link in part["externalReferences"] for hashed in link.get("hashes", ())
            ),
        )
        for part in bill["components"]
    }  # fmt: skip
    assert listed == locked(LOCK)
    assert all(part["purl"].startswith(f"pkg:pypi/{part['name']}@{part['version']}") for part in bill["components"])


@pytest.mark.e2e
@pytest.mark.slow
def test_bill_of_materials_is_the_same_each_time(tmp_path: Path) -> None:
    first = written(tmp_path / "first.json", epoch=1_790_000_000)
    assert first == written(tmp_path / "second.json", epoch=1_790_000_000)
    assert first["metadata"]["timestamp"].startswith("2026-09-21")


@pytest.mark.e2e
def test_lock_that_is_missing_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "no-such-lock"
    done = subprocess.run(
        [sys.executable, "-m", "hack.sbom", str(lock), str(tmp_path / "x.json")],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no-such-lock" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x.json").exists()
