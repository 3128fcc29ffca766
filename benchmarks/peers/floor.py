"""Floor: the same requests with `http.client` and prepared bodies; responses are parsed by `json`.

It gives none of the guarantees of a cache, a queue or a client, and shows the minimum cost of the work.
"""

import gc
import json
import pickle
import queue as queues
import time
import tracemalloc
from pathlib import Path
from typing import Any

from benchmarks.endpoint import MERGE_PATCH, Api, Endpoint, send_all
from benchmarks.peers.child import microseconds, report, run
from benchmarks.peers.timing import each, longest_pause, rate

FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/foos"
DEPLOYMENTS = "/apis/apps/v1/deployments"


def send(arguments: list[str]) -> None:
    """Send the prepared requests of each file over two connections; report after each file."""
    endpoint = Endpoint.of(arguments[0])
    for file in arguments[1:]:
        # Prepared by the benchmark itself a moment ago.
        requests_ = pickle.loads(Path(file).read_bytes())
        began = time.perf_counter()
        send_all(endpoint, requests_, connections=2)
        report({"seconds": time.perf_counter() - began})


def cache(arguments: list[str]) -> None:
    """Download both lists, parse them into dictionaries, and store them by name."""
    api = Api(Endpoint.of(arguments[0]))
    foos, deployments = (_by_name(api, path) for path in (FOOS, DEPLOYMENTS))
    report({"foos": len(foos), "deployments": len(deployments)})


def memory(arguments: list[str]) -> None:
    """Measure the bytes of one object as dictionaries."""
    api, figures = Api(Endpoint.of(arguments[0])), {}
    api.raw("GET", "/version")  # not counted: imports and connection of a first request
    for key, path in (("foo", FOOS), ("deployment", DEPLOYMENTS)):
        gc.collect()
        tracemalloc.start()
        stored = _by_name(api, path)
        gc.collect()
        figures[key] = tracemalloc.get_traced_memory()[0] / len(stored)
        tracemalloc.stop()
    report(figures)


def _by_name(api: Api, path: str) -> dict[str, Any]:
    return {item["metadata"]["name"]: item for item in api.json("GET", path)["items"]}


def storm(arguments: list[str]) -> None:
    """Read events, parse them, and store the objects by name."""
    endpoint, expected = Endpoint.of(arguments[0]), int(arguments[1])
    stored = _by_name(Api(endpoint), FOOS)
    connection = endpoint.connect()
    connection.request("GET", f"{FOOS}?watch=1", headers=endpoint.headers)
    response = connection.getresponse()
    report({})
    for _ in range(expected):
        event = json.loads(response.readline())
        stored[event["object"]["metadata"]["name"]] = event["object"]
    report({"events": expected})


def million(arguments: list[str]) -> None:
    """Parse a list into dictionaries by name, then changes; report after each."""
    endpoint, expected = Endpoint.of(arguments[0]), int(arguments[1])
    connection, pause = endpoint.connect(), longest_pause()
    report({})
    stored = _by_name(Api(endpoint), FOOS)
    report({"objects": len(stored)})
    connection.request("GET", f"{FOOS}?watch=1", headers=endpoint.headers)
    response = connection.getresponse()
    for _ in range(expected):
        event = json.loads(response.readline())
        stored[event["object"]["metadata"]["name"]] = event["object"]
    report({"pause": pause()})


def pages(arguments: list[str]) -> None:
    """List all Foos in pages of 500 into dictionaries."""
    api, matches, more = Api(Endpoint.of(arguments[0])), [], ""
    path = f"/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{arguments[1]}/foos?limit=500"
    began, cpu = time.perf_counter(), time.process_time()
    while True:
        page = api.json("GET", f"{path}&continue={more}" if more else path)
        matches += page["items"]
        more = page["metadata"].get("continue", "")
        if not more:
            break
    report({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "objects": len(matches)})


def queue(arguments: list[str]) -> None:
    """Measure cycles per second of put, get and task_done on Python's queue, without deduplication."""
    threads, cycles = int(arguments[0]), int(arguments[1])
    shared: queues.Queue[tuple[str, str]] = queues.Queue()

    # Each key once: a key added while it waits would be returned only once.
    stored = [[("default", f"foo-{number}-{n}") for n in range(cycles // threads)] for number in range(threads)]

    def turn(number: int) -> None:
        for name in stored[number]:
            shared.put(name)
            shared.get()
            shared.task_done()

    report({"rate": rate(turn, threads, cycles)})


def codec(arguments: list[str]) -> None:
    """Measure `json.loads` and `json.dumps` for one object of each kind, in microseconds."""
    figures = {}
    for name, file in (("foo", arguments[0]), ("deployment", arguments[1])):
        data = Path(file).read_bytes()
        obj = json.loads(data)
        figures[f"{name}_decode"] = microseconds(lambda d=data: json.loads(d))  # type: ignore[misc]
        figures[f"{name}_encode"] = microseconds(lambda o=obj: json.dumps(o))  # type: ignore[misc]
    report(figures)


def requests(arguments: list[str]) -> None:
    """Measure the CPU time of a GET, PUT and PATCH of a Deployment in microseconds, including parsing."""
    api, count = Api(Endpoint.of(arguments[0])), int(arguments[3])
    path = f"/apis/apps/v1/namespaces/{arguments[1]}/deployments/{arguments[2]}"
    last = [api.raw("GET", path)]

    def put(n: int) -> None:
        last[0] = api.raw("PUT", path, last[0].replace(b'"replicas":%d' % ((n + 1) % 2), b'"replicas":%d' % (n % 2), 1))
        json.loads(last[0])

    def patch(n: int) -> None:
        json.loads(api.raw("PATCH", path, b'{"spec":{"replicas":%d}}' % (2 + n % 2), MERGE_PATCH))

    works = {"get": lambda _: json.loads(api.raw("GET", path)), "put": put, "patch": patch}
    report({key: each(work, count) for key, work in works.items()})


def first_list(arguments: list[str]) -> None:
    """Start and list: the minimum before a first list."""
    Api(Endpoint.of(arguments[0])).raw("GET", DEPLOYMENTS + "?limit=1")
    report({})


PARTS = {f.__name__: f for f in (send, cache, memory, storm, million, pages, queue, codec, requests, first_list)}

if __name__ == "__main__":
    run(PARTS)
