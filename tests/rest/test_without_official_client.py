"""Authentication in an environment without the official client, which `clientgo[auth-providers]` adds."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo_apiserver.api.users import authenticated
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.e2e

TOKEN = "t0ken"
ROOT = Path(__file__).parents[2]

PROGRAM = """
import os, sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("kubernetes", "pydantic", "requests"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Refuses())

import clientgo.aio, clientgo.webhook
from clientgo.errors import ConfigError
from clientgo.kubernetes.types.core_v1 import Namespace
from clientgo.manager import DirectClient
from clientgo.meta import ObjectName
from clientgo.rest import RESTClient, in_cluster_config, load_config

folder = sys.argv[1]
pod = "KUBERNETES_SERVICE_HOST" in os.environ
config = in_cluster_config(service_account=folder) if pod else load_config(kubeconfig=f"{folder}/kubeconfig")
try:
    print(DirectClient(RESTClient(config)).get(Namespace, ObjectName("", "default")).metadata.name)
except ConfigError as error:
    print(error)
"""

PLUGIN = """
import json
status = {{"token": "{token}"}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with ApiServer(tls=True, anonymous=False, authorization="RBAC") as started:
        started.add_user(TOKEN, authenticated("someone", "system:masters"))
        yield started


def run(folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], cwd=ROOT, env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kubeconfig(folder: Path, server: ApiServer, user: dict[str, Any]) -> Path:
    (folder / "ca.crt").write_bytes(server.ca or b"")
    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": server.url, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "it", "user": user}],
    }
    (folder / "kubeconfig").write_text(json.dumps(document))
    return folder


def test_manager_authenticates_by_a_token(tmp_path: Path, server: ApiServer) -> None:
    assert run(kubeconfig(tmp_path, server, {"token": TOKEN})) == "default"


def test_manager_authenticates_by_a_client_certificate(tmp_path: Path, server: ApiServer) -> None:
    certificate, key = server.client_certificate("someone", "system:masters")
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    user = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    assert run(kubeconfig(tmp_path, server, user)) == "default"


def test_manager_authenticates_by_a_credential_plugin(tmp_path: Path, server: ApiServer) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN.format(token=TOKEN))
    arguments = [str(tmp_path / "plugin.py")]
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": arguments}
    assert run(kubeconfig(tmp_path, server, {"exec": {**plugin, "interactiveMode": "Never"}})) == "default"


def test_manager_authenticates_as_a_pod(tmp_path: Path, server: ApiServer) -> None:
    (tmp_path / "ca.crt").write_bytes(server.ca or b"")
    (tmp_path / "token").write_text(TOKEN)
    host, _, port = server.url.removeprefix("https://").partition(":")
    assert run(tmp_path, KUBERNETES_SERVICE_HOST=host, KUBERNETES_SERVICE_PORT=port) == "default"


def test_auth_provider_names_the_missing_extra(tmp_path: Path, server: ApiServer) -> None:
    provider = {"name": "oidc", "config": {"id-token": "a.b.c"}}
    assert run(kubeconfig(tmp_path, server, {"auth-provider": provider})) == (
        "the auth provider 'oidc' of the context 'it' needs clientgo[auth-providers]: No module named 'kubernetes'"
    )
