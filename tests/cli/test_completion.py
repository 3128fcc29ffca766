"""Shell completion scripts: valid syntax, and completion of commands and options."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clientgo.cli.__main__ import main

BASH = [
    ("clientgo cr", {"create"}),
    ("clientgo create ''", {"api", "webhook"}),
    ("clientgo create api --group g --k", {"--kind"}),
    ("clientgo completion ''", {"bash", "zsh", "fish"}),
]


def script(shell: str, capsys: Any) -> str:
    assert main(["completion", shell]) == 0
    text: str = capsys.readouterr().out
    return text


@pytest.mark.e2e
@pytest.mark.feature("A-60")
@pytest.mark.parametrize(("line", "words"), BASH)
def test_bash_completes_commands_and_options(tmp_path: Path, capsys: Any, line: str, words: set[str]) -> None:
    typed = shlex.split(line)
    quoted = " ".join(map(shlex.quote, typed))
    ask = f'COMP_WORDS=({quoted}); COMP_CWORD={len(typed) - 1}; _shtab_clientgo; printf "%s\\n" "${{COMPREPLY[@]}}"'
    file = tmp_path / "completion.bash"
    file.write_text(f"{script('bash', capsys)}\n{ask}\n")

    done = subprocess.run(["bash", str(file)], capture_output=True, text=True, check=False, timeout=60)

    assert done.stderr == ""
    assert set(done.stdout.split()) == words


@pytest.mark.e2e
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_syntax(tmp_path: Path, capsys: Any, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    file = tmp_path / "completion"
    file.write_text(script(shell, capsys))

    done = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")


def test_missing_package_is_reported_in_one_line(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.delitem(sys.modules, "clientgo.cli.completion", raising=False)
    monkeypatch.setitem(sys.modules, "shtab", None)  # what an environment without it looks like to `import`
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == (
        "clientgo completion: completion scripts need the package shtab: pip install shtab\n"
    )
