"""Several processes: a controller with shards creates Deployments for Foos that are created at once."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from benchmarks.cases.controllers import controller, creations, following, names, reported, settle, until_ready
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import Api, send_all
from benchmarks.model import GO, OURS, Case, Failed, Figure, Limit, Measure, Setting

PROCESSES = (1, 2, 4)
WORKERS = 16
"""Of all processes together."""
RETRY = 2.0
"""Seconds after which a member of shards looks at the others again."""


def shards(cluster: Cluster, subject: str, count: int, processes: int) -> Mapping[str, float]:
    """Run the controller in one or more processes with this number of Foos."""
    flags = ("--leader-elect-resource-namespace", cluster.namespace, "--shard-count", str(processes))
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                controller(subject, cluster, *(flags if processes > 1 else ()), workers=WORKERS // processes)
            )
            for _ in range(processes)
        ]
        if processes > 1:
            _join(cluster, processes)
        until_ready(cluster, children[0])
        for child in children:
            settle(cluster, child)
        ready = sum(child.cpu() for child in children)
        with following(cluster, cluster.foos(), reported) as follower:
            began = time.perf_counter()
            send_all(cluster.endpoint, creations(cluster, names(count)))
            seconds = follower.wait(count, children[0]) - began
        for child in children:
            settle(cluster, child)
        cpu, peak = sum(child.cpu() for child in children), sum(child.peak_mb() for child in children)
        return {"seconds": seconds, "work": cpu - ready, "peak": peak}


def _join(cluster: Cluster, processes: int) -> None:
    """Wait until each process is a member and knows all of them."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases"
    view, deadline = f"v1/{','.join(map(str, range(processes)))}", time.perf_counter() + 60
    api = Api(cluster.endpoint)
    while time.perf_counter() < deadline:
        leases = api.json("GET", path)["items"]
        views = [lease["metadata"].get("annotations", {}).get("sharding.clientgo/view") for lease in leases]
        if views == [view] * processes:
            threading.Event().wait(2 * RETRY)
            api.close()
            return
        threading.Event().wait(0.1)
    raise Failed(f"{processes} processes did not become members of the shards within a minute: {views}")


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    def measure(subject: str) -> Mapping[str, float]:
        figures: dict[str, float] = {}
        for processes in PROCESSES:
            # The others are one process, which stands beside each number of ours.
            if subject == OURS or processes == 1:
                with cluster_for(setting) as cluster:
                    measured = shards(cluster, subject, setting.size(1_000, 100), processes)
            figures |= {f"{key}_{processes}": value for key, value in measured.items()}
        return figures

    yield measure


SHARDS = Case(
    name="shards",
    words="1,000 Foos created at once, by 1, 2 and 4 processes with 16 workers together; the others are one process",
    figures=tuple(
        Figure(key=f"{key}_{n}", unit=unit, words=f"{words}, {n} process{'es' * (n > 1)}", limits=limits, steady=False)
        for key, unit, words, limits in (
            ("seconds", "s", "first Foo created → last one synced", (Limit(1.0, GO),)),
            ("work", "s", "processor time for these Foos alone", (Limit(1.5, GO),)),
            ("peak", "MB", "peak memory", ()),
        )
        for n in PROCESSES
    ),
    subjects=(OURS, GO),
    open=_open,
)
