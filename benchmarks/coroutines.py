"""Figures of coroutine functions: `python -m benchmarks.coroutines [OBJECTS]`.

The sample controller as an `async def reconcile` beside the threaded one: seconds and CPU seconds from its start until
each of the Foos has a Deployment and a status. And an asyncio program that applies as many objects, at once and in
batches: seconds, and how long its event loop was blocked, as the CPU time of one turn and as the delay of a timer.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, replace

from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import JSON, Api
from benchmarks.model import Setting
from benchmarks.processes import Child, ask
from clientgo.aio import AsyncClient
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.log.config import setup
from clientgo.manager import DirectClient, Manager, Options
from clientgo.meta import ObjectMeta
from clientgo.rest import RESTClient, load_config
from clientgo.stop import Group
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo
from examples.async_foo_manager import AsyncFooReconciler
from examples.foo_manager import FooReconciler

RECONCILERS = {"def": FooReconciler, "async def": AsyncFooReconciler}

BATCH = 100

TICK = 0.001


@dataclass
class Turns:
    """Longest turns of an event loop: CPU time, and delay of a timer."""

    turn_cpu_ms: float = 0.0
    delay_ms: float = 0.0

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            began, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK)
            self.delay_ms = max(self.delay_ms, 1000 * (time.perf_counter() - began - TICK))
            self.turn_cpu_ms = max(self.turn_cpu_ms, 1000 * (time.thread_time() - cpu))


def control(kind: str, kubeconfig: str, objects: int) -> dict[str, float]:
    """Run a controller until all Foos have a status."""
    config = replace(load_config(kubeconfig=kubeconfig), qps=-1)
    manager = Manager(config, options=Options(name=f"foo-{kind.partition(' ')[0]}"))
    manager.add_reconciler(RECONCILERS[kind])
    began, cpu, polling = time.perf_counter(), time.process_time(), time.thread_time()
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        manager.elected.wait(60)
        eventually(
            lambda: sum(foo.status.available_replicas is not None for foo in manager.client.list(Foo)) == objects,
            seconds=300,
        )
        polling = time.thread_time() - polling  # of this thread, which would take longer if the others do
        return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu - polling}


async def apply(kubeconfig: str, objects: int, batch: int) -> dict[str, float]:
    """Apply ConfigMaps in batches, and measure the loop meanwhile."""
    config = replace(load_config(kubeconfig=kubeconfig), qps=-1)
    client = AsyncClient(DirectClient(RESTClient(config), field_manager="apply"))
    await client.apply(config_map(0))
    gc.collect()
    gc.freeze()  # a full collection blocks the loop as long as the rest of the program has objects
    turns, began, cpu = Turns(), time.perf_counter(), time.process_time()
    watching = asyncio.create_task(turns.watch())
    for start in range(0, objects, batch):
        maps = [config_map(number) for number in range(start, min(start + batch, objects))]
        writes: list[Awaitable[ConfigMap]] = [client.apply(each) for each in maps]
        await asyncio.gather(*writes)
    watching.cancel()
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, **asdict(turns)}


def config_map(number: int) -> ConfigMap:
    """Return one of the objects that are applied."""
    return ConfigMap(metadata=ObjectMeta(name=f"map-{number}", namespace="default"), data={"n": f"{number}"})


def create_foos(cluster: Cluster, objects: int) -> None:
    """Create the Foos that a controller finds when it starts."""
    api = Api(cluster.endpoint)
    for number in range(objects):
        spec = {"deploymentName": f"deployment-{number}", "replicas": 1}
        head = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}
        foo = {**head, "metadata": {"name": f"foo-{number}"}, "spec": spec}
        api.raw("POST", cluster.foos(), json.dumps(foo).encode(), JSON)
    api.close()


def main(objects: int) -> None:
    """Measure each program with a server of its own, in processes of their own; print the figures."""
    setting = Setting(quick=False, rounds=1, kubeconfig="", plain=True, tell=print)
    for subject in (*RECONCILERS, "at once", "batches") * 3:
        with cluster_for(setting) as cluster:
            if subject in RECONCILERS:
                create_foos(cluster, objects)
            command = [sys.executable, "-m", "benchmarks.coroutines", subject, cluster.kubeconfig, str(objects)]
            figures = ask(Child(command))
            print(f"{subject:9}", "  ".join(f"{name} {value:.2f}" for name, value in figures.items()), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [("at once" | "batches") as how, path, count]:
            setup(level="error")
            batch = BATCH if how == "batches" else int(count)
            print(json.dumps(asyncio.run(apply(path, int(count), batch))))
        case [subject, path, count]:
            setup(level="error")
            print(json.dumps(control(subject, path, int(count))))
        case counts:
            main(int(*counts) if counts else 1000)
