"""Commands and files of docs/tutorial.md, executed in order without changes."""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from clientgo.testing.eventually import eventually
from tests.cli.projects import ROOT
from tests.processes import Child

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

_BLOCK = re.compile(
    r"(?:`(?P<path>[\w./]+)`:\n\n)?^```(?P<language>sh|python|yaml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def steps() -> Iterator[str]:
    """Yield the page as shell commands, without `console` blocks, which need a package index or an image registry."""
    for block in _BLOCK.finditer(TUTORIAL):
        if block["language"] == "sh":
            yield block["text"]
        else:
            yield f"cat > {block['path']} <<'END'\n{block['text']}END\n"


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.feature("A-65")
@pytest.mark.feature("A-66")
@pytest.mark.feature("A-70")
def test_tutorial_commands_work(tmp_path: Path, variables: Mapping[str, str]) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    # The command that installing the package would create.
    (commands / "clientgo").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clientgo.cli "$@"\n')
    (commands / "clientgo").chmod(0o755)
    environment = {**variables, "PATH": f"{commands}{os.pathsep}{variables['PATH']}"}
    script = "set -euxo pipefail\n" + "".join(steps())
    output = tmp_path / "output.txt"
    with Child(["bash", "-c", script], output, cwd=tmp_path, env=environment) as shell:
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


def test_every_tutorial_file_has_a_path() -> None:
    blocks = list(_BLOCK.finditer(TUTORIAL))

    assert len(blocks) > 10
    assert [block["text"][:40] for block in blocks if block["language"] != "sh" and not block["path"]] == []
