"""Cluster of simulated workloads, in process."""

import sys
from collections.abc import Callable
from typing import Any

from clientgo.testing.clock import FakeClock
from clientgo_apiserver.admission.namespaces import create_initial
from clientgo_apiserver.api import Api
from clientgo_apiserver.controllers.deployments import DEPLOYMENTS, DeploymentSimulation
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.scheduling import ManualScheduler
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import Key


class Cluster:
    """A server in process whose Deployments are simulated, with a count of the writes to them."""

    def __init__(self, ready_seconds: float = 0.0) -> None:
        self.clock = FakeClock()
        self.scheduler = ManualScheduler(self.clock)
        self.state = State(self.scheduler, self.clock)
        create_initial(self.state)
        self.internal = Internal(Api(self.state))
        self.writes = 0
        self.internal.state.store.subscribe(self._count)
        self.simulation = DeploymentSimulation(self.internal, ready_seconds=ready_seconds)

    def _count(self, kind: str, key: Key, old: Any, new: Any) -> None:
        self.writes += kind == "MODIFIED"

    def create(self, replicas: int = 2, *, key: Key = DEPLOYMENTS, **spec: Any) -> None:
        labels = {"app": "d"}
        pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods, **spec}
        kind = "Deployment" if key == DEPLOYMENTS else "ReplicaSet"
        obj = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "d"}, "spec": spec}
        self.internal.create(key, "default", obj)
        self.scheduler.run()

    def change(self, **spec: Any) -> None:
        self.internal.patch(DEPLOYMENTS, "default", "d", {"spec": spec})
        self.scheduler.run()

    def step(self, seconds: float) -> None:
        self.clock.step(seconds)
        self.scheduler.run()

    def status(self, key: Key = DEPLOYMENTS) -> dict[str, Any]:
        obj = self.internal.state.store.get(key, "default", "d")
        assert obj is not None
        result: dict[str, Any] = obj["status"]
        return result

    def condition(self, kind: str) -> tuple[str, str]:
        result = next(item for item in self.status()["conditions"] if item["type"] == kind)
        return result["status"], result["reason"]


def image(name: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": name}]}}


def calls_of(run: Callable[[], object]) -> int:
    """Return the number of Python functions that a callable calls: work that no other load changes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls
