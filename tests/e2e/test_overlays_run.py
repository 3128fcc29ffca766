"""Each overlay of artifacts/ works with the manifest's arguments and only its service account's permissions."""

import re
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.errors import NotFound
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.meta import ObjectMeta
from clientgo.rest import RESTClient
from clientgo.testing.eventually import ConditionTimeout, eventually
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from tests.e2e.clusters import report_available, write_user
from tests.e2e.program import Program
from tests.e2e.replicas.trail import events
from tests.project.manifests import ARTIFACTS, NAME, NAMESPACE, OVERLAYS, ROOT, container, rendered

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.requires("an audit log"),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
LEASES = {"default": {NAME}, "namespaced": {NAME}, "sharded": {f"{NAME}-{member}" for member in range(3)}}
IN_A_POD = {"$(POD_NAMESPACE)": NAMESPACE, "=:8081": "=127.0.0.1:0", "=:8443": "=127.0.0.1:0"}
"""What the kubelet fills in, and ports, which are this machine's here."""


class Cluster:
    """Server with RBAC and one overlay applied by its administrator; the test runs its pods."""

    def __init__(self, home: Path, overlay: str) -> None:
        self.home, self.overlay, self.trail = home, overlay, home / "audit.log"
        self.environment = Environment(
            server=server_from(
                bundled=BundledServer(secure=True, kubeconfig=home / "admin", audit_log=self.trail, audit_reads=True)
            )
        )
        with ExitStack() as stack:
            self.config = stack.enter_context(self.environment)
            self.admin = stack.enter_context(closing(RESTClient(self.config)))
            self.kube, self.foos = Kubernetes(self.admin), Clientset(self.admin).samplecontroller_v1alpha1
            self.kubectl("apply", "-k", str(ARTIFACTS / overlay))
            self.kubectl("wait", "--for=condition=Established", "crd/foos.samplecontroller.k8s.io", "--timeout=20s")
            self.close = stack.pop_all().close

    def kubectl(self, *arguments: str) -> str:
        command = ["kubectl", f"--kubeconfig={self.home / 'admin'}", f"--cache-dir={self.home / 'cache'}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=40).stdout

    def pod(self, *more: str) -> Program:
        """Run the controller as its container does, with additional flags."""
        token = self.kubectl("-n", NAMESPACE, "create", "token", NAME).strip()
        write_user(self.home / "account", self.config, token=token, namespace=NAMESPACE)
        arguments = list[str](container(rendered(self.overlay))["args"])
        for written, local in IN_A_POD.items():
            arguments = [argument.replace(written, local) for argument in arguments]
        return Program([*arguments, *more, f"--kubeconfig={self.home / 'account'}"], self.home / "pod")

    def refused(self) -> list[str]:
        """Return the controller's rejected requests."""
        return [
            f"{event['verb']} {event['requestURI']}"
            for event in events(self.trail)
            if event["user"]["username"] == ACCOUNT and event.get("responseStatus", {}).get("code") == 403
        ]

    def follows(self, namespace: str, name: str) -> None:
        """Wait until the Foo's Deployment exists and the status reports it."""

        def reported() -> bool:
            with suppress(NotFound):  # the Deployment is not there yet
                report_available(self.environment, self.kube.apps_v1.deployments(namespace), name, 1)
            return self.foos.foos(namespace).get(name).status.available_replicas == 1

        self.wait_until(reported)

    def wait_until(self, come: Callable[[], bool]) -> None:
        try:
            eventually(come, seconds=20)
        except ConditionTimeout as error:
            raise AssertionError(self.refused()) from error

    def leases(self) -> set[str]:
        return {lease.metadata.name for lease in self.kube.coordination_v1.leases(NAMESPACE).list().items}


def status(url: str, token: str) -> int:
    """Return the status code for a request with this token; the certificate is self-signed."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, context=context, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.fixture(params=OVERLAYS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    with closing(Cluster(tmp_path, request.param)) as built:
        yield built


def foo(name: str) -> Foo:
    return Foo(metadata=ObjectMeta(name=name), spec=FooSpec(name, 1))


def test_set_up_syncs_foos_with_the_rights_it_has_and_asks_for_no_other(cluster: Cluster) -> None:
    cluster.foos.foos("default").create(foo("elsewhere"))
    cluster.foos.foos(NAMESPACE).create(foo("here"))
    pod = cluster.pod()
    try:
        if cluster.overlay == "namespaced":
            cluster.follows(NAMESPACE, "here")
            with pytest.raises(NotFound):
                cluster.kube.apps_v1.deployments("default").get("elsewhere")
        else:  # where the controller runs, Pod Security rejects the pods of a Foo
            cluster.follows("default", "elsewhere")
            cluster.wait_until(lambda: cluster.foos.foos(NAMESPACE).get("here").status.available_replicas == 0)
            assert cluster.kube.apps_v1.deployments(NAMESPACE).get("here").status.available_replicas is None
        leases = cluster.leases()
        assert leases
        assert leases <= LEASES[cluster.overlay]
    finally:
        code, printed = pod.end(signal.SIGTERM)
    assert cluster.refused() == []
    assert code == 0, printed


@pytest.mark.parametrize("cluster", ["namespaced"], indirect=True)
def test_documented_commands_grant_access_to_metrics(cluster: Cluster) -> None:
    """The role is bound as in artifacts/README.md; before that, a valid token is not sufficient."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    cluster.kubectl("create", "namespace", "monitoring")
    cluster.kubectl("-n", "monitoring", "create", "serviceaccount", "prometheus")
    token = cluster.kubectl("-n", "monitoring", "create", "token", "prometheus").strip()
    [command] = re.findall(
        r"kubectl (create clusterrolebinding .*\\\n.*)", (ROOT / "artifacts" / "README.md").read_text()
    )
    pod = cluster.pod(f"--metrics-bind-address={address}", "--metrics-secure")
    try:
        pod.wait_for("starting workers")
        assert status(f"https://{address}/metrics", "invalid") == 401
        assert status(f"https://{address}/metrics", token) == 403
        cluster.kubectl(*command.replace("\\\n", " ").split())
        cluster.wait_until(lambda: status(f"https://{address}/metrics", token) == 200)
    finally:
        pod.end(signal.SIGTERM)
