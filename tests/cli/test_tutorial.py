"""Commands and files of docs/tutorial.md, executed in order without changes."""

import os
import re
import site
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest

from clientgo.testing.eventually import eventually
from clientgo.version import VERSION
from tests.cli.projects import ROOT, run
from tests.processes import Child

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

_BLOCK = re.compile(
    r"(?:`(?P<path>[\w./]+)`:\n\n)?^```(?P<language>sh|python|yaml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def steps() -> Iterator[str]:
    """Yield the page as shell commands, without `console` blocks, which have other paths or need an image registry."""
    for block in _BLOCK.finditer(TUTORIAL):
        if block["language"] == "sh":
            yield block["text"]
        else:
            yield f"cat > {block['path']} <<'END'\n{block['text']}END\n"


@pytest.fixture
def installed(tmp_path: Path, variables: Mapping[str, str]) -> Mapping[str, str]:
    """Run the page's first command, the installation, in a virtual environment; return its environment variables.

    It has all packages of this one without clientgo, so that pip needs no package index.
    """
    folder = tmp_path / "venv"
    run(ROOT, os.environ, sys.executable, "-m", "venv", "--without-pip", str(folder))
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    environment = {name: value for name, value in variables.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    # Of this option pip takes 0 as yes: the wheel is built with the packages that are there.
    environment |= {"CLIENTGO_SOURCE": str(ROOT), "PYTHON": "python3", "PIP_NO_BUILD_ISOLATION": "0"}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{variables['PATH']}"
    run(tmp_path, environment, "bash", "-c", next(steps()))
    return environment


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.feature("A-65")
@pytest.mark.feature("A-66")
@pytest.mark.feature("A-70")
def test_tutorial_commands_work(tmp_path: Path, installed: Mapping[str, str]) -> None:
    script = "set -euxo pipefail\n" + "".join(islice(steps(), 1, None))
    output = tmp_path / "output.txt"
    with Child(["bash", "-c", script], output, cwd=tmp_path, env=installed) as shell:
        code = shell.process.wait(240)
        text = output.read_text(errors="replace")
        assert code == 0, text[-6000:]
        # make stop does not wait for the two makes, which end after what they ran.
        eventually(lambda: not list(shell.session()))

    assert re.search(r"foo.samplecontroller.c9g.io/foo-sample +2 +2 ", text)
    assert "nginx:stable" in text
    assert 'spec.image: Invalid value: "nginx:latest": use the tag of a release' in text
    assert "v1: 2" in text
    assert re.search(r"^foo-v1 +3 +3 ", text, re.MULTILINE)
    names = ("clientgo", "clientgo_apiserver", "clientgo_tools", "clientgo_olm")
    library, *further = (f"{name}-{VERSION}-py3-none-any.whl" for name in names)
    assert {path.name for path in (tmp_path / "foo" / "wheels").iterdir()} == {
        "README.md", "SHA256SUMS", library, *further,
    }  # fmt: skip
    assert f"./wheels/{library}[secure-serving]\n" in (tmp_path / "foo" / "requirements.txt").read_text()
    development = (tmp_path / "foo" / "requirements-dev.txt").read_text()
    assert all(f"./wheels/{wheel}\n" in development for wheel in further)


def test_every_wait_of_the_tutorial_ends_if_the_manager_does_not_run() -> None:
    commands = [block["text"] for block in _BLOCK.finditer(TUTORIAL) if block["language"] == "sh"]

    assert not re.findall(r"^.*\b(?:until|while)\b.*", "".join(commands), re.MULTILINE)
    waits = re.findall(r"^kubectl wait .*", "".join(commands), re.MULTILINE)
    assert [wait for wait in waits if "--timeout=" not in wait] == []


def test_every_tutorial_file_has_a_path() -> None:
    blocks = list(_BLOCK.finditer(TUTORIAL))

    assert len(blocks) > 10
    assert [block["text"][:40] for block in blocks if block["language"] != "sh" and not block["path"]] == []
