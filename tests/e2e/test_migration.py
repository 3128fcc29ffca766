"""Objects of a kopf operator are taken over by its successor, also one that is deleted while neither runs."""

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.testing.eventually import eventually
from examples.database.server import Account, DatabaseServer
from tests.e2e.clusters import kubeconfig_of, namespace
from tests.e2e.kubectl import Kubectl
from tests.processes import Child

ROOT = Path(__file__).parents[2]
CRD = ROOT / "examples" / "database" / "crd.yaml"
MARK = "kopf.zalando.org/last-handled-configuration"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(importlib.util.find_spec("kopf") is None, reason="kopf is not installed: pip install kopf"),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    """Return kubectl for a namespace of a server with the CRD; its environment is also that of the operators."""
    path = tmp_path / "kubeconfig"
    environment = Environment(crd_paths=[CRD], server=server_from(bundled=BundledServer(kubeconfig=path)))
    with environment as config, namespace(config, "migration") as name:
        variables = {
            "KUBECONFIG": str(kubeconfig_of(environment, path)),
            "DATABASE_SERVER": str(tmp_path / "databases"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        yield Kubectl(environment, {**os.environ, **variables}, name)


def create(kubectl: Kubectl, name: str) -> None:
    meta = {"name": name, "namespace": kubectl.namespace}
    kubectl.apply({"apiVersion": "databases.example.com/v1", "kind": "Database", "metadata": meta, "spec": {}})
    kubectl.run("wait", f"database/{name}", "--for=jsonpath={.status.phase}=Ready", "--timeout=30s")


def test_successor_takes_over_the_objects_of_a_kopf_operator(kubectl: Kubectl, tmp_path: Path) -> None:
    server = DatabaseServer(tmp_path / "databases")
    server.start()
    original = [sys.executable, "-m", "kopf", "run", "-n", kubectl.namespace, "-m", "examples.database.with_kopf"]
    with Child(original, tmp_path / "kopf.log", env=kubectl.environ) as operator:
        create(kubectl, "shop")
        create(kubectl, "gone")
        operator.end(signal.SIGTERM)
    kubectl.run("delete", "database", "gone", "--wait=false")
    shop, gone = (f"{kubectl.namespace}_{name}" for name in ("shop", "gone"))
    before = server.accounts()
    assert before.keys() == {shop, gone}

    successor = [sys.executable, "-m", "clientgo", "run", "examples/database/with_clientgo.py"]
    with Child([*successor, "-n", kubectl.namespace], tmp_path / "clientgo.log", cwd=ROOT, env=kubectl.environ):
        kubectl.run("wait", "database/gone", "--for=delete", "--timeout=30s")
        assert server.accounts() == {shop: before[shop]}
        kubectl.run("annotate", "databases", "--all", f"{MARK}-")
        kubectl.run("patch", "database", "shop", "--type=merge", "-p", '{"spec":{"connections":20}}')
        eventually(lambda: server.find(shop) == Account(before[shop].password, 20))
        assert MARK not in kubectl.run("get", "database", "shop", "-o", "yaml")
        kubectl.run("delete", "database", "shop", "--timeout=30s")
    assert server.accounts() == {}
