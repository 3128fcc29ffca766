# mypy: disable-error-code="call-overload"
"""Subject lightkube: typed models, list and watch; without informers: each watch has a thread and a dictionary."""

import gc
import json
import logging
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Event
from lightkube.types import PatchType

from benchmarks.objects import deployment, event
from benchmarks.peers.child import microseconds, report, run
from benchmarks.peers.handmade import Queue, until_signal, work
from benchmarks.peers.timing import each

Foo = create_namespaced_resource("samplecontroller.k8s.io", "v1alpha1", "Foo", "foos")
log = logging.getLogger("controller")


class Cache:
    """Objects of one kind: listed, then watched, by one thread."""

    def __init__(self, kubeconfig: str, kind: Any, *handlers: Callable[[str, Any], None]) -> None:
        self._client, self._kind, self._handlers = _client(kubeconfig), kind, handlers
        self.objects: dict[str, Any] = {}
        self.filled = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()  # noqa: TID251  # lives as long as the process

    def _run(self) -> None:
        listed = self._client.list(self._kind, namespace="*")
        for obj in listed:
            self._take("ADDED", obj)
        self.filled.set()
        version = listed.resourceVersion
        for kind, obj in self._client.watch(self._kind, namespace="*", resource_version=version):
            self._take(kind, obj)

    def _take(self, kind: str, obj: Any) -> None:
        key = f"{obj.metadata.namespace}/{obj.metadata.name}"
        if kind == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = obj
        for handler in self._handlers:
            handler(kind, obj)


class Controller:
    """Controller that keeps one Deployment for each Foo; writes only changes."""

    def __init__(self, kubeconfig: str) -> None:
        self.client, self.queue = _client(kubeconfig), Queue()
        self.foos = Cache(kubeconfig, Foo, self.enqueue)
        self.deployments = Cache(kubeconfig, Deployment, self.enqueue_owner)

    def enqueue(self, _: str, foo: Any) -> None:
        """Enqueue a Foo."""
        self.queue.add(f"{foo.metadata.namespace}/{foo.metadata.name}")

    def enqueue_owner(self, _: str, result: Any) -> None:
        """Enqueue the Foo of a Deployment."""
        for owner in result.metadata.ownerReferences or ():
            if owner.controller and owner.kind == "Foo":
                self.queue.add(f"{result.metadata.namespace}/{owner.name}")

    def sync(self, key: str) -> None:
        """Bring a Foo's Deployment to the desired state."""
        foo = self.foos.objects.get(key)
        if foo is None:
            return
        space, meta, expected = foo.metadata.namespace, foo.metadata, foo["spec"]["replicas"]
        stored = self.deployments.objects.get(f"{space}/{foo['spec']['deploymentName']}")
        changed = True
        if stored is None:
            body = json.loads(deployment(foo["spec"]["deploymentName"], meta.uid, expected))
            body["metadata"]["namespace"] = space
            try:
                stored = self.client.create(Deployment.from_dict(body))
            except ApiError as error:
                if error.status.code != 409:
                    raise
                return  # made by us, and not in the cache yet: its event will come
        elif stored.spec.replicas != expected:
            stored = self.client.patch(
                Deployment, stored.metadata.name, {"spec": {"replicas": expected}}, namespace=space
            )
        else:
            changed = False
        self.report(foo, stored, changed)

    def report(self, foo: Any, result: Any, changed: bool) -> None:
        """Write the Foo's status and an event, if they changed."""
        available = (result.status and result.status.availableReplicas) or 0
        stored, meta = (foo.get("status") or {}).get("availableReplicas"), foo.metadata
        if stored != available:
            status = {"status": {"availableReplicas": available}}
            self.client.patch(Foo.Status, meta.name, status, namespace=meta.namespace, patch_type=PatchType.MERGE)
        if changed or stored is None:
            body = json.loads(event(meta.name, meta.uid, time.time_ns(), meta.namespace))
            self.client.create(Event.from_dict(body))
            log.info("Foo %s synced", meta.name)


def _client(kubeconfig: str) -> Client:
    return Client(config=KubeConfig.from_file(kubeconfig))


