# mypy: disallow-untyped-calls=False
"""Subject official client: its `SharedInformer`, its typed API classes, and a hand-written queue and workers."""

import gc
import json
import logging
import os
import threading
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer
from kubernetes.stream import stream

from benchmarks.objects import deployment, event
from benchmarks.peers.child import microseconds, report, run
from benchmarks.peers.handmade import Queue, until_signal, work
from benchmarks.peers.timing import each, streamed

KIND = ("samplecontroller.k8s.io", "v1alpha1")
log = logging.getLogger("controller")


class Foos:
    """Foos through `CustomObjectsApi`, as dictionaries."""

    def __init__(self) -> None:
        self.api = client.CustomObjectsApi()

    def listing(self, **options: Any) -> Any:
        """List and watch for the informer, which expects attributes where this API returns a dictionary."""
        response: Any = self.api.list_cluster_custom_object(*KIND, "foos", **options)
        if options.get("watch"):
            return response
        meta = SimpleNamespace(resource_version=response["metadata"]["resourceVersion"])
        return SimpleNamespace(items=response["items"], metadata=meta)

    def set_status(self, foo: Any, available: int) -> None:
        """Write the number of available replicas."""
        changed = {**foo, "status": {"availableReplicas": available}}
        meta = foo["metadata"]
        self.api.replace_namespaced_custom_object_status(*KIND, meta["namespace"], "foos", meta["name"], changed)


class Controller:
    """Controller that keeps one Deployment for each Foo; writes only changes."""

    def __init__(self) -> None:
        self.apps, self.core, self.foos_api = client.AppsV1Api(), client.CoreV1Api(), Foos()
        resync = int(os.environ.get("RESYNC", "30"))
        self.foos = SharedInformer(self.foos_api.listing, resync_period=resync)
        self.deployments = SharedInformer(self.apps.list_deployment_for_all_namespaces, resync_period=resync)
        self.queue = Queue()
        for kind in (ADDED, MODIFIED):
            self.foos.add_event_handler(kind, self.enqueue)
        for kind in (ADDED, MODIFIED, DELETED):
            self.deployments.add_event_handler(kind, self.enqueue_owner)

    def enqueue(self, foo: Any) -> None:
        """Enqueue a Foo."""
        self.queue.add(f"{foo['metadata']['namespace']}/{foo['metadata']['name']}")

    def enqueue_owner(self, result: Any) -> None:
        """Enqueue the Foo of a Deployment."""
        for owner in result.metadata.owner_references or ():
            if owner.controller and owner.kind == "Foo":
                self.queue.add(f"{result.metadata.namespace}/{owner.name}")

    def sync(self, key: str) -> None:
        """Bring a Foo's Deployment to the desired state."""
        foo = self.foos.cache.get_by_key(key)
        if foo is None:
            return
        space, meta, expected = foo["metadata"]["namespace"], foo["metadata"], foo["spec"]["replicas"]
        stored = self.deployments.cache.get_by_key(f"{space}/{foo['spec']['deploymentName']}")
        changed = True
        if stored is None:
            body = json.loads(deployment(foo["spec"]["deploymentName"], meta["uid"], expected))
            body["metadata"]["ownerReferences"][0]["name"] = meta["name"]
            try:
                stored = self.apps.create_namespaced_deployment(space, body)
            except ApiException as error:
                if error.status != 409:
                    raise
                return  # made by us, and not in the cache yet: its event will come
        elif stored.spec.replicas != expected:
            stored = self.apps.patch_namespaced_deployment(
                stored.metadata.name, space, {"spec": {"replicas": expected}}
            )
        else:
            changed = False
        self.report(foo, stored, changed)

    def report(self, foo: Any, result: Any, changed: bool) -> None:
        """Write the Foo's status and an event, if they changed."""
        available, stored = result.status.available_replicas or 0, foo.get("status", {}).get("availableReplicas")
        meta = foo["metadata"]
        if stored != available:
            try:
                self.foos_api.set_status(foo, available)
            except ApiException as error:
                if error.status != 409:
                    raise
                return  # the cache is behind: the newer Foo will come
        if changed or stored is None:
            body = json.loads(event(meta["name"], meta["uid"], time.time_ns(), meta["namespace"]))
            self.core.create_namespaced_event(meta["namespace"], body)
            log.info("Foo %s synced", meta["name"])


def controller(arguments: list[str]) -> None:
    """Run the sample controller."""
    config.load_kube_config(arguments[0])
    built = Controller()
    built.foos.start()
    built.deployments.start()
    work(built.queue, built.sync)
    until_signal()


def cache(arguments: list[str]) -> None:
    """Fill the caches of Foos and Deployments; report when both are full."""
    config.load_kube_config(arguments[0])
    informers = _filled(Foos().listing), _filled(client.AppsV1Api().list_deployment_for_all_namespaces)
    sizes = [len(informer.wait()) for informer in informers]
    report({"foos": sizes[0], "deployments": sizes[1]})


