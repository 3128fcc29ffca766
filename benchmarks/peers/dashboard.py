"""Dashboard of a controller: cost of recording a reconciliation, of the open page, and bytes that it receives."""

import http.client
import json
import sys
import threading
import time
from typing import Any
from urllib.parse import quote, urlsplit

from benchmarks.peers.child import microseconds, report
from benchmarks.peers.timing import each
from clientgo.kubernetes.clientset import Clientset
from clientgo.meta import ObjectName, replace
from clientgo.program import Address, ServingFlags
from clientgo.reconcile import Attempts, History
from clientgo.rest import RESTClient, load_config
from clientgo.serving import Diagnostics, serve_diagnostics
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue, ShutDown

KEY = ObjectName("default", "foo-1")
DELAY = 1000.0
POLL = 2.0
"""Seconds between two polls of the page."""


def main(arguments: list[str]) -> None:
    """Report the figures; arguments are kubeconfig, namespace, name of a Deployment, delayed objects, and seconds."""
    kubeconfig, namespace, name, delayed, seconds = arguments
    cost = recording()
    figures = {"recording": cost, "share": cost / reconciliation(kubeconfig, namespace, name)}
    report(figures | opened(int(delayed), float(seconds)))


def recording() -> float:
    """Return the microseconds that recording adds to a reconciliation."""
    attempts, history, queue = Attempts("Foo"), History(), RateLimitingQueue[ObjectName]()
    with attempts.at(KEY) as attempt:
        attempt.succeeded()
    return microseconds(lambda: history.add(attempt.ended(1.0))) + microseconds(lambda: queue.trigger(KEY))


def reconciliation(kubeconfig: str, namespace: str, name: str) -> float:
    """Return the processor time in microseconds of a reconciliation that sends one update."""
    client = Clientset(RESTClient(load_config(kubeconfig=kubeconfig))).apps_v1.deployments(namespace)
    attempts, last = Attempts("Deployment"), [client.get(name)]

    def reconcile(number: int) -> None:
        with attempts.at(KEY) as attempt:
            current = last[0]
            last[0] = client.update(replace(current, spec=replace(current.spec, replicas=number % 2)))
            attempt.succeeded()

    return each(reconcile, 300)


def opened(delayed: int, seconds: float) -> dict[str, float]:
    """Return size of the page, and bytes and processor time of polls while objects become due one after another."""
    diagnostics = Diagnostics(ServingFlags(metrics_bind_address=Address("127.0.0.1", 0)), component="bench")
    limiter = ItemExponentialFailureRateLimiter[ObjectName](1.0, DELAY)
    queue, attempts = RateLimitingQueue(limiter, name="foos"), Attempts("Foo")
    diagnostics.add_controller(queue, attempts)
    for number in range(delayed):
        queue.add_after(ObjectName("default", f"foo-{number:05}"), DELAY * (number + 1) / delayed)
    worker = threading.Thread(target=_work, args=(queue, attempts), daemon=True)  # noqa: TID251  # joined below
    worker.start()
    with serve_diagnostics(diagnostics, threading.Event()):
        address = urlsplit(diagnostics.urls["dashboard"])
        connection = http.client.HTTPConnection(address.netloc, timeout=10)
        page = len(_get(connection, address.path)[0])
        have, received, polls, cpu = _merge({}, _get(connection, f"{address.path}/state")[0]), 0, 0, 0.0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            threading.Event().wait(POLL)
            before = time.process_time()
            body, _ = _get(connection, f"{address.path}/state?have={quote(json.dumps(have))}")
            compressed = _get(connection, f"{address.path}/state?have={quote(json.dumps(have))}", "gzip")[1]
            cpu += (time.process_time() - before) / 2
            have, received, polls = _merge(have, body), received + compressed, polls + 1
        elapsed = time.perf_counter() - began
    queue.shut_down()
    worker.join(10)
    return {"page": page / 1000, "bytes": received / elapsed, "core": 100 * cpu / polls / POLL}


def _get(connection: http.client.HTTPConnection, path: str, encoding: str = "identity") -> tuple[bytes, int]:
    connection.request("GET", path, headers={"Accept-Encoding": encoding})
    response = connection.getresponse()
    body = response.read()
    return body, len(body) + sum(len(name) + len(value) + 4 for name, value in response.getheaders())


def _merge(have: dict[str, Any], body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    history = {name: rows[-1][0] for name, rows in document["history"].items() if rows}
    samples = document["samples"][-1][0] if document["samples"] else have.get("samples", 0)
    return {
        "boot": document["boot"],
        "parts": {**have.get("parts", {}), **document["versions"]},
        "history": {**have.get("history", {}), **history},
        "samples": samples,
    }


def _work(queue: RateLimitingQueue[ObjectName], attempts: Attempts) -> None:
    try:
        while True:
            with queue.processing() as key, attempts.at(key, queue.trigger(key)) as attempt:
                attempt.succeeded("requeue_after", requeue_in=DELAY)
                queue.add_after(key, DELAY)
    except ShutDown:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
