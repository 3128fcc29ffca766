"""Sample controller of each library as a process; and a watch that detects when the work is done."""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.cluster import Cluster
from benchmarks.endpoint import JSON, Api, Prepared, send_all
from benchmarks.model import GO, KOPF, LIGHTKUBE, OFFICIAL, OURS, ROOT, Failed
from benchmarks.objects import foo
from benchmarks.processes import Child

Seen = Callable[[dict[str, Any]], bool]


def controller(subject: str, cluster: Cluster, *flags: str, workers: int = 2, resync: int = 30) -> Child:
    """Start a subject's controller; the flags are those of `main.py`. Only ours and Go's take the workers."""
    kubeconfig = cluster.kubeconfig
    python = sys.executable
    match subject:
        case "go":
            # As shipped it sends 5 requests a second: built to be measured, it takes these variables.
            unlimited = {"QPS": "5000", "WORKERS": str(workers)}
            return Child([cluster.go_controller, "-kubeconfig", kubeconfig], unlimited)
        case "clientgo":
            period = f"{resync}s"
            command = [
                python,
                "main.py",
                "--kubeconfig",
                kubeconfig,
                "--workers",
                str(workers),
                "--resync-period",
                period,
                *flags,
            ]
        case "kopf":
            command = [python, "-m", "kopf", "run", "--all-namespaces", "--standalone", "benchmarks/peers/with_kopf.py"]
        case _:
            command = [python, "-m", f"benchmarks.peers.with_{subject}", "controller", kubeconfig]
    return Child(command, {"KUBECONFIG": kubeconfig, "RESYNC": str(resync), "PYTHONPATH": str(ROOT)})


CONTROLLERS = (OURS, GO, KOPF, OFFICIAL, LIGHTKUBE)


class Follower:
    """Watch of one kind in its own thread that counts objects in the expected state."""

    def __init__(self, cluster: Cluster, path: str, good: Seen) -> None:
        self._good = good
        self._names: set[str] = set()
        self._changed = threading.Condition()
        endpoint = cluster.endpoint
        version = Api(endpoint).json("GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
        self._connection = endpoint.connect()
        watch = f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=1800"
        self._connection.request("GET", watch, headers=endpoint.headers)
        self._socket = self._connection.sock
        self._answer = self._connection.getresponse()
        threading.Thread(target=self._read, daemon=True).start()  # noqa: TID251  # ends with the connection

    def wait(self, expected: int, child: Child, seconds: float = 600.0) -> float:
        """Wait for a number of good objects; return the time (`time.perf_counter`) of the last one.

        Raises:
            Failed: the controller ended, or timeout.
        """
        deadline = time.perf_counter() + seconds
        with self._changed:
            while len(self._names) < expected:
                self._changed.wait(0.5)
                if child.ended or time.perf_counter() > deadline:
                    raise Failed(f"{len(self._names)} of {expected} Foos after {child.seconds:.0f} s: {child.log()}")
        return time.perf_counter()

    def close(self) -> None:
        """Stop watching."""
        # Not `close`, which would wait for the thread that reads.
        self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        try:
            while line := self._answer.readline():
                result = json.loads(line)["object"]
                if self._good(result):
                    with self._changed:
                        self._names.add(result["metadata"]["name"])
                        self._changed.notify_all()
        except (OSError, ValueError, AttributeError):
            return  # closed under our hands: what was waited for has been seen, or `wait` says that it has not


@contextmanager
def following(cluster: Cluster, path: str, good: Seen) -> Iterator[Follower]:
    """Run a follower; close it at the end."""
    follower = Follower(cluster, path, good)
    try:
        yield follower
    finally:
        follower.close()


def reported(result: dict[str, Any]) -> bool:
    """Return whether a Foo's status reports available replicas, including 0."""
    return result.get("status", {}).get("availableReplicas") is not None


def until_ready(cluster: Cluster, child: Child) -> None:
    """Wait until the controller has synced a first Foo."""
    with following(cluster, cluster.foos(), reported) as follower:
        send_all(cluster.endpoint, [("POST", cluster.foos(), foo("first"), JSON)])
        follower.wait(1, child, 60)


def names(count: int) -> list[str]:
    """Return names of Foos."""
    return [f"foo-{n:05}" for n in range(count)]


def creations(cluster: Cluster, expected: Sequence[str]) -> list[Prepared]:
    """Return requests that create Foos."""
    return [("POST", cluster.foos(), foo(name), JSON) for name in expected]


def settle(cluster: Cluster, child: Child, *, seconds: float = 20.0) -> float:
    """Wait until the controller is idle: half a second with little CPU time and without writes.

    Return the seconds from its start until then.
    """
    deadline = time.perf_counter() + seconds
    since, before = child.seconds, (child.cpu(), cluster.writes())
    while time.perf_counter() < deadline:
        threading.Event().wait(0.5)
        now = child.cpu(), cluster.writes()
        if now[0] - before[0] < 0.02 and not now[1] > before[1]:
            break
        since, before = child.seconds, now
    return since
