"""The image, without a container engine: the Dockerfile, and the result of its steps."""

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

ROOT = Path(__file__).parents[2]


class Step(NamedTuple):
    """One instruction; `stage` counts from 0, and instructions before the first FROM have stage -1."""

    stage: int
    verb: str
    rest: str


def steps() -> Iterator[Step]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stage = -1
    for line in filter(None, map(str.strip, text.splitlines())):
        verb, _, remainder = line.partition(" ")
        stage += verb == "FROM"
        yield Step(stage, verb, remainder.strip())


def final() -> list[Step]:
    everything = list(steps())
    return [step for step in everything if step.stage == everything[-1].stage]


def only(verb: str) -> str:
    [step] = [step for step in final() if step.verb == verb]
    return step.rest


def sent_to_the_builder(path: str) -> bool:
    """Return whether .dockerignore includes `path`: the last rule that matches it or a folder above decides."""
    ignored = False
    for rule in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = rule.lstrip("!").removeprefix("**/").removesuffix("/**")
        if rule and not rule.startswith("#") and any(fnmatch.fnmatch(p, pattern) for p in (path, Path(path).name)):
            ignored = not rule.startswith("!")
    return not ignored


@pytest.mark.feature("A-69")
def test_final_image_runs_as_an_unprivileged_user() -> None:
    assert only("USER") == "65532:65532"


def test_final_image_needs_no_shell() -> None:
    assert json.loads(only("ENTRYPOINT"))[0].startswith("/")
    assert not [step for step in final() if step.verb in ("RUN", "CMD", "SHELL", "HEALTHCHECK")]


def test_read_only_root_is_not_written_to_by_python_itself() -> None:
    assert "PYTHONDONTWRITEBYTECODE=1" in only("ENV")


def test_every_stage_has_the_same_slim_python() -> None:
    """One argument names it, so that one --build-arg pins it by its digest."""
    images = [step.rest.split()[0] for step in steps() if step.verb == "FROM"]
    assert images == ["${PYTHON_IMAGE}", "${PYTHON_IMAGE}"]


def test_python_is_one_the_library_supports() -> None:
    [argument] = [step.rest for step in steps() if step.verb == "ARG" and step.stage == -1]
    match = re.fullmatch(r"PYTHON_IMAGE=python:(\d+)\.(\d+)-slim", argument)
    assert match is not None
    assert (int(match[1]), int(match[2])) >= (3, 11)


def test_image_says_what_it_is_and_which_commit_it_was_made_of() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', only("LABEL")))
    arguments = {step.rest.partition("=")[0] for step in final() if step.verb == "ARG"}
    settings = {name: value for name, value in labels.items() if value.startswith("$")}
    assert settings == {name.lower(): f"${{{name}}}" for name in arguments}
    assert {"title", "description", "licenses", "version", "revision", "source"} == set(labels)
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"--build-arg {name}=" in makefile for name in arguments)


def test_packages_are_installed_from_the_lock_alone() -> None:
    """A replaced release, or an unlocked package, fails the build."""
    commands = [command for step in steps() if step.verb == "RUN" for command in step.rest.split("&&")]
    installs = [command for command in commands if re.search(r"\bpip (\S+ )*install ", command)]
    assert len(installs) == 3
    for command in installs:
        locked = "--require-hashes" in command and "--only-binary :all:" in command
        assert locked or "--no-deps --no-index --no-build-isolation ." in command


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    copies = [step.rest.split() for step in steps() if step.verb == "COPY" and "--from" not in step.rest]
    sources = [source for *sources, _target in copies for source in sources]
    assert {"clientgo", "controller", "generated", "main.py", "setup.cfg"} <= set(sources)
    assert [source for source in sources if not ((ROOT / source).exists() and sent_to_the_builder(source))] == []


@pytest.mark.parametrize("path", [".git", ".venv", "tests", "Makefile", "__pycache__", "dist", "hack/check.sh"])
def test_the_rest_of_the_checkout_stays_out(path: str) -> None:
    assert not sent_to_the_builder(path)


@pytest.mark.e2e
def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


class Image:
    """File system of the image in a folder; only the paths named by the Dockerfile are redirected there."""

    def __init__(self, root: Path, checkout: Path) -> None:
        self.root = root
        self.checkout = checkout
        # The rest is this machine's: how to reach a package index is its business.
        local = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | local

    def inside(self, text: str) -> str:
        return re.sub(r"(?<![\w/])(/opt/|/src\b|/app\b)", lambda result: f"{self.root}{result[0]}", text)

    def build(self) -> None:
        """Run the steps of the build stage; the final stage only copies its result."""
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
        if target.endswith("/"):
            (workdir / target).mkdir(exist_ok=True)
        for source in sources:
            if (self.checkout / source).is_dir():
                shutil.copytree(self.checkout / source, workdir / target)
            else:
                shutil.copy(self.checkout / source, workdir / target)

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

    def content(self) -> dict[str, bytes]:
        """Return the files of the final stage: bytes, and targets of links."""
        used = [path for name in ("opt/venv", "app") for path in (self.root / name).rglob("*")]
        return {
            str(path.relative_to(self.root)): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            for path in used
            if path.is_symlink() or path.is_file()
        }


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Build from a copy of the build context, so that the repository may change meanwhile."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("clientgo", "controller", "generated", "hack"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md", "main.py", "pyproject.toml", "setup.cfg"):
        shutil.copy(ROOT / name, checkout)
    built = Image(tmp_path_factory.mktemp("image"), checkout)
    built.build()
    return built


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_second_build_holds_the_same_bytes(image: Image) -> None:
    """Built at the same path, because compiled files contain it."""
    before = image.content()
    shutil.rmtree(image.root)
    image.root.mkdir()
    image.build()
    after = image.content()
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == set()
    assert [path for path in after if path.startswith("opt/venv/") and path.endswith(".pyc")]


@pytest.mark.feature("A-69")
@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_entrypoint_starts_in_what_the_steps_installed_and_writes_nothing(image: Image) -> None:
    before = image.files()
    settings = dict(setting.split("=") for setting in only("ENV").split())
    command = [image.inside(word) for word in json.loads(only("ENTRYPOINT"))]
    assert "--kubeconfig" in image.run([*command, "--help"], Path(image.inside(only("WORKDIR"))), **settings)
    assert image.files() == before


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_image_holds_neither_pip_nor_what_only_developers_need(image: Image) -> None:
    [packages] = (image.root / "opt/venv/lib").glob("python*/site-packages")
    present = {path.name for path in packages.iterdir()}
    assert "clientgo" in present
    assert present.isdisjoint({"pip", "pytest", "mypy", "uvicorn", "hypothesis"})
