"""Other clients against the environment's server: the official Python client, kopf, kubectl."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kubernetes
import pytest
import yaml

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.meta.yamlio import to_yaml
from clientgo.testing.eventually import eventually
from tests.definitions import OPEN, custom_kind
from tests.e2e.clusters import kubeconfig_of, namespace
from tests.processes import Child

# The kubeconfig of an existing cluster may say not to verify it.
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:Unverified HTTPS request")]

GROUP = "clients.example.com"
FIELDS = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}, "status": OPEN}
CRD = custom_kind("Thing", GROUP, "v1", schema={"type": "object", "properties": FIELDS})
OPERATOR = f"""
import kopf

@kopf.on.create("{GROUP}", "v1", "things")
@kopf.on.update("{GROUP}", "v1", "things")
def sized(spec, body, **_):
    kopf.info(body, reason="Sized", message=f"size is {{spec['size']}}")
    return spec["size"]

@kopf.on.delete("{GROUP}", "v1", "things")
def gone(**_):
    pass
"""


class Workspace:
    """Namespace on the environment's server, and kubeconfig for clients."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace

    def kubectl(self, *arguments: str, stdin: Any = None, code: int = 0) -> str:
        """Return the output of a kubectl command; its exit code must be `code`."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "--namespace", self.namespace, *arguments]
        body = json.dumps(stdin) if stdin is not None else None
        done = subprocess.run(command, input=body, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    kubeconfig, crd = tmp_path / "kubeconfig", tmp_path / "crd.yaml"
    crd.write_text(to_yaml(CRD), encoding="utf-8")
    environment = Environment(
        crd_paths=[crd], server=server_from(bundled=BundledServer(kubeconfig=kubeconfig, secure=True))
    )
    with environment as config, namespace(config, "clients") as name:
        yield Workspace(kubeconfig_of(environment, kubeconfig), name)


@contextmanager
def official(workspace: Workspace) -> Iterator[kubernetes.client.ApiClient]:
    loader: Any = kubernetes.config  # it has no types
    with loader.new_client_from_config(str(workspace.kubeconfig)) as client:
        yield client


def test_the_official_client_creates_lists_watches_and_deletes(workspace: Workspace) -> None:
    with official(workspace) as client:
        core: Any = kubernetes.client.CoreV1Api(client)
        for name in ("one", "two"):
            meta = kubernetes.client.V1ObjectMeta(name=name, labels={"app": "x"})
            core.create_namespaced_config_map(
                workspace.namespace, kubernetes.client.V1ConfigMap(metadata=meta, data={"a": "b"})
            )
        listed = core.list_namespaced_config_map(workspace.namespace, label_selector="app=x")
        assert [item.metadata.name for item in listed.items] == ["one", "two"]
        core.patch_namespaced_config_map("two", workspace.namespace, {"data": {"a": "c"}})
        core.delete_namespaced_config_map("one", workspace.namespace)
        untyped: Any = kubernetes.watch
        watch = untyped.Watch()
        version = listed.metadata.resource_version
        seen = []
        stream = watch.stream(
            core.list_namespaced_config_map, workspace.namespace, label_selector="app=x", resource_version=version,
            timeout_seconds=10,
        )  # fmt: skip
        for event in stream:
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 2:
                watch.stop()
        assert seen == [("MODIFIED", "two"), ("DELETED", "one")]


def test_the_official_client_gets_conflicts_and_errors_like_from_a_real_server(workspace: Workspace) -> None:
    with official(workspace) as client:
        custom: Any = kubernetes.client.CustomObjectsApi(client)
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 1}}
        location = (GROUP, "v1", workspace.namespace, "things")
        built = custom.create_namespaced_custom_object(*location, body)
        custom.patch_namespaced_custom_object(*location, "a", {"spec": {"size": 2}})
        with pytest.raises(kubernetes.client.ApiException) as caught:
            custom.replace_namespaced_custom_object(*location, "a", built)
        assert (caught.value.status, json.loads(str(caught.value.body))["reason"]) == (409, "Conflict")
        with pytest.raises(kubernetes.client.ApiException) as caught:
            custom.create_namespaced_custom_object(
                *location, {**body, "metadata": {"name": "b"}, "spec": {"size": "x"}}
            )
        assert caught.value.status == 422


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_tells_who_one_is_and_what_one_may_do(workspace: Workspace, tmp_path: Path) -> None:
    assert workspace.kubectl("auth", "can-i", "create", "deployments") == "yes\n"
    robot = f"system:serviceaccount:{workspace.namespace}:robot"
    workspace.kubectl("create", "serviceaccount", "robot")
    assert workspace.kubectl("auth", "can-i", "list", "pods", "--as", robot, code=1) == "no\n"
    workspace.kubectl("create", "role", "reader", "--verb=get,list,watch", "--resource=pods")
    workspace.kubectl("create", "rolebinding", "r", "--role=reader", f"--serviceaccount={workspace.namespace}:robot")
    assert workspace.kubectl("auth", "can-i", "list", "pods", "--as", robot) == "yes\n"
    assert workspace.kubectl("auth", "can-i", "delete", "pods", "--as", robot, code=1) == "no\n"
    assert "pods" in workspace.kubectl("auth", "can-i", "--list", "--as", robot)
    assert "No resources found" in workspace.kubectl("get", "pods", "--as", robot)
    refused = workspace.kubectl("get", "secrets", "--as", robot, code=1)
    assert f'secrets is forbidden: User "{robot}" cannot list resource "secrets" in API group ""' in refused
    token = workspace.kubectl("create", "token", "robot").strip()
    # A user's own credentials would be sent along: the kubeconfig keeps its cluster alone.
    config = yaml.safe_load(workspace.kubeconfig.read_text(encoding="utf-8"))
    for user in config["users"]:
        user["user"] = {"token": token}
    (tmp_path / "robot").write_text(to_yaml(config), encoding="utf-8")
    as_robot = Workspace(tmp_path / "robot", workspace.namespace)
    assert robot in as_robot.kubectl("auth", "whoami")


@pytest.mark.e2e
@pytest.mark.skipif(importlib.util.find_spec("kopf") is None, reason="kopf is not installed: pip install kopf")
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kopf_operator_handles_creation_update_and_deletion(workspace: Workspace, tmp_path: Path) -> None:
    program, log = tmp_path / "operator.py", tmp_path / "operator.log"
    program.write_text(OPERATOR, encoding="utf-8")
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", workspace.namespace, str(program)]
    with Child(command, log, env={**os.environ, "KUBECONFIG": str(workspace.kubeconfig)}) as operator:
        thing = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 3}}
        workspace.kubectl("apply", "-f", "-", stdin=thing)
        workspace.kubectl("wait", "thing/a", "--for=jsonpath={.status.sized}=3", "--timeout=20s")
        workspace.kubectl("patch", "thing", "a", "--type=merge", "-p", '{"spec":{"size":5}}')
        workspace.kubectl("wait", "thing/a", "--for=jsonpath={.status.sized}=5", "--timeout=20s")
        assert "KopfFinalizerMarker" in workspace.kubectl("get", "thing", "a", "-o", "jsonpath={.metadata.finalizers}")
        eventually(lambda: "size is 5" in workspace.kubectl("get", "events"), every=0.1)
        workspace.kubectl("delete", "thing", "a", "--timeout=20s")
        operator.end(signal.SIGTERM)
    assert "Deletion is processed: 1 succeeded; 0 failed" in log.read_text(encoding="utf-8")
