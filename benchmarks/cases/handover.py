"""Hand-over between two replicas: time until the standby leads."""

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.controllers import controller
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import Api, Refused
from benchmarks.model import OURS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.processes import Child

LEASE = 15.0
"""Seconds of a lease by default: what a hand-over lasts depends on it, not on the machine."""


def _holder(api: Api, path: str) -> str:
    try:
        return str(api.json("GET", path)["spec"].get("holderIdentity") or "")
    except Refused:
        return ""


def _wait(api: Api, path: str, unlike: str, seconds: float = 60.0) -> str:
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        holder = _holder(api, path)
        if holder not in {"", unlike}:
            return holder
        threading.Event().wait(0.005)
    raise Failed(f"the lease was not acquired for {seconds:.0f} s")


def hand_over(cluster: Cluster, number: int) -> float:
    """Return the time from a signal to the leader until the standby holds the lease, in durations of a lease."""
    flags = ("--leader-elect", "--leader-elect-resource-namespace", cluster.namespace)
    path = f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases/sample-controller"
    api = Api(cluster.endpoint)
    with controller(OURS, cluster, *flags) as leader:
        first = _wait(api, path, "")
        with controller(OURS, cluster, *flags) as standby:
            _listening(cluster, standby)
            began = time.perf_counter()
            leader.signal(number)
            _wait(api, path, first)
            return (time.perf_counter() - began) / LEASE


def _listening(cluster: Cluster, standby: Child) -> None:
    # Its caches are full by then, and it has looked at the lease.
    while standby.cpu() < 0.1 or standby.seconds < 3:
        threading.Event().wait(0.1)


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    def measure(_: str) -> Mapping[str, float]:
        figures = {}
        for key, number in (("told", signal.SIGTERM), ("killed", signal.SIGKILL)):
            with cluster_for(setting) as cluster:
                figures[key] = hand_over(cluster, number)
        return figures

    yield measure


HAND_OVER = Case(
    name="hand-over",
    words="two replicas with --leader-elect and its defaults: the leader goes, the stand-by takes the lease of 15 s",
    figures=(
        Figure(key="told", unit="leases", words="leader told to end (SIGTERM)", limits=(Limit(0.2),), steady=False),
        Figure(key="killed", unit="leases", words="leader killed (SIGKILL)", limits=(Limit(1.27),), steady=False),
    ),
    subjects=(OURS,),
    open=_open,
)
