"""Commands in pods: data in both directions, many streams one after the other and at once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.parts import doing
from benchmarks.cluster import cluster_for
from benchmarks.endpoint import MERGE_PATCH, Api
from benchmarks.model import OFFICIAL, OURS, Case, Figure, Limit, Measure, Setting

NAME = "stream"
POD = b'{"metadata":{"name":"stream"},"spec":{"nodeName":"node","containers":[{"name":"c","image":"i"}]}}'
NODE = b'{"metadata":{"name":"node"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}}'
PARALLEL = 100


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    megabytes, count = setting.size(100, 10), setting.size(1_000, 100)
    with cluster_for(setting, simulate=True) as cluster:
        api, path = Api(cluster.endpoint), f"/api/v1/namespaces/{cluster.namespace}/pods"
        api.raw("POST", "/api/v1/nodes", NODE)
        api.raw("POST", path, POD)
        api.raw("PATCH", f"{path}/{NAME}/status", b'{"status":{"phase":"Running"}}', MERGE_PATCH)
        api.close()

        def measure(subject: str) -> Mapping[str, float]:
            sizes = (megabytes, count, PARALLEL)
            with doing(subject, "streams", cluster.kubeconfig, cluster.namespace, NAME, *sizes) as (child, figures):
                return {**figures, "peak": child.peak_mb()}

        yield measure


STREAMS = Case(
    name="streams",
    words="commands in a simulated pod over TLS: 100 MB through `cat`, up and down at once, then short commands",
    figures=(
        Figure(key="transfer", unit="s", words="100 MB up and down", limits=(Limit(1.2, OFFICIAL),), steady=False),
        Figure(key="cpu", unit="s", words="processor time of that"),
        Figure(key="stream", unit="ms", words="one of 1,000 commands, one after the other", steady=False),
        Figure(key="stream_cpu", unit="ms", words="processor time of one"),
        Figure(key="parallel", unit="s", words="100 commands at once", steady=False),
        Figure(key="peak", unit="MB", words="peak memory"),
    ),
    subjects=(OURS, OFFICIAL),
    open=_open,
    bundled_only="a simulated pod",
)
