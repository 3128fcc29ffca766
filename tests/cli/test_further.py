"""Commands of other distributions, and what a program without the distribution tells its user."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.cli.further import FURTHER, command
from clientgo.errors import ConfigError


@pytest.mark.parametrize("name", FURTHER)
def test_command_of_this_repository_is_found(name: str) -> None:
    assert callable(command(name))


def test_missing_command_is_an_error_with_the_distribution_to_install(
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # the interpreter's list of distributions
) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    with pytest.raises(ConfigError, match=r"^the command chart is not installed: install clientgo-olm from"):
        command("chart")


@pytest.mark.e2e
def test_embedded_controller_without_the_server_ends_with_one_line() -> None:
    code = "import sys; sys.modules['clientgo_apiserver'] = None; from main import main; sys.exit(main(['--embedded']))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "--embedded needs the package clientgo-apiserver" in done.stderr
    assert done.stderr.count("\n") == 1
