"""Dashboard: cost of recording reconciliations, and of an open page."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cluster import cluster_for
from benchmarks.endpoint import JSON, send_all
from benchmarks.model import OURS, Case, Figure, Limit, Measure, Setting
from benchmarks.objects import running_deployment
from benchmarks.processes import Child


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    delayed, seconds = setting.size(10_000, 1_000), setting.size(20, 4)
    with cluster_for(setting) as cluster:
        body = running_deployment("shop-1", cluster.namespace)
        send_all(cluster.endpoint, [("POST", cluster.deployments(), body, JSON)])

        def measure(_: str) -> Mapping[str, float]:
            arguments = (cluster.kubeconfig, cluster.namespace, "shop-1", delayed, seconds)
            with Child([sys.executable, "-m", "benchmarks.peers.dashboard", *map(str, arguments)]) as child:
                return child.report()

        yield measure


DASHBOARD = Case(
    name="dashboard",
    words="recording, and the open page of a controller with 10,000 delayed objects of which ten become due a second",
    figures=(
        Figure(key="recording", unit="us", words="recording of a reconciliation"),
        Figure(key="share", unit="", words="share of a reconciliation with one update", limits=(Limit(0.01),)),
        Figure(key="page", unit="KB", words="size of the page", limits=(Limit(60.0),)),
        Figure(key="bytes", unit="B/s", words="bytes received by the open page", limits=(Limit(10_000.0),)),
        Figure(key="core", unit="%", words="of one core while the page is open", steady=False),
    ),
    subjects=(OURS,),
    open=_open,
    bundled_only="a Deployment without other writers",
)
