"""The image, without a container engine: what the Dockerfile says, and what its steps do when followed here."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent


class Step(NamedTuple):
    """One instruction; `stage` counts from 0, and instructions before the first FROM are of stage -1."""

    stage: int
    verb: str
    rest: str


def steps() -> Iterator[Step]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stage = -1
    for line in filter(None, map(str.strip, text.splitlines())):
        verb, _, rest = line.partition(" ")
        stage += verb == "FROM"
        yield Step(stage, verb, rest.strip())


def final() -> list[Step]:
    everything = list(steps())
    return [step for step in everything if step.stage == everything[-1].stage]


def only(verb: str) -> str:
    [step] = [step for step in final() if step.verb == verb]
    return step.rest


def sent_to_the_builder(path: str) -> bool:
    """Whether .dockerignore lets `path` through: the last rule that matches it, or a folder above it, decides."""
    ignored = False
    for rule in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = rule.lstrip("!").removeprefix("**/").removesuffix("/**")
        if rule and not rule.startswith("#") and any(fnmatch.fnmatch(p, pattern) for p in (path, Path(path).name)):
            ignored = not rule.startswith("!")
    return not ignored


def test_final_image_runs_as_nobody_in_particular() -> None:
    assert only("USER") == "65532:65532"


def test_final_image_needs_no_shell() -> None:
    assert json.loads(only("ENTRYPOINT"))[0].startswith("/")
    assert not [step for step in final() if step.verb in ("RUN", "CMD", "SHELL", "HEALTHCHECK")]


def test_read_only_root_is_not_written_to_by_python_itself() -> None:
    assert "PYTHONDONTWRITEBYTECODE=1" in only("ENV")


def test_every_stage_has_the_same_slim_python() -> None:
    images = {step.rest.split()[0] for step in steps() if step.verb == "FROM"}
    assert images == {"python:${PYTHON_VERSION}-slim"}


def test_python_is_one_the_library_supports() -> None:
    [argument] = [step.rest for step in steps() if step.verb == "ARG"]
    major, minor = argument.removeprefix("PYTHON_VERSION=").split(".")
    assert (int(major), int(minor)) >= (3, 11)


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    copies = [step.rest.split() for step in steps() if step.verb == "COPY" and "--from" not in step.rest]
    sources = [source for *sources, _target in copies for source in sources]
    assert {"clientgo", "controller", "generated", "main.py", "setup.cfg"} <= set(sources)
    assert [source for source in sources if not ((ROOT / source).exists() and sent_to_the_builder(source))] == []


@pytest.mark.parametrize("path", [".git", ".venv", "tests", "Makefile", "__pycache__", "dist"])
def test_the_rest_of_the_checkout_stays_out(path: str) -> None:
    assert not sent_to_the_builder(path)


def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


class Image:
    """The image's file system under a folder of its own: only the paths the Dockerfile names are moved there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # The rest is this machine's: how to reach a package index is its business.
        own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | own

    def inside(self, text: str) -> str:
        return re.sub(r"(?<![\w/])(/opt/|/src\b|/app\b)", lambda found: f"{self.root}{found[0]}", text)

    def build(self) -> None:
        """Follow the build stage, step by step; the final stage only copies what that one made."""
        workdir = self.root
        for step in steps():
            if step.stage == 0 and step.verb == "WORKDIR":
                workdir = Path(self.inside(step.rest))
                workdir.mkdir(parents=True)
            elif step.stage == 0 and step.verb == "COPY":
                self.copy(*step.rest.split(), workdir=workdir)
            elif step.stage == 0 and step.verb == "RUN":
                self.run(["sh", "-ec", self.inside(step.rest)], workdir)

    def copy(self, *words: str, workdir: Path) -> None:
        *sources, target = words
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, workdir / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, workdir / target)

    def run(self, command: list[str], workdir: Path, **environment: str) -> str:
        environment = self.environment | environment
        done = subprocess.run(
            command, cwd=workdir, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        if "Temporary failure in name resolution" in done.stderr or "NewConnectionError" in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def files(self) -> set[Path]:
        return set(self.root.rglob("*"))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    made = Image(tmp_path_factory.mktemp("image"))
    made.build()
    return made


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_entrypoint_starts_in_what_the_steps_installed_and_writes_nothing(image: Image) -> None:
    before = image.files()
    settings = dict(setting.split("=") for setting in only("ENV").split())
    command = [image.inside(word) for word in json.loads(only("ENTRYPOINT"))]
    assert "--kubeconfig" in image.run([*command, "--help"], Path(image.inside(only("WORKDIR"))), **settings)
    assert image.files() == before


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_image_holds_neither_pip_nor_what_only_developers_need(image: Image) -> None:
    [packages] = (image.root / "opt/venv/lib").glob("python*/site-packages")
    present = {path.name for path in packages.iterdir()}
    assert "clientgo" in present
    assert present.isdisjoint({"pip", "pytest", "mypy", "uvicorn", "hypothesis"})
