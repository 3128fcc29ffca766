"""Subject `clientgo`, as the sample controller uses it."""

import gc
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.child import microseconds, report, run
from benchmarks.peers.timing import each, longest_pause, rate, streamed
from clientgo.cache.informer import SharedInformer
from clientgo.cache.pager import Pager
from clientgo.cache.state import wait_for_cache_sync
from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.clientset import Clientset as KubernetesClientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.meta import ObjectMeta, ObjectName, decode, encode, object_name, replace
from clientgo.meta.listwatch import ListOptions
from clientgo.rest import RESTClient, load_config
from clientgo.stop import Group
from clientgo.testing.watchsource import FakeSource
from clientgo.workqueue import ShutDown, WorkQueue
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory


def cache(arguments: list[str]) -> None:
    """Fill the caches of Foos and Deployments; report when both are synced."""
    client, stop = RESTClient(load_config(kubeconfig=arguments[0])), threading.Event()
    foos, deployments = _informers(client)
    foos[0].start(stop)
    deployments[0].start(stop)
    for factory, _ in (foos, deployments):
        factory.wait_for_cache_sync(stop)
    report({"foos": foos[1].size, "deployments": deployments[1].size})


def memory(arguments: list[str]) -> None:
    """Measure the bytes of one cached object, per kind."""
    client, stop = RESTClient(load_config(kubeconfig=arguments[0])), threading.Event()
    client.raw("GET", "/version")  # not counted: imports and connection of a first request
    figures = {}
    kinds: list[tuple[Any, SharedInformer[Any]]] = [*_informers(client)]
    for key, (factory, informer) in zip(("foo", "deployment"), kinds, strict=True):
        gc.collect()
        tracemalloc.start()
        factory.start(stop)
        factory.wait_for_cache_sync(stop)
        gc.collect()
        figures[key] = tracemalloc.get_traced_memory()[0] / informer.size
        tracemalloc.stop()
    report(figures)


def _informers(client: RESTClient) -> tuple[tuple[Any, SharedInformer[Foo]], tuple[Any, SharedInformer[Deployment]]]:
    foos = SharedInformerFactory(Clientset(client))
    deployments = KubernetesInformerFactory(KubernetesClientset(client))
    return (foos, foos.samplecontroller.v1alpha1.foos.informer), (deployments, deployments.apps.v1.deployments.informer)


def namespaces(arguments: list[str]) -> None:
    """Fill one cache from a number of namespaces, each with a source in memory of 100 Foos; report the CPU time."""
    sources = {}
    for namespace in (f"namespace-{n}" for n in range(int(arguments[0]))):
        foos = [Foo(ObjectMeta(name=f"foo-{n}", namespace=namespace), FooSpec(f"foo-{n}", 1)) for n in range(100)]
        sources[namespace] = FakeSource(Foo, *foos)
    informer, group = SharedInformer(sources), Group()
    cpu = time.process_time()
    informer.start(group)
    wait_for_cache_sync(group.stop_event, informer)
    report({"cpu": time.process_time() - cpu, "objects": informer.size})


def _counter(expected: int) -> tuple[Callable[[Foo, Foo], None], list[int], threading.Event]:
    """Return a handler of updates, how many it has had, and what it sets after the last one."""
    seen, over = [0], threading.Event()

    def count(_: Foo, new: Foo) -> None:
        seen[0] += 1
        if seen[0] == expected:
            over.set()

    return count, seen, over


def storm(arguments: list[str]) -> None:
    """Process events through cache, handlers, and a queue with workers for each controller; report after the last."""
    client, stop = RESTClient(load_config(kubeconfig=arguments[0])), threading.Event()
    expected, controllers, workers = (int(text) for text in (*arguments[1:], "1", "1")[:3])
    factory, informer = _informers(client)[0]
    queues: list[WorkQueue[ObjectName]] = [WorkQueue() for _ in range(controllers)]
    count, seen, over = _counter(expected)
    for queue in queues:
        informer.add_event_handler(on_update=_enqueue(queue))
        for _ in range(workers):
            threading.Thread(target=_work, args=(queue, informer), daemon=True).start()  # noqa: TID251  # its own
    informer.add_event_handler(on_update=count)
    factory.start(stop)
    factory.wait_for_cache_sync(stop)
    report({})
    over.wait()
    while any(map(len, queues)):
        SYSTEM_CLOCK.sleep(stop, 0.001)
    report({"events": seen[0]})


def _enqueue(queue: WorkQueue[ObjectName]) -> Callable[[Foo, Foo], None]:
    return lambda _, new: queue.add(object_name(new))


