"""Growth of the cost of one operation with the number of objects: quotas, budgets, namespaces, garbage collection.

`python apiserver/benchmarks/growth.py` prints microseconds of processor time for each operation, and ratios to the
smallest number of objects.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

from clientgo.testing.clock import FakeClock
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.stored import Key

Object = dict[str, Any]

MAPS: Key = ("", "configmaps")
DEPLOYMENTS: Key = ("apps", "deployments")
_SAMPLE = 50
_HOLD: Object = {"finalizers": ["example.com/hold"]}


class Server:
    """A server in process, whose controllers run in `settle`."""

    def __init__(self) -> None:
        self.scheduler = ManualScheduler(FakeClock())
        self.internal = Internal(build(self.scheduler, ServerOptions(ready_seconds=0.0)))
        self.create(("", "namespaces"), "", "team")

    def create(self, key: Key, namespace: str, name: str, *, meta: Object | None = None, **fields: Any) -> Object:
        """Create an object and let the controllers react."""
        stored = self.internal.create(key, namespace, {"metadata": {"name": name, **(meta or {})}, **fields})
        self.scheduler.run()
        return stored

    def deploy(self, name: str) -> None:
        """Create a Deployment with the label `app: NAME`."""
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        self.create(DEPLOYMENTS, "team", name, spec={"selector": {"matchLabels": labels}, "template": template})

    def release(self, name: str) -> None:
        """Remove the finalizers of a ConfigMap."""
        self.internal.patch(MAPS, "team", name, {"metadata": {"finalizers": None}})
        self.scheduler.run()


def _each(run: Callable[[int], object], count: int = _SAMPLE) -> float:
    began = time.process_time()
    for number in range(count):
        run(number)
    return 1e6 * (time.process_time() - began) / count


def quota(count: int) -> float:
    """Measure creations in a namespace with a quota and `count` objects."""
    server = Server()
    server.create(("", "resourcequotas"), "team", "q", spec={"hard": {"configmaps": "99999"}})
    for number in range(count):
        server.create(MAPS, "team", f"m{number}")
    return min(_each(lambda n, r=r: server.create(MAPS, "team", f"new{r}-{n}")) for r in range(5))  # type: ignore[misc]


def budgets(count: int) -> float:
    """Measure creations of Deployments beside `count` budgets, each of a Deployment."""
    server = Server()
    for number in range(count):
        server.deploy(f"d{number}")
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": f"d{number}"}}}
        server.create(("policy", "poddisruptionbudgets"), "team", f"b{number}", spec=spec)
    return min(_each(lambda n, r=r: server.deploy(f"new{r}-{n}")) for r in range(5))  # type: ignore[misc]


def namespace(count: int) -> float:
    """Measure the release of each of `count` objects of a terminating namespace."""
    server = Server()
    for number in range(count):
        server.create(MAPS, "team", f"m{number}", meta=_HOLD)
    server.internal.delete(("", "namespaces"), "", "team")
    server.scheduler.run()
    return _each(lambda number: server.release(f"m{number}"), count)


def dependents(count: int) -> float:
    """Measure the release of each of `count` dependents that block the deletion of their owner."""
    server = Server()
    uid = server.create(MAPS, "team", "owner")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    for number in range(count):
        server.create(MAPS, "team", f"m{number}", meta={**_HOLD, "ownerReferences": [owner]})
    server.internal.delete(MAPS, "team", "owner", propagation="Foreground")
    server.scheduler.run()
    return _each(lambda number: server.release(f"m{number}"), count)


CASES: dict[str, tuple[Callable[[int], float], tuple[int, ...]]] = {
    "creation with a quota": (quota, (100, 1_000, 10_000)),
    "Deployment beside budgets": (budgets, (100, 1_000, 10_000)),
    "release in a terminating namespace": (namespace, (1_000, 4_000)),
    "release of a blocking dependent": (dependents, (1_000, 4_000)),
}


def main() -> None:
    """Print the cost of each case at each number of objects."""
    gc.freeze()  # as the server's program does
    gc.set_threshold(10_000, 50, 100)
    for name, (measure, counts) in CASES.items():
        costs = [measure(count) for count in counts]
        rendered = "; ".join(
            f"{count:,}: {cost:.0f} us (x{cost / costs[0]:.2f})" for count, cost in zip(counts, costs, strict=True)
        )
        print(f"{name}: {rendered}", flush=True)


if __name__ == "__main__":
    main()
