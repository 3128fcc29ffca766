"""Idle controller: writes and CPU time of resyncs without changes."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.controllers import (
    CONTROLLERS,
    controller,
    creations,
    following,
    names,
    reported,
    settle,
    until_ready,
)
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import send_all
from benchmarks.model import OFFICIAL, OURS, Case, Figure, Limit, Measure, Setting


def idle(cluster: Cluster, subject: str, count: int, seconds: int) -> Mapping[str, float]:
    """Run one controller that has synced a number of Foos, and resyncs them every 30 seconds."""
    with controller(subject, cluster, resync=30) as child:
        until_ready(cluster, child)
        with following(cluster, cluster.foos(), reported) as follower:
            send_all(cluster.endpoint, creations(cluster, names(count)))
            follower.wait(count, child)
        settle(cluster, child)
        cpu, written, began = child.cpu(), cluster.writes(), child.seconds
        threading.Event().wait(seconds)
        busy = (child.cpu() - cpu) / (child.seconds - began)
        return {"core": 100 * busy, "writes": cluster.writes() - written}


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    def measure(subject: str) -> Mapping[str, float]:
        with cluster_for(setting) as cluster:
            # Whole periods, so that it does not matter where in one the watching begins.
            return idle(cluster, subject, setting.size(1_000, 200), setting.size(60, 30))

    yield measure


IDLE = Case(
    name="idle",
    words="1,000 synced Foos and a resync every 30 s, watched for a minute; kopf and lightkube know no resync",
    figures=(
        Figure(key="core", unit="%", words="of one core", limits=(Limit(0.2, OFFICIAL),)),
        Figure(key="writes", unit="", words="writes", limits=(Limit(0.0),)),
    ),
    subjects=(OURS, *CONTROLLERS[1:]),
    open=_open,
    rounds=1,
)