def _acquainted(kubeconfig: str) -> None:
    """Decode every type once in one thread: msgspec 0.22 may crash if two threads decode a type first."""
    client = _client(kubeconfig)
    for kind in (Foo, Deployment):
        list(client.list(kind, namespace="nowhere"))
    Deployment.from_dict(json.loads(deployment("none")))
    Event.from_dict(json.loads(event("none", "", 0, "nowhere")))


def controller(arguments: list[str]) -> None:
    """Run the sample controller."""
    _acquainted(arguments[0])
    built = Controller(arguments[0])
    work(built.queue, built.sync)
    until_signal()


def cache(arguments: list[str]) -> None:
    """Fill the caches of Foos and Deployments; report when both are full."""
    _acquainted(arguments[0])
    caches = Cache(arguments[0], Foo), Cache(arguments[0], Deployment)
    for filled in caches:
        filled.filled.wait()
    report({"foos": len(caches[0].objects), "deployments": len(caches[1].objects)})


def memory(arguments: list[str]) -> None:
    """Measure the bytes of one cached object, per kind."""
    figures: dict[str, float] = {}
    stored: list[Cache] = []
    list(_client(arguments[0]).list(Foo, namespace="nowhere"))  # not counted: imports of a first request
    for key, kind in (("foo", Foo), ("deployment", Deployment)):
        gc.collect()
        tracemalloc.start()
        stored.append(Cache(arguments[0], kind))
        stored[-1].filled.wait()
        gc.collect()
        figures[key] = tracemalloc.get_traced_memory()[0] / len(stored[-1].objects)
        tracemalloc.stop()
    report(figures)


def storm(arguments: list[str]) -> None:
    """Process events through cache, two handlers, queue and a worker; report after the last one."""
    expected, queue, seen, over = int(arguments[1]), Queue(), [0], threading.Event()

    def enqueue(kind: str, foo: Any) -> None:
        if kind == "MODIFIED":
            queue.add(f"{foo.metadata.namespace}/{foo.metadata.name}")

    def count(kind: str, _: Any) -> None:
        if kind == "MODIFIED":
            seen[0] += 1
            if seen[0] == expected:
                over.set()

    foos = Cache(arguments[0], Foo, enqueue, count)
    work(queue, lambda key: foos.objects.get(key), workers=1)
    foos.filled.wait()
    report({})
    over.wait()
    while queue:
        threading.Event().wait(0.001)
    report({"events": seen[0]})


def pages(arguments: list[str]) -> None:
    """List all Foos in pages of 500."""
    client = _client(arguments[0])
    began, cpu = time.perf_counter(), time.process_time()
    result = list(client.list(Foo, namespace=arguments[1], chunk_size=500))
    report({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "objects": len(result)})


def codec(arguments: list[str]) -> None:
    """Measure decoding and encoding of one object of each kind, in microseconds."""
    figures = {}
    for name, kind, file in (("foo", Foo, arguments[0]), ("deployment", Deployment, arguments[1])):
        data = Path(file).read_bytes()
        obj = kind.from_dict(json.loads(data))
        figures[f"{name}_decode"] = microseconds(lambda k=kind, d=data: k.from_dict(json.loads(d)))  # type: ignore[misc]
        figures[f"{name}_encode"] = microseconds(lambda o=obj: json.dumps(o.to_dict()))  # type: ignore[misc]
    report(figures)


def requests(arguments: list[str]) -> None:
    """Measure the CPU time of a GET, PUT and PATCH of a Deployment in microseconds, including decoding."""
    client, space, name, count = _client(arguments[0]), arguments[1], arguments[2], int(arguments[3])
    last: list[Any] = [client.get(Deployment, name, namespace=space)]

    def put(n: int) -> None:
        last[0].spec.replicas = n % 2
        last[0] = client.replace(last[0])

    def patch(n: int) -> None:
        client.patch(Deployment, name, {"spec": {"replicas": 2 + n % 2}}, namespace=space)

    works = {"get": lambda _: client.get(Deployment, name, namespace=space), "put": put, "patch": patch}
    report({key: each(work, count) for key, work in works.items()})


PARTS = {f.__name__: f for f in (controller, cache, memory, storm, pages, codec, requests)}

if __name__ == "__main__":
    run(PARTS)
