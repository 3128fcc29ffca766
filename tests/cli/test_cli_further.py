"""Entry points of the API server: what a program without it tells its user."""

import importlib.metadata
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.errors import ConfigError
from clientgo.servers import INSTALL_BESIDE, NotInstalled, ServerFactory, command, server_factory
from clientgo_apiserver.embedded import EmbeddedServer

INSTALL = INSTALL_BESIDE.format("clientgo-apiserver")


@pytest.fixture
def no_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: TID251  # the interpreter's list of distributions
    server_factory.cache_clear()
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())


def test_server_of_this_repository_is_found() -> None:
    factory: ServerFactory = EmbeddedServer  # mypy compares the constructors
    assert server_factory() is factory
    assert callable(command("apiserver", "clientgo-apiserver"))


def test_keywords_of_the_server_are_its_options() -> None:
    server = EmbeddedServer(secure=True, stages=(), bookmark_interval=30.0)
    assert (server.url, server.ca, server.token) == ("", None, "")
    with pytest.raises(TypeError, match="'secured'"):
        EmbeddedServer(secured=True)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="listen on 0"):
        EmbeddedServer(host="0.0.0.0")


@pytest.mark.usefixtures("no_entry_points")
def test_missing_server_is_an_error_with_the_command_that_installs_it() -> None:
    with pytest.raises(NotInstalled, match=r"^the API server is not installed: install clientgo-apiserver from"):
        Environment(server=BundledServer())


@pytest.mark.usefixtures("no_entry_points")
def test_existing_cluster_needs_no_server() -> None:
    assert Environment(server=server_from({"USE_EXISTING_CLUSTER": "true"})).kind == "existing cluster"


def test_missing_requirement_of_the_server_is_named(
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # as above
) -> None:
    server_factory.cache_clear()
    broken = EntryPoint("bundled", "nowhere.to.be:found", "clientgo.servers")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: (broken,))
    with pytest.raises(NotInstalled, match=f"the API server lacks nowhere: {INSTALL[:11]}"):
        server_factory()


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("clientgo.cli.__main__", ["apiserver", "--port", "0"]),
        ("main", ["--embedded"]),
        ("clientgo.cli.__main__", ["run", "examples/foo_manager.py", "--embedded"]),
    ],
)
def test_command_that_needs_the_missing_server_ends_with_one_line(module: str, arguments: list[str]) -> None:
    code = (
        "import importlib.metadata, sys; importlib.metadata.entry_points = lambda **_: ()\n"
        f"from {module} import main; sys.exit(main({arguments}))"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert f"is not installed: {INSTALL}" in done.stderr
    assert done.stderr.count("\n") == 1
