"""Start with a backlog: Foos wait when the process starts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.controllers import CONTROLLERS, controller, creations, following, names, reported, settle
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import send_all
from benchmarks.model import GO, OFFICIAL, OURS, Case, Figure, Limit, Measure, Setting

LIMITS = (Limit(0.5, OFFICIAL),)
"""The time beside Go is decided by how fast the server answers writes: no series of rounds tells it."""
IDLE = (Limit(0.65, GO), *LIMITS)


def backlog(cluster: Cluster, subject: str, count: int, workers: int) -> Mapping[str, float]:
    """Create the Foos, start one controller, and measure from the start of its process."""
    send_all(cluster.endpoint, creations(cluster, names(count)))
    written = cluster.writes()
    with (
        following(cluster, cluster.foos(), reported) as follower,
        controller(subject, cluster, workers=workers) as child,
    ):
        seconds = follower.wait(count, child) - child.began
        cpu = child.cpu()
        settle(cluster, child)
        writes = (cluster.writes() - written) / count
        return {"seconds": seconds, "cpu": cpu, "settled": child.cpu(), "peak": child.peak_mb(), "writes": writes}


def _case(name: str, full: int, quick: int, workers: int, *peers: str) -> Case:
    @contextmanager
    def opened(setting: Setting) -> Iterator[Measure]:
        def measure(subject: str) -> Mapping[str, float]:
            with cluster_for(setting) as cluster:
                return backlog(cluster, subject, setting.size(full, quick), workers)

        yield measure

    return Case(
        name=name,
        words=f"{full:,} Foos wait when the process starts; {workers} workers",
        figures=(
            Figure(key="seconds", unit="s", words="start → last Foo synced", limits=LIMITS, steady=False),
            Figure(key="cpu", unit="s", words="processor time until then", limits=LIMITS),
            Figure(key="settled", unit="s", words="processor time until it is idle: events sent", limits=IDLE),
            Figure(key="peak", unit="MB", words="peak memory"),
            Figure(key="writes", unit="", words="writes for each Foo"),
        ),
        subjects=(OURS, GO, *peers),
        open=opened,
    )


BACKLOG: tuple[Case, ...] = (
    _case("backlog", 500, 100, 2, *CONTROLLERS[2:]),
    _case("backlog-16", 500, 100, 16),
    _case("backlog-many", 5_000, 500, 2),
    _case("backlog-many-16", 5_000, 500, 16),
)
