"""Large cluster: a controller starts where everything is in order, and resyncs."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.cold import fill
from benchmarks.cases.controllers import controller
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import MERGE_PATCH, send_all
from benchmarks.machine import until_quiet
from benchmarks.model import GO, OURS, Case, Figure, Limit, Measure, Setting
from benchmarks.objects import AVAILABLE
from benchmarks.processes import Child

RESYNC = 30
"""Seconds between resyncs: fixed in Go's sample."""

SAMPLED = range(1, 11)
"""Seconds after the start at which memory and processor time are read, for the chart."""


def prepare(cluster: Cluster, count: int) -> None:
    """Create Foos and their Deployments as a controller leaves them: it finds nothing to change."""
    result = fill(cluster, count, replicas=1)
    status = json.dumps({"status": {"availableReplicas": AVAILABLE}}).encode()
    send_all(cluster.endpoint, [("PATCH", cluster.foos(name, "status"), status, MERGE_PATCH) for name in result])


def large(cluster: Cluster, subject: str) -> Mapping[str, float]:
    """Start one controller, and measure until its caches are full and for two periods of resync afterwards.

    Fixed periods, because Go's sample writes a status and an event in each sync: with so many Foos it is never idle.
    """
    until_quiet()  # after 40,000 writes of another controller, the API server collects garbage
    written = cluster.writes()
    samples: dict[str, float] = {}
    with controller(subject, cluster, resync=RESYNC) as child:
        sampler = threading.Thread(target=_sample, args=(child, samples), daemon=True)  # noqa: TID251  # joined below
        sampler.start()
        seconds, cpu = child.until_logged('"starting workers"'), [child.cpu()]
        for _ in range(2):
            threading.Event().wait(RESYNC)
            cpu.append(child.cpu())
        sampler.join()
        return {
            **samples,
            "seconds": seconds,
            "cpu": cpu[0],
            "sync": cpu[1] - cpu[0],
            "resync": cpu[2] - cpu[1],
            "peak": child.peak_mb(),
            "resident": child.resident_mb(),
            "writes": cluster.writes() - written,
        }


def _sample(child: Child, samples: dict[str, float]) -> None:
    for second in SAMPLED:
        threading.Event().wait(second - child.seconds)
        samples |= {f"cpu_{second}": child.cpu(), f"memory_{second}": child.resident_mb()}


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    count = setting.size(50_000, 1_000)
    with cluster_for(setting) as cluster:
        setting.tell(f"large-cluster: making {count:,} Foos and {count:,} Deployments")
        prepare(cluster, count)
        yield lambda subject: large(cluster, subject)


LARGE = Case(
    name="large-cluster",
    words="50,000 Foos and their Deployments, all in order: the controller starts, and resyncs every 30 s",
    figures=(
        Figure(key="seconds", unit="s", words="start → full caches", limits=(Limit(0.9, GO),), steady=False),
        Figure(key="cpu", unit="s", words="processor time until then", limits=(Limit(0.9, GO),)),
        Figure(
            key="sync", unit="s", words="processor time of the next 30 s, each Foo synced", limits=(Limit(1.0, GO),)
        ),
        Figure(key="resync", unit="s", words="processor time of 30 s, with one resync", limits=(Limit(1.0, GO),)),
        Figure(key="peak", unit="MB", words="peak memory", limits=(Limit(0.7, GO),)),
        Figure(key="resident", unit="MB", words="memory afterwards", limits=(Limit(0.7, GO),)),
        Figure(key="writes", unit="", words="writes in all", limits=(Limit(0.0),)),
        *(
            Figure(key=f"{key}_{second}", unit=unit, words=f"{words} {second} s after the start", steady=False)
            for key, unit, words in (("cpu", "s", "processor time"), ("memory", "MB", "memory"))
            for second in SAMPLED
        ),
    ),
    subjects=(OURS, GO),
    open=_open,
)
