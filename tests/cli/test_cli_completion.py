"""Shell completion scripts: valid syntax, and completion of every command and option."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from clientgo.cli.arguments import parser
from clientgo.cli.completion import script

pytestmark = pytest.mark.e2e

BASH = [
    (
        "clientgo ''",
        {
            "init",
            "edit",
            "upgrade",
            "create",
            "manifests",
            "generate",
            "apiserver",
            "bundle",
            "chart",
            "run",
            "perturb",
            "doctor",
            "explain",
            "completion",
            "version",
            "--version",
            "--help",
        },
    ),
    ("clientgo cr", {"create"}),
    ("clientgo create ''", {"api", "webhook", "--help"}),
    ("clientgo create api --group g --k", {"--kind"}),
    ("clientgo completion ''", {"bash", "zsh", "fish", "--help"}),
    ("clientgo nothing ''", set()),
]


@pytest.mark.feature("A-60")
@pytest.mark.parametrize(("line", "words"), BASH)
def test_bash_completes_commands_and_options(tmp_path: Path, line: str, words: set[str]) -> None:
    typed = shlex.split(line)
    quoted = " ".join(map(shlex.quote, typed))
    ask = f'COMP_WORDS=({quoted}); COMP_CWORD={len(typed) - 1}; _clientgo; printf "%s\\n" "${{COMPREPLY[@]}}"'
    file = tmp_path / "completion.bash"
    file.write_text(f"set -eu\n{script('bash', parser())}\n{ask}\n")

    done = subprocess.run(["bash", str(file)], capture_output=True, text=True, check=False, timeout=60)

    assert done.stderr == ""
    assert set(done.stdout.split()) == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_syntax(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    file = tmp_path / "completion"
    file.write_text(script(shell, parser()))

    done = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")


def test_fish_completes_commands(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed here")
    (tmp_path / "c.fish").write_text(script("fish", parser()) + "\ncomplete -C'clientgo create '\n")

    done = subprocess.run(
        ["fish", "--no-config", str(tmp_path / "c.fish")], capture_output=True, text=True, check=True, timeout=60
    )

    assert {line.split()[0] for line in done.stdout.splitlines()} == {"api", "webhook"}
