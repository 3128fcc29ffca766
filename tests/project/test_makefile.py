"""Makefile and installation: targets are listed, and problems end in one-line messages."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.version import VERSION

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_help_is_the_default_and_lists_every_target() -> None:
    listed = set(re.findall(r"^  ([a-z-]+) ", make().stdout, re.MULTILINE))
    assert listed == set(re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {
        "help",
        "run",
        "test",
        "check",
        "update-codegen",
        "verify-codegen",
        "audit",
        "lock",
        "sbom",
        "build",
        "build-installer",
        "docker-build",
        "docker-push",
        "docker-buildx",
        "install",
        "uninstall",
        "deploy",
        "undeploy",
    } <= listed


def test_image_targets_say_what_is_built_of_which_commit_and_take_another_tool() -> None:
    image = "registry.example.com/sample-controller:1.2.3"
    built = make(
        "--silent", "docker-build", f"IMG={image}", "CONTAINER_TOOL=echo", "PYTHON_IMAGE=python@sha256:0"
    ).stdout
    assert built.startswith("build ")
    assert built.endswith(f" --tag {image} .\n")
    arguments = dict(re.findall(r"--build-arg (\w+)=(\S+)", built))
    assert (arguments["VERSION"], arguments["PYTHON_IMAGE"]) == (VERSION, "python@sha256:0")
    assert {"REVISION", "SOURCE", "SOURCE_DATE_EPOCH"} <= set(arguments)
    assert make("--silent", "docker-push", f"IMG={image}", "CONTAINER_TOOL=echo").stdout == f"push {image}\n"
    crossed = make("--silent", "docker-buildx", f"IMG={image}", "CONTAINER_TOOL=echo").stdout
    assert crossed.startswith("buildx build ")
    assert f" --output type=image,name={image},push=true,rewrite-timestamp=true .\n" in crossed


def test_password_in_the_remote_s_address_stays_out_of_the_image(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=30)
    remote = "https://me:s3cret@git.example.com/team/sample.git"
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", remote], check=True, timeout=30)
    stdout = make("-f", str(ROOT / "Makefile"), "-C", str(tmp_path), "-n", "docker-build").stdout
    assert "--build-arg SOURCE=https://git.example.com/team/sample.git" in stdout
    assert "s3cret" not in stdout


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        pytest.param("exit 1", "does not run; install Python 3.11 or newer", id="broken"),
        pytest.param('case "$2" in *print*) echo 3.9.18;; *) exit 1;; esac', "is Python 3.9.18, and 3.11", id="old"),
    ],
)
def test_unfit_python_is_one_sentence(tmp_path: Path, body: str, sentence: str) -> None:
    python = script(tmp_path / "python3", body)
    done = make("venv", f"PYTHON={python}", f"VENV={tmp_path}/venv")
    printed = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert done.returncode != 0
    assert len(printed) == 1
    assert printed[0].startswith("error: ")
    assert sentence in printed[0]


def test_installation_that_failed_is_tried_again(tmp_path: Path) -> None:
    """The stamp is written last, so make repeats an interrupted installation."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    script(venv / "bin" / "python", "echo no index today; exit 1")
    python = script(tmp_path / "python3", 'case "$2" in *print*) echo 3.11.0;; esac')
    for _ in range(2):
        done = make("venv", f"PYTHON={python}", f"VENV={venv}")
        assert "no index today" in done.stderr
        assert "error: the packages could not be installed" in done.stderr
        assert not (venv / ".dev").exists()


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_packages_are_installed_by_uv_or_by_the_pip_of_python_and_the_environment_gets_none(
    tmp_path: Path, tool: str
) -> None:
    """The tool is a script that writes its arguments; the checkout is linked for real."""
    (tools := tmp_path / "tools").mkdir()
    for name in ("bash", "dirname", "env", "make", "rm", "touch"):
        (tools / name).symlink_to(shutil.which(name) or name)
    log, venv = tmp_path / "log", tmp_path / "venv"
    if tool == "uv":
        script(tools / "uv", f'echo uv "$@" >> {log}')
    python = script(tmp_path / "python3", f"""case "$*" in
        "-m pip"*) echo "$@" >> {log};; "-c import pip"*) ;; *) exec {sys.executable} "$@";; esac""")  # fmt: skip
    command = ["bash", str(ROOT / "hack" / "venv.sh"), str(python), str(venv), "embedded"]
    subprocess.run(command, env={"PATH": str(tools)}, check=True, capture_output=True, timeout=60)
    start = (
        f"uv pip install --python {venv}/bin/python" if tool == "uv" else f"-m pip --python {venv}/bin/python install"
    )
    full, files = log.read_text().splitlines()
    assert full.startswith(start)
    assert full.endswith(f" --requirement {venv}/requirements.txt")
    assert files.startswith(start)
    assert files.endswith(f" --no-deps --requirement {venv}/requirements-files.txt")
    assert (venv / ".embedded").exists()
    assert not (venv / "bin" / "pip").exists()


def test_python_without_pip_and_without_ensurepip_is_one_sentence(tmp_path: Path) -> None:
    (tools := tmp_path / "tools").mkdir()
    for name in ("bash", "dirname", "env", "rm"):
        (tools / name).symlink_to(shutil.which(name) or name)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    script(tmp_path / "venv" / "bin" / "python", "exit 1")
    python = script(tmp_path / "python3", """case "$2" in *print*) echo 3.11.0;; *pip*) exit 1;; esac""")
    command = ["bash", str(ROOT / "hack" / "venv.sh"), str(python), str(tmp_path / "venv"), "embedded"]
    environment = {"PATH": str(tools)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: neither uv nor pip is installed; Python's ensurepip may be")