def _work(queue: WorkQueue[ObjectName], informer: SharedInformer[Foo]) -> None:
    while True:
        try:
            with queue.processing() as key:
                informer.indexer.get_by_key(key)
        except ShutDown:
            return


def million(arguments: list[str]) -> None:
    """Fill a cache from a list, then take changes; report after each."""
    client, stop, expected = RESTClient(load_config(kubeconfig=arguments[0])), threading.Event(), int(arguments[1])
    factory, informer = _informers(client)[0]
    count, _, over = _counter(expected)
    informer.add_event_handler(on_update=count)
    client.raw("GET", "/version")  # not counted: imports and connection of a first request
    pause = longest_pause()
    report({})
    factory.start(stop)
    factory.wait_for_cache_sync(stop)
    report({"objects": informer.size})
    over.wait()
    report({"pause": pause()})


def pages(arguments: list[str]) -> None:
    """List all Foos in pages of 500, as an informer does without streaming lists."""
    client = RESTClient(load_config(kubeconfig=arguments[0]))
    pager = Pager(Clientset(client).samplecontroller_v1alpha1.foos(arguments[1]).list_page)
    began, cpu = time.perf_counter(), time.process_time()
    result, _ = pager.list(ListOptions())
    report({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "objects": len(result.items)})


def queue(arguments: list[str]) -> None:
    """Measure cycles per second of add, get and done, with threads that share one queue."""
    threads, cycles = int(arguments[0]), int(arguments[1])
    shared: WorkQueue[ObjectName] = WorkQueue()

    # Each key once: a key added while it waits would be returned only once.
    stored = [
        [ObjectName("default", f"foo-{number}-{n}") for n in range(cycles // threads)] for number in range(threads)
    ]

    def turn(number: int) -> None:
        for name in stored[number]:
            shared.add(name)
            shared.done(shared.get())

    report({"rate": rate(turn, threads, cycles)})


def codec(arguments: list[str]) -> None:
    """Measure decoding, encoding and changing one object of each kind, in microseconds; the bytes are in files."""
    figures = {}
    kinds: list[tuple[str, type[Any], str]] = [("foo", Foo, arguments[0]), ("deployment", Deployment, arguments[1])]
    for name, kind, file in kinds:
        data = Path(file).read_bytes()
        obj = decode(kind, data)
        meta = obj.metadata
        figures[f"{name}_decode"] = microseconds(lambda k=kind, d=data: decode(k, d))  # type: ignore[misc]
        figures[f"{name}_encode"] = microseconds(lambda o=obj: encode(o))  # type: ignore[misc]
        figures[f"{name}_replace"] = microseconds(
            lambda o=obj, m=meta: replace(o, metadata=replace(m, labels={"a": "b"}))  # type: ignore[misc]
        )
    report(figures)


def requests(arguments: list[str]) -> None:
    """Measure the CPU time of a GET, PUT and PATCH of a Deployment in microseconds, including decoding."""
    client = KubernetesClientset(RESTClient(load_config(kubeconfig=arguments[0]))).apps_v1.deployments(arguments[1])
    name, count = arguments[2], int(arguments[3])
    patch = [{"spec": {"replicas": 2}}, {"spec": {"replicas": 3}}]

    def put(n: int) -> None:
        current = client.get(name) if n == 0 else last[0]
        last[0] = client.update(replace(current, spec=replace(current.spec, replicas=n % 2)))

    last: list[Any] = [None]
    works: dict[str, Any] = {
        "get": lambda _: client.get(name),
        "put": put,
        "patch": lambda n: client.patch(name, patch[n % 2]),
    }
    report({key: each(work, count) for key, work in works.items()})


def streams(arguments: list[str]) -> None:
    """Send data through a command and back, and run short commands."""
    pods = KubernetesClientset(RESTClient(load_config(kubeconfig=arguments[0]))).core_v1.pods(arguments[1])
    name, (megabytes, count, parallel) = arguments[2], map(int, arguments[3:])

    def transfer() -> None:
        with pods.exec(name, ["cat"], stdin=True) as process:
            process.feed(bytes(1_000_000) for _ in range(megabytes))
            assert sum(len(piece.data) for piece in process) == megabytes * 1_000_000

    report(streamed(transfer, lambda: pods.run(name, ["echo"]), count, parallel))


PARTS = {f.__name__: f for f in (cache, memory, namespaces, storm, million, pages, queue, codec, requests, streams)}

if __name__ == "__main__":
    run(PARTS)
