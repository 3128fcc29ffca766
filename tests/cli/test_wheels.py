"""Origin of clientgo in a project: wheels by path and hash, or an index that the user names."""

import hashlib
import os
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from clientgo.version import VERSION
from tests.cli.projects import clientgo, new_project, read_files

REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")
WHEEL = "clientgo-9.9.9-py3-none-any.whl"


def test_project_installs_the_given_wheel_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / WHEEL).write_text("a wheel")
    project = tmp_path / "p"
    project.mkdir()

    assert clientgo(project, "init", "--project-name", "foo", "--clientgo-from", f"../{WHEEL}") == 0

    built = read_files(project)
    output = capsys.readouterr()
    assert f"created  wheels/{WHEEL}" in output.out.splitlines()
    assert output.err == ""
    assert built[f"wheels/{WHEEL}"] == "a wheel"
    assert f"./wheels/{WHEEL}[secure-serving]" in built["requirements.txt"].splitlines()
    digest = hashlib.sha256(b"a wheel").hexdigest()
    assert built["wheels/SHA256SUMS"] == f"{digest}  {WHEEL}\n"
    install = "RUN PIP_PYTHON=/opt/venv/bin/python sh hack/install.sh requirements.txt"
    assert f"COPY hack/install.sh ./hack/\nCOPY wheels ./wheels\n{install} " in built["Dockerfile"]
    assert "!wheels" in built[".dockerignore"].splitlines()
    installs = [path for path, text in built.items() if "requirements-dev.txt" in text]
    assert {".devcontainer/post-install.sh", ".github/workflows/lint.yml", ".github/workflows/test.yml"} <= {*installs}


def test_server_s_wheel_beside_the_library_s_is_installed_for_tests(tmp_path: Path) -> None:
    server = "clientgo_apiserver-9.9.9-py3-none-any.whl"
    for name in (WHEEL, server):
        (tmp_path / name).write_text(f"wheel {name}")
    project = tmp_path / "p"
    project.mkdir()

    assert clientgo(project, "init", "--project-name", "foo", "--clientgo-from", f"../{WHEEL}") == 0

    built = read_files(project)
    assert built[f"wheels/{server}"] == f"wheel {server}"
    assert f"./wheels/{server}" in built["requirements-dev.txt"].splitlines()
    assert "apiserver" not in built["requirements.txt"]


@pytest.mark.e2e
def test_project_without_a_wheel_installs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")

    assert "warning: wheels/ has no wheel of clientgo" in capsys.readouterr().err
    for file in ("requirements.txt", "requirements-dev.txt"):
        fix = "run clientgo upgrade with --clientgo-from PATH or --index-url URL"
        assert _install(project, file) == (1, f"error: wheels/ has no wheel of clientgo: {fix}\n")
    assert not _names_of_clientgo(project)


@pytest.mark.e2e
def test_project_whose_wheel_was_changed_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_text("a wheel")
    project = tmp_path / "p"
    project.mkdir()
    assert clientgo(project, "init", "--project-name", "foo", "--clientgo-from", f"../{WHEEL}") == 0
    assert _install(project, "requirements.txt") == (0, "-m pip install -q --requirement requirements.txt\n")

    (project / "wheels" / WHEEL).write_text("another wheel")
    code, output = _install(project, "requirements.txt")
    assert code == 1
    assert output.startswith(f"{WHEEL}: FAILED\n")


@pytest.mark.e2e
def test_project_with_an_index_names_versions_on_it(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    index = "https://index.example.com/simple"
    assert clientgo(project, "init", "--project-name", "foo", "--index-url", index) == 0

    major, minor, _ = map(int, VERSION.split("."))
    within = f">={VERSION},<{major}.{minor + 1}"
    assert f"--index-url {index}\nclientgo[secure-serving]{within}\n" in (project / "requirements.txt").read_text()
    assert _names_of_clientgo(project) == [
        f"clientgo[{extra}]{within}" for extra in ("secure-serving", "embedded", "tools", "olm")
    ]
    assert _install(project, "requirements.txt")[0] == 0
    assert "COPY wheels" not in (project / "Dockerfile").read_text()
    assert clientgo(project, "upgrade") == 0
    assert f"--index-url {index}\n" in (project / "requirements.txt").read_text()


@pytest.mark.parametrize(
    "url", ["index.example.com", "ftp://index.example.com", "https://user:secret@index.example.com"]
)
def test_index_that_cannot_be_in_version_control_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        clientgo(tmp_path, "init", "--project-name", "foo", "--index-url", url)
    assert "argument --index-url: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def _install(project: Path, file: str) -> tuple[int, str]:
    """Run hack/install.sh with a Python that prints its arguments."""
    command = ["sh", "hack/install.sh", file, "-q"]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, "PYTHON": "echo"}, capture_output=True, text=True, check=False,
        timeout=30,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def _names_of_clientgo(project: Path) -> list[str]:
    lines = chain.from_iterable((project / file).read_text().splitlines() for file in REQUIREMENTS)
    return [line for line in lines if line.startswith("clientgo")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere", "invalid --clientgo-from ../nowhere: expected a checkout of clientgo or its wheel"),
        ("other", "invalid --clientgo-from ../other: expected a checkout of clientgo or its wheel"),
        ("other/foo-1-py3-none-any.whl", "expected a checkout of clientgo or its wheel (clientgo-*.whl)"),
        pytest.param("broken", "cannot build a wheel from ../broken: ", marks=pytest.mark.e2e),
    ],
)
def test_source_that_is_not_clientgo_leaves_the_folder_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, expected: str
) -> None:
    for name in ("p", "other", "broken/clientgo"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other/foo-1-py3-none-any.whl").touch()
    (tmp_path / "broken/clientgo/version.py").touch()

    assert clientgo(tmp_path / "p", "init", "--project-name", "foo", "--clientgo-from", f"../{source}") == 1
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert list((tmp_path / "p").iterdir()) == []
