"""`python -m clientgo_apiserver` as a process."""

import json
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from clientgo.errors import Forbidden
from clientgo.meta.yamlio import to_yaml
from clientgo.rest import RESTClient, load_config
from clientgo.stop.lifecycle import Group
from clientgo.webhook import WebhookServer, denied
from tests.definitions import custom_kind
from tests.processes import Child

pytestmark = pytest.mark.e2e

COMMAND = [sys.executable, "-m", "clientgo_apiserver"]
HOOK = json.dumps({
    "metadata": {"name": "hooks"},
    "webhooks": [{
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "system", "name": "webhook-service", "path": "/deny"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }],
}).encode()  # fmt: skip


@contextmanager
def server(*arguments: str) -> Iterator[tuple[Child, str]]:
    """Run the command; return it and the line it printed."""
    with tempfile.TemporaryDirectory() as folder, Child([*COMMAND, *arguments], Path(folder) / "output") as process:
        yield process, process.wait_for("") + "\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_command_serves_until_signalled(tmp_path: Path, number: signal.Signals) -> None:
    path, crd = tmp_path / "kubeconfig", tmp_path / "crd.yaml"
    crd.write_text(to_yaml(custom_kind("Thing", "example.com", "v1")))
    with server("--anonymous", "--kubeconfig-out", str(path), "--crd", str(crd)) as (process, line):
        match = re.fullmatch(
            r"API server at (http://127\.0\.0\.1:\d+), kubeconfig (\S+); try: kubectl --kubeconfig \2 api-resources\n",
            line,
        )
        assert match is not None, line
        assert match[2] == str(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == match[1]
        with urllib.request.urlopen(f"{match[1]}/apis/example.com/v1/things") as response:
            assert response.status == 200
        assert process.end(number, seconds=10) == (0, line)
        assert not path.exists()


def test_command_requires_the_token_of_its_kubeconfig(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with server("--kubeconfig-out", str(path)) as (_, line):
        assert line.startswith("API server at https://127.0.0.1:")
        config = load_config(kubeconfig=path)
        client, other = RESTClient(config), RESTClient(replace(config, token=""))
        assert b'"NamespaceList"' in client.raw("GET", "/api/v1/namespaces")
        with pytest.raises(Forbidden, match="system:anonymous"):
            other.raw("GET", "/api/v1/namespaces")
        client.close()
        other.close()


def test_webhooks_of_services_are_called_at_the_port_in_the_webhook_directory(tmp_path: Path) -> None:
    path, folder = tmp_path / "kubeconfig", tmp_path / "webhooks"
    with server("--anonymous", "--kubeconfig-out", str(path), "--webhook-dir", str(folder)) as (process, _):
        port = int((folder / "port").read_text())
        assert stat.S_IMODE((folder / "tls.key").stat().st_mode) == 0o600
        hooks = WebhookServer(host="127.0.0.1", port=port, cert_dir=folder)
        hooks.register("/deny", lambda _: denied("not today"))
        client = RESTClient(load_config(kubeconfig=path))
        with closing(client), Group() as group:
            client.raw("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", body=HOOK)
            group.start(hooks.start, group.stop_event, name="webhooks")
            assert hooks.ready.wait(10)
            with pytest.raises(Forbidden, match="not today"):
                client.raw("POST", "/api/v1/namespaces", body=b'{"metadata": {"name": "other"}}')
        process.end(signal.SIGTERM)
    assert list(folder.iterdir()) == []


def test_files_of_a_later_server_outlive_the_first(tmp_path: Path) -> None:
    path, folder = tmp_path / "kubeconfig", tmp_path / "webhooks"
    arguments = ("--anonymous", "--kubeconfig-out", str(path), "--webhook-dir", str(folder))
    with server(*arguments) as (first, _), server(*arguments) as (second, line):
        port = (folder / "port").read_text()
        first.end(signal.SIGTERM)
        assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] in line
        assert (folder / "port").read_text() == port
        assert {file.name for file in folder.iterdir()} == {"tls.crt", "tls.key", "port"}
        second.end(signal.SIGTERM)
    assert list(folder.iterdir()) == []
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--host", "0.0.0.0", "--anonymous"), "listen on 0.0.0.0 only with TLS and authentication"),
        (("--host", "nowhere"), "argument --host: invalid address 'nowhere'"),
        (("--port", "99999"), "argument --port: invalid port 99999: must be 0 to 65535"),
    ],
)
def test_invalid_address_is_rejected_without_traceback(arguments: tuple[str, ...], reason: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (1, 2)
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_port_in_use_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with server("--port", str(port)) as (process, line):
            assert line == f"cannot start the API server: port {port} of 127.0.0.1 is in use\n"
            assert process.end(seconds=10)[0] == 1


@pytest.mark.parametrize(
    ("option", "file", "reason"),
    [
        ("--audit-log", "", "cannot open {}: Is a directory"),
        ("--kubeconfig-out", "", "cannot open {}: Is a directory"),
        ("--kubeconfig-out", "config", "contains another configuration"),
        ("--crd", "absent", "does not exist"),
        ("--crd", "broken", "cannot be read as YAML"),
    ],
)
def test_unusable_file_is_reported_in_one_line(tmp_path: Path, option: str, file: str, reason: str) -> None:
    (tmp_path / "config").write_text("clusters: [{name: production}]")
    (tmp_path / "broken").write_text("a: [")
    path = tmp_path / file
    with server(option, str(path)) as (process, line):
        assert line.startswith("cannot start the API server: ")
        assert reason.format(path) in line
        assert process.end(seconds=10)[0] == 1
