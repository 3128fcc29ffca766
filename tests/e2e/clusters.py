"""The API server under test: its features, a namespace for each test, and users.

Without `requires` a test runs against every server that `Environment` finds: the bundled one, an existing cluster
(`USE_EXISTING_CLUSTER=true`) and a control plane of real programs (`KUBEBUILDER_ASSETS`).
"""

import json
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import Environment
from clientgo.envtest.crds import read_crds, uninstall
from clientgo.envtest.environment import EnvironmentKind
from clientgo.errors import AlreadyExists, NotFound
from clientgo.kubernetes.clients.apps_v1 import DeploymentClient
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta.yamlio import to_yaml
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.kubeconfigwriter import kubeconfig
from clientgo.stop.lifecycle import Group

_BUNDLED: EnvironmentKind = "bundled server"
_PLANE: EnvironmentKind = "control plane"
_EXISTING: EnvironmentKind = "existing cluster"

FEATURES: dict[str, tuple[frozenset[EnvironmentKind], str]] = {
    "injected faults": (frozenset({_BUNDLED}), "real servers answer without delays and errors on request"),
    "simulated controllers": (frozenset({_BUNDLED}), "real controllers wait for nodes to run pods"),
    "a known port": (frozenset({_BUNDLED}), "the address of a real server is known only when it runs"),
    "an audit log": (frozenset({_BUNDLED, _PLANE}), "an existing cluster's log is not readable for a test"),
    "a cluster of its own": (frozenset({_BUNDLED, _PLANE}), "an existing cluster keeps its CRDs and their objects"),
    "controllers": (frozenset({_BUNDLED, _EXISTING}), "kube-apiserver alone does not run the cluster's controllers"),
    "a real server": (frozenset({_PLANE, _EXISTING}), "other tests show this on the bundled server"),
    "an existing cluster": (frozenset({_EXISTING}), "the server and its CRDs end with the test"),
    "a restart": (frozenset({_PLANE}), "only kube-apiserver of KUBEBUILDER_ASSETS is stopped or gets flags by a test"),
    "priority and fairness": (frozenset({_PLANE, _EXISTING}), "the bundled server does not queue requests"),
}
"""What a test may require, the servers that have it, and the reason why the others do not."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose `requires` names a feature that the API server under test does not have."""
    for marker in item.iter_markers("requires"):
        for feature in marker.args:
            kinds, reason = FEATURES[feature]
            kind = Environment().kind
            if kind not in kinds:
                pytest.skip(f"requires {feature}, which the {kind} lacks: {reason}")


def patience(environment: Environment) -> float:
    """Return how many seconds a change may take: a real cluster pulls images and starts containers."""
    return 10.0 if environment.kind == _BUNDLED else 60.0


def kubeconfig_of(environment: Environment, written: Path) -> Path:
    """Return the kubeconfig for the environment: `written` by it, or the one kubectl would use."""
    if environment.kind != _EXISTING:
        return written
    return Path(os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or Path.home() / ".kube" / "config")


def write_user(path: Path, config: Config, *, token: str = "", namespace: str = "default") -> Path:
    """Write a kubeconfig with the credentials of `config`, or with this token in their place."""
    pair = ("", "") if token else (config.client_certificate_data, config.client_key_data)
    written = kubeconfig(
        config.host, token=token or config.token, ca=config.ca_data.encode() or None,
        client=(pair[0].encode(), pair[1].encode()), namespace=namespace,
    )  # fmt: skip
    if config.insecure:
        written["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(to_yaml(written), encoding="utf-8")
    return path


def account_token(client: RESTClient, namespace: str, name: str) -> str:
    """Return a token of this service account, which is created if it does not exist."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    with suppress(AlreadyExists):
        client.raw("POST", path, body=json.dumps({"metadata": {"name": name}}).encode())
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    response = client.raw("POST", f"{path}/{name}/token", body=json.dumps(request).encode())
    return str(json.loads(response)["status"]["token"])


@contextmanager
def without_crds(*paths: Path) -> Iterator[None]:
    """Remove these CRDs from an existing cluster, now and afterwards: tests have different ones of one name."""
    if Environment().kind != _EXISTING:
        yield
        return
    crds = read_crds(paths)
    with closing(RESTClient(load_config())) as client:
        uninstall(client, crds)
        try:
            yield
        finally:
            uninstall(client, crds)


@contextmanager
def namespace(config: Config, prefix: str) -> Iterator[str]:
    """Create a namespace with a unique name, and delete it afterwards."""
    name = f"{prefix}-{uuid.uuid4().hex[:8]}"
    with closing(RESTClient(config)) as client:
        client.raw("POST", "/api/v1/namespaces", body=json.dumps({"metadata": {"name": name}}).encode())
        try:
            yield name
        finally:
            with suppress(NotFound):  # the test may have deleted it
                client.raw("DELETE", f"/api/v1/namespaces/{name}")


def report_available(environment: Environment, deployments: DeploymentClient, name: str, replicas: int) -> None:
    """Report the replicas of a Deployment as available where no controller does, once it asks for so many."""
    if not environment.runs_controllers:
        stored = deployments.get(name)
        if stored.spec.replicas == replicas and stored.status.available_replicas != replicas:
            status = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
            deployments.patch(name, {"status": status}, subresource="status")


@contextmanager
def kubelet(environment: Environment, config: Config, location: str) -> Iterator[None]:
    """Report the pods of a namespace as running, in an existing cluster that has no nodes for them."""
    with ExitStack() as stack:
        if environment.kind == _EXISTING:
            kube = stack.enter_context(closing(Clientset(config)))
            if not kube.core_v1.nodes().list(limit=1).items:
                group = Group()
                stack.callback(group.join, 30)
                stack.callback(group.stop)
                group.start(_report_pods, kube, location, group.stop_event, name="kubelet")
        yield


def _report_pods(kube: Clientset, location: str, stop: threading.Event) -> None:
    pods = kube.core_v1.pods(location)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    while not SYSTEM_CLOCK.sleep(stop, 0.1):
        for pod in pods.list().items:
            if not _is_running(pod):
                with suppress(NotFound):
                    pods.patch(pod.metadata.name, {"status": ready}, subresource="status")


def _is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"
