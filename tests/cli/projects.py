"""Scaffolded projects for tests of the command."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

import pytest

from clientgo.cli.__main__ import main
from tests.processes import MYPY_CACHE, using_mypy_cache

ROOT = Path(__file__).resolve().parents[2]


def kind(group: str, version: str, name: str) -> tuple[str, ...]:
    """Return the flags that name a kind."""
    return ("--group", group, "--version", version, "--kind", name)


FOO = kind("samplecontroller", "v1alpha1", "Foo")


def clientgo(folder: Path, *arguments: str) -> int:
    """Run the command in a folder, in this process, which forgets the modules of the project afterwards."""
    before = {*sys.modules}
    try:
        with chdir(folder):
            return main(arguments)
    finally:
        for name in sys.modules.keys() - before:
            places = [sys.modules[name].__dict__.get("__file__"), *getattr(sys.modules[name], "__path__", ())]
            if any(Path(each).is_relative_to(folder) for each in places if each):
                del sys.modules[name]


def new_project(folder: Path, *flags: str, domain: str = "c9g.io", name: str = "foo") -> Path:
    """Create a project without kinds."""
    folder.mkdir(exist_ok=True)
    assert clientgo(folder, "init", "--domain", domain, "--project-name", name, *flags) == 0
    return folder


def foo_project(folder: Path) -> Path:
    """Create a project with the kind Foo and its controller."""
    new_project(folder)
    assert clientgo(folder, "create", "api", *FOO, "--resource", "--controller") == 0
    return folder


def read_files(folder: Path) -> dict[str, str]:
    """Return the text of every file of a project, by path."""
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def rejected(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that fails and changes no file; return what it prints as its error."""
    before = read_files(project)
    assert clientgo(project, *arguments) == 1
    assert read_files(project) == before
    return capsys.readouterr().err


def environment(library: Path) -> Mapping[str, str]:
    """Return environment variables for a project's programs, which import this library from the folder `library`.

    The folder has only links, so that other modules of this repository (main, controller) cannot be imported.
    """
    for package in (ROOT / "clientgo", ROOT / "apiserver" / "clientgo_apiserver", ROOT / "olm" / "clientgo_olm"):
        (library / package.name).symlink_to(package, target_is_directory=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    stored = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    folders = os.pathsep.join([str(library), str(ROOT / "tools")])
    imports = {"PYTHONPATH": folders, "MYPYPATH": folders, "MYPY_CACHE_DIR": str(MYPY_CACHE)}
    return {**stored, **imports, "PATH": path, "PYTHON": sys.executable}


def lint(folder: Path, variables: Mapping[str, str]) -> None:
    """Run `make lint`."""
    with using_mypy_cache():
        run(folder, variables, "make", "lint")


def run(folder: Path, variables: Mapping[str, str], *command: str, answers: str = "") -> str:
    """Run a program and return its output; fail with the output if it exits with an error."""
    done = subprocess.run(
        command, cwd=folder, env=variables, input=answers, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
