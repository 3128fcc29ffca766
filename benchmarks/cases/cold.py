"""Cold start: fill the caches from a cluster full of Foos and Deployments."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.controllers import creations, names
from benchmarks.cases.parts import doing, done
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import JSON, Api, Prepared, send_all
from benchmarks.model import FLOOR, LIGHTKUBE, OFFICIAL, OURS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.objects import running_deployment


def fill(cluster: Cluster, count: int, replicas: int = 0) -> list[str]:
    """Create Foos, and Deployments with a status, with managed fields of two writers; return their names."""
    send_all(cluster.endpoint, creations(cluster, names(count)))
    foos = Api(cluster.endpoint).json("GET", cluster.foos())["items"]
    built: list[Prepared] = []
    reported: list[Prepared] = []
    for meta in (foo["metadata"] for foo in foos):
        # Owned, or a cluster would collect them; by default of no pods, or a real one would run them.
        body = running_deployment(meta["name"], cluster.namespace, meta["uid"], replicas=replicas)
        built.append(("POST", cluster.deployments(), body, JSON))
        reported.append(("PUT", cluster.deployments(meta["name"], "status"), body, JSON))
    send_all(cluster.endpoint, built)
    send_all(cluster.endpoint, reported)
    return names(count)


def start(cluster: Cluster, subject: str, count: int) -> Mapping[str, float]:
    """Start one subject and wait until its caches are full."""
    with doing(subject, "cache", cluster.kubeconfig) as (child, figures):
        if min(figures["foos"], figures["deployments"]) < count:
            raise Failed(f"{subject} has only {figures} of {count} each")
        return {"seconds": child.seconds, "cpu": child.cpu(), "peak": child.peak_mb(), "resident": child.resident_mb()}


@contextmanager
def _cold(setting: Setting) -> Iterator[Measure]:
    count = setting.size(10_000, 1_000)
    with cluster_for(setting) as cluster:
        setting.tell(f"cold-start: making {count:,} Foos and {count:,} Deployments")
        fill(cluster, count)
        yield lambda subject: start(cluster, subject, count)


@contextmanager
def _memory(setting: Setting) -> Iterator[Measure]:
    with cluster_for(setting) as cluster:
        fill(cluster, setting.size(2_000, 1_000))
        yield lambda subject: done(subject, "memory", cluster.kubeconfig)


COLD = Case(
    name="cold-start",
    words="start of the process → caches of 10,000 Foos and 10,000 Deployments; the floor parses to dictionaries",
    figures=(
        Figure(key="seconds", unit="s", words="to full caches", limits=(Limit(2.0, FLOOR),), steady=False),
        Figure(key="cpu", unit="s", words="processor time", limits=(Limit(2.0, FLOOR),)),
        Figure(key="peak", unit="MB", words="peak memory"),
        Figure(key="resident", unit="MB", words="memory afterwards"),
    ),
    subjects=(OURS, FLOOR, OFFICIAL, LIGHTKUBE),
    open=_cold,
)

MEMORY = Case(
    name="memory",
    words="bytes of one object in a cache, allocations counted",
    figures=(
        Figure(key="foo", unit="B", words="a Foo", limits=(Limit(1500.0),)),
        Figure(key="deployment", unit="B", words="a Deployment of 3.6 KB of JSON", limits=(Limit(9000.0),)),
    ),
    subjects=(OURS, FLOOR, OFFICIAL, LIGHTKUBE),
    open=_memory,
    rounds=1,
)