def memory(arguments: list[str]) -> None:
    """Measure the bytes of one cached object, per kind."""
    config.load_kube_config(arguments[0])
    client.VersionApi().get_code()  # not counted: imports and connection of a first request
    figures = {}
    for key, listing in (
        ("foo", Foos().listing),
        ("deployment", client.AppsV1Api().list_deployment_for_all_namespaces),
    ):
        gc.collect()
        tracemalloc.start()
        stored = _filled(listing)
        size = len(stored.wait())
        gc.collect()
        figures[key] = tracemalloc.get_traced_memory()[0] / size
        tracemalloc.stop()
    report(figures)


class _filled:  # noqa: N801  # reads as a verb
    """Start an informer; it has no signal for being synced, so wait for objects."""

    def __init__(self, listing: Any) -> None:
        self._informer = SharedInformer(listing)
        self._some = threading.Event()
        self._informer.add_event_handler(ADDED, lambda _: self._some.set())
        self._informer.start()

    def wait(self) -> Any:
        """Return the cached objects once the list is there; it is stored as a whole before the first handler."""
        self._some.wait()
        return self._informer.cache.list()


def storm(arguments: list[str]) -> None:
    """Process events through cache, two handlers, queue and a worker; report after the last one."""
    config.load_kube_config(arguments[0])
    expected, queue, seen = int(arguments[1]), Queue(), [0]
    informer, over = SharedInformer(Foos().listing), threading.Event()
    listed = threading.Event()

    def enqueue(foo: Any) -> None:
        queue.add(f"{foo['metadata']['namespace']}/{foo['metadata']['name']}")

    def count(_: Any) -> None:
        seen[0] += 1
        if seen[0] == expected:
            over.set()

    informer.add_event_handler(ADDED, lambda _: listed.set())
    informer.add_event_handler(MODIFIED, enqueue)
    informer.add_event_handler(MODIFIED, count)
    work(queue, lambda key: informer.cache.get_by_key(key), workers=1)
    informer.start()
    listed.wait()
    report({})
    over.wait()
    while queue:
        threading.Event().wait(0.001)
    report({"events": seen[0]})


def pages(arguments: list[str]) -> None:
    """List all Foos in pages of 500."""
    config.load_kube_config(arguments[0])
    api, matches, more = client.CustomObjectsApi(), [], None
    began, cpu = time.perf_counter(), time.process_time()
    while more != "":
        page: Any = api.list_namespaced_custom_object(*KIND, arguments[1], "foos", limit=500, _continue=more)
        matches += page["items"]
        more = page["metadata"].get("continue", "")
    report({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "objects": len(matches)})


def codec(arguments: list[str]) -> None:
    """Measure decoding and encoding of a Deployment, and of a Foo as a dictionary, in microseconds."""
    api = client.ApiClient()
    foo, deployed = (Path(file).read_text(encoding="utf-8") for file in arguments[:2])
    held: Any = api.deserialize(deployed, "V1Deployment", "application/json")
    as_dict = json.loads(foo)
    figures = {
        "foo_decode": microseconds(lambda: api.deserialize(foo, "object", "application/json")),
        "foo_encode": microseconds(lambda: json.dumps(api.sanitize_for_serialization(as_dict))),
        "deployment_decode": microseconds(lambda: api.deserialize(deployed, "V1Deployment", "application/json")),
        "deployment_encode": microseconds(lambda: json.dumps(api.sanitize_for_serialization(held))),
    }
    report(figures)


def requests(arguments: list[str]) -> None:
    """Measure the CPU time of a GET, PUT and PATCH of a Deployment in microseconds, including decoding."""
    config.load_kube_config(arguments[0])
    api, space, name, count = client.AppsV1Api(), arguments[1], arguments[2], int(arguments[3])
    last: list[Any] = [api.read_namespaced_deployment(name, space)]

    def put(n: int) -> None:
        last[0].spec.replicas = n % 2
        last[0] = api.replace_namespaced_deployment(name, space, last[0])

    def patch(n: int) -> None:
        api.patch_namespaced_deployment(name, space, {"spec": {"replicas": 2 + n % 2}})

    works = {"get": lambda _: api.read_namespaced_deployment(name, space), "put": put, "patch": patch}
    report({key: each(work, count) for key, work in works.items()})


def streams(arguments: list[str]) -> None:
    """Send data through a command and back, and run short commands, each with a client of its own as `stream` needs."""
    config.load_kube_config(arguments[0])
    space, name, (megabytes, count, parallel) = arguments[1], arguments[2], map(int, arguments[3:])

    def execute(command: str, **options: Any) -> Any:
        api = client.CoreV1Api(client.ApiClient())
        run_command = api.connect_get_namespaced_pod_exec
        return stream(run_command, name, space, command=[command], stdout=True, stderr=True, **options)

    def transfer() -> None:
        process = execute("cat", stdin=True, binary=True, _preload_content=False)
        received, piece = 0, bytes(32 * 1024)
        total = megabytes * 1_000_000 // len(piece) * len(piece)
        for _ in range(total // len(piece)):
            process.write_stdin(piece)
            received += len(process.read_stdout(timeout=0))
        while received < total:
            received += len(process.read_stdout(timeout=1))
        process.close()

    report(streamed(transfer, lambda: execute("echo"), count, parallel))


PARTS = {f.__name__: f for f in (controller, cache, memory, storm, pages, codec, requests, streams)}

if __name__ == "__main__":
    run(PARTS)
