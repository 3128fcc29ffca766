"""Exec credential plugins: environment, arguments, output, time limit."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clientgo.rest.bounds import MAX_PLUGIN_BYTES
from clientgo.rest.execplugin import PluginFailed, run_plugin

pytestmark = pytest.mark.e2e

VERSION = "client.authentication.k8s.io/v1"
TOKEN = f'{{"apiVersion": "{VERSION}", "status": {{"token": "t0ken"}}}}'

Make = Callable[..., dict[str, Any]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a plugin as a shell script and return the `exec` that names it."""

    def made(code: str, **more: Any) -> dict[str, Any]:
        script = tmp_path / "plugin"
        script.write_text(f"#!/bin/sh\n{code}\n")
        script.chmod(0o700)
        return {"apiVersion": VERSION, "command": str(script)} | more

    return made


def test_plugin_runs_in_the_working_directory_of_the_program(make: Make, tmp_path: Path) -> None:
    plugin = make(f"pwd > {tmp_path}/where; echo '{TOKEN}'")
    assert run_plugin(plugin, {}).token == "t0ken"
    assert Path((tmp_path / "where").read_text().strip()) == Path.cwd()


def test_plugin_gets_cluster_info_variables_and_arguments(make: Make, tmp_path: Path) -> None:
    code = f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info; echo "$A $1" > {tmp_path}/given; echo \'{TOKEN}\''
    arguments = {"env": [{"name": "A", "value": "b"}], "args": ["c"]}
    run_plugin(make(code, **arguments, provideClusterInfo=True), {"server": "https://h"}, terminal=False)
    spec = {"interactive": False, "cluster": {"server": "https://h"}}
    expected = {"apiVersion": VERSION, "kind": "ExecCredential", "spec": spec}
    assert json.loads((tmp_path / "info").read_text()) == expected
    assert (tmp_path / "given").read_text() == "b c\n"
    run_plugin(make(code, **arguments), {"server": "https://h"}, terminal=False)
    assert "cluster" not in json.loads((tmp_path / "info").read_text())["spec"]


@pytest.mark.parametrize(("mode", "interactive"), [(None, True), ("IfAvailable", True), ("Never", False)])
def test_user_can_be_prompted_unless_the_plugin_forbids_it(
    make: Make, tmp_path: Path, mode: str | None, interactive: bool
) -> None:
    plugin = make(f"echo \"$KUBERNETES_EXEC_INFO\" > {tmp_path}/info; echo '{TOKEN}'", interactiveMode=mode)
    run_plugin(plugin, {}, terminal=True)
    assert json.loads((tmp_path / "info").read_text())["spec"]["interactive"] is interactive


def test_plugin_is_killed_after_the_time_limit(make: Make) -> None:
    with pytest.raises(PluginFailed, match=r"timed out after 0\.2 s"):
        run_plugin(make("exec sleep 60"), {}, seconds=0.2, terminal=False)


@pytest.mark.parametrize(
    ("code", "more", "words"),
    [
        pytest.param("echo no >&2; echo luck >&2; exit 7", {}, r"exit status 7: no luck$", id="fails"),
        pytest.param("echo hello", {}, "expected an ExecCredential as JSON", id="prints no JSON"),
        pytest.param("echo '{}'", {}, "configured for the API version client", id="another version"),
        pytest.param(f'echo \'{{"apiVersion": "{VERSION}"}}\'', {}, "neither a token nor", id="no status"),
        pytest.param(
            TOKEN.replace("token", "clientKeyData").join(("echo '", "'")), {}, "only a certificate or a key", id="key"
        ),
        pytest.param("", {"interactiveMode": "Always"}, "standard input is not a terminal", id="must ask"),
        pytest.param("", {"interactiveMode": "Maybe"}, "invalid interactiveMode 'Maybe'", id="mode"),
        pytest.param("", {"command": "no-such-plugin"}, "executable 'no-such-plugin' not found", id="not in PATH"),
        pytest.param("", {"command": "/no/such"}, "executable '/no/such' not found", id="not there"),
        pytest.param("", {"command": os.devnull}, "Permission denied", id="not executable"),
    ],
)
def test_reason_for_a_missing_credential_is_reported(make: Make, code: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(PluginFailed, match=words):
        run_plugin(make(code, **more), {}, terminal=False)


def test_output_may_be_yaml(make: Make, tmp_path: Path) -> None:
    (tmp_path / "output").write_text(
        f"apiVersion: {VERSION}\nstatus:\n  token: t0ken\n  expirationTimestamp: 2030-01-01T00:00:00Z\n---\n"
    )
    status = run_plugin(make(f"cat {tmp_path}/output"), {}, terminal=False)
    assert (status.token, status.expiration_timestamp) == ("t0ken", datetime(2030, 1, 1, tzinfo=UTC))


def test_null_reads_as_absent_in_output_and_variables(make: Make, tmp_path: Path) -> None:
    status = {"token": "t0ken", "clientCertificateData": None, "clientKeyData": None, "expirationTimestamp": None}
    output = json.dumps({"apiVersion": VERSION, "kind": None, "metadata": None, "spec": None, "status": status})
    env = [{"name": "A", "value": None}, {"name": "B"}]
    plugin = make(f"echo \"[$A$B]\" > {tmp_path}/given; echo '{output}'", env=env, args=None, installHint=None)
    assert run_plugin(plugin, {}).token == "t0ken"
    assert (tmp_path / "given").read_text() == "[]\n"


def test_output_without_end_is_rejected_at_the_limit_and_errors_are_cut(make: Make) -> None:
    with pytest.raises(PluginFailed, match=f"invalid output: more than {MAX_PLUGIN_BYTES} bytes"):
        run_plugin(make("exec yes"), {}, terminal=False)
    with pytest.raises(PluginFailed, match="invalid output: expected an ExecCredential as JSON"):
        run_plugin(make("head -c 100000 /dev/zero | tr '\\0' '['"), {}, terminal=False)
    with pytest.raises(PluginFailed, match="exit status 3: y y y") as failed:
        run_plugin(make("yes | head -c 4000000 >&2; exit 3"), {}, terminal=False)
    assert len(str(failed.value)) < 5000
