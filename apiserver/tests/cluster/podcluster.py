"""Cluster with pods, in process; time stands still."""

from typing import Any

from clientgo.testing.clock import FakeClock
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.stored import Key

Object = dict[str, Any]

PODS: Key = ("", "pods")
NODES: Key = ("", "nodes")
DEPLOYMENTS: Key = ("apps", "deployments")
REPLICA_SETS: Key = ("apps", "replicasets")


class PodCluster:
    """A server in process whose workloads have pods that become ready a second after they were created."""

    def __init__(self, version: str = "") -> None:
        self.clock = FakeClock()
        self.scheduler = ManualScheduler(self.clock)
        api = build(self.scheduler, ServerOptions(ready_seconds=1.0, version=version), clock=self.clock)
        self.internal = Internal(api)
        self.store = api.state.store
        self.scheduler.run()

    def create(self, key: Key, obj: Object, namespace: str = "default") -> None:
        self.internal.create(key, namespace, obj)
        self.scheduler.run()

    def deployment(self, name: str = "w", **spec: Any) -> None:
        """Create a Deployment with the label `app: NAME`."""
        spec = {"selector": {"matchLabels": {"app": name}}, "template": pod_template(name, "i"), **spec}
        self.create(
            DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
        )

    def patch(self, key: Key, name: str, patch: Object, namespace: str = "default") -> None:
        self.internal.patch(key, namespace, name, patch)
        self.scheduler.run()

    def change(self, key: Key, name: str = "w", **spec: Any) -> None:
        self.patch(key, name, {"spec": spec})

    def annotate(self, key: Key, name: str, annotation: str, value: str | None, namespace: str = "default") -> None:
        self.patch(
            key, name, {"metadata": {"annotations": {f"simulation.clientgo.dev/{annotation}": value}}}, namespace
        )

    def delete(self, key: Key, name: str, namespace: str = "default", **options: Any) -> None:
        """Delete an object; `options` are propagation and grace."""
        self.internal.delete(key, namespace, name, **options)
        self.scheduler.run()

    def evict(self, name: str) -> None:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        self.internal._send("create", (PODS, "default", name), eviction, subresource="eviction")
        self.scheduler.run()

    def step(self, seconds: float = 1.0, times: int = 1) -> None:
        for _ in range(times):
            self.clock.step(seconds)
            self.scheduler.run()

    def get(self, key: Key, name: str = "w", namespace: str = "default") -> Object:
        obj = self.store.get(key, namespace, name)
        assert obj is not None, f"{name} exists"
        return obj

    def status(self, key: Key, name: str = "w") -> Object:
        status: Object = self.get(key, name)["status"]
        return status

    def pods(self, namespace: str = "default") -> list[Object]:
        return self.store.list(PODS, namespace)

    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods()]


def pod_template(name: str, image: str) -> Object:
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": image}]}}
