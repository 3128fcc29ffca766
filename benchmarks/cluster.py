"""Server for the subjects: the bundled one in its own process, with TLS and a token, or a given one."""

import re
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.endpoint import Api, Endpoint, Refused
from benchmarks.model import ROOT, Failed, Setting
from benchmarks.processes import Child

FOOS = "/apis/samplecontroller.k8s.io/v1alpha1"
APPS = "/apis/apps/v1"
_WRITES = re.compile(
    r'apiserver_request_total\{.*,resource="([^"]*)".*verb="(?:POST|PUT|PATCH|APPLY|DELETE)".*\} (\d+)'
)


@dataclass(frozen=True)
class Cluster:
    """Server, and a namespace used by this run only."""

    kubeconfig: str
    endpoint: Endpoint
    namespace: str
    server: Child | None
    """The bundled server's process; None where it is another's."""
    audit: Path | None = None
    go_controller: str = ""
    """Path of Kubernetes' sample-controller."""

    def foos(self, name: str = "", sub: str = "") -> str:
        """Return the path of Foos, or of one."""
        return _path(f"{FOOS}/namespaces/{self.namespace}/foos", name, sub)

    def deployments(self, name: str = "", sub: str = "") -> str:
        """Return the path of Deployments, or of one."""
        return _path(f"{APPS}/namespaces/{self.namespace}/deployments", name, sub)

    def events(self) -> str:
        """Return the path of core events."""
        return f"/api/v1/namespaces/{self.namespace}/events"

    def writes(self) -> float:
        """Return the number of writes of Foos, Deployments and events by all clients; NaN if metrics are refused."""
        api = Api(self.endpoint)
        try:
            text = api.raw("GET", "/metrics").decode()
        except Refused:
            return float("nan")
        finally:
            api.close()
        return float(sum(int(n) for r, n in _WRITES.findall(text) if r in {"foos", "deployments", "events"}))


def _path(base: str, name: str, sub: str) -> str:
    return "/".join(part for part in (base, name, sub) if part)


@contextmanager
def cluster_for(setting: Setting, *, simulate: bool = False, audit: bool = False) -> Iterator[Cluster]:
    """Provide the server for one case or run; with `simulate`, the bundled server runs pods."""
    if setting.kubeconfig:
        yield from _given(setting.kubeconfig, setting.go_controller)
        return
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        kubeconfig, log = Path(folder) / "kubeconfig", Path(folder) / "audit"
        command = [sys.executable, "-m", "clientgo_apiserver", "--kubeconfig-out", str(kubeconfig)]
        command += ["--crd", str(ROOT / "artifacts" / "crd"), *([] if simulate else ["--no-simulate"])]
        if audit:
            command += ["--audit-log", str(log), "--audit-reads"]
        if setting.plain:
            command.append("--anonymous")
        with Child(command) as server:
            if "API server at" not in server.line(30):
                raise Failed(f"the bundled server did not start: {server.log()}")
            endpoint = Endpoint.of(kubeconfig)
            yield Cluster(str(kubeconfig), endpoint, "default", server, log if audit else None, setting.go_controller)


def _given(kubeconfig: str, go_controller: str) -> Iterator[Cluster]:
    endpoint = Endpoint.of(kubeconfig)
    api = Api(endpoint)
    try:
        api.raw("GET", f"{FOOS}/foos?limit=1")
        name = f"benchmark-{uuid.uuid4().hex[:8]}"
        api.raw("POST", "/api/v1/namespaces", b'{"metadata":{"name":"%s"}}' % name.encode())
    except Refused as error:
        raise Failed(f"the cluster can't be used ({error}); `make install` installs the Foo definition") from error
    finally:
        api.close()
    cluster = Cluster(kubeconfig, endpoint, name, None, go_controller=go_controller)
    try:
        yield cluster
    finally:
        # One by one: a server without its controllers empties no namespace, and the next subject would find all of it.
        api = Api(endpoint)
        for path in (cluster.foos(), cluster.deployments(), cluster.events()):
            _delete_all(api, path)
        api.raw("DELETE", f"/api/v1/namespaces/{name}")
        api.close()


def _delete_all(api: Api, path: str) -> None:
    """Delete a collection in parts: a server takes longer than its limit of a minute for 50,000 objects at once."""
    while api.json("DELETE", f"{path}?limit=1000")["metadata"].get("continue"):
        pass
