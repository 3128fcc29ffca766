"""Frequent operations: queue cycles, decoding and encoding, single requests, lists in pages."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.cases.controllers import creations, names
from benchmarks.cases.parts import doing, done
from benchmarks.cluster import cluster_for
from benchmarks.endpoint import JSON, send_all
from benchmarks.model import FLOOR, LIGHTKUBE, OFFICIAL, OURS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.objects import running_deployment, stored_deployment, stored_foo

THREADS = (1, 4, 16)
LIMITS = {1: (Limit(1.5, FLOOR),), 16: (Limit(5.0, FLOOR),)}


def cycles(subject: str, threads: int, count: int) -> float:
    """Measure queue cycles per second with a number of threads."""
    return done(subject, "queue", threads, count)["rate"]


@contextmanager
def _queue(setting: Setting) -> Iterator[Measure]:
    count = setting.size(400_000, 100_000)

    def measure(subject: str) -> Mapping[str, float]:
        rates = {f"rate{threads}": cycles(subject, threads, count) for threads in THREADS}
        return {**rates, "kept": rates["rate16"] / rates["rate1"]}

    yield measure


@contextmanager
def _codec(_: Setting) -> Iterator[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        foo, deployment = Path(folder) / "foo", Path(folder) / "deployment"
        foo.write_bytes(stored_foo("foo-1", 12345))
        deployment.write_bytes(stored_deployment("shop-1", 12345))
        yield lambda subject: done(subject, "codec", foo, deployment)


@contextmanager
def _requests(setting: Setting) -> Iterator[Measure]:
    count = setting.size(1_000, 200)
    with cluster_for(setting) as cluster:
        body = running_deployment("shop-1", cluster.namespace)
        send_all(cluster.endpoint, [("POST", cluster.deployments(), body, JSON)])
        yield lambda subject: done(subject, "requests", cluster.kubeconfig, cluster.namespace, "shop-1", count)


@contextmanager
def _pages(setting: Setting) -> Iterator[Measure]:
    count = setting.size(50_000, 3_000)
    with cluster_for(setting) as cluster:
        setting.tell(f"pages: making {count:,} Foos")
        send_all(cluster.endpoint, creations(cluster, names(count)))

        def measure(subject: str) -> Mapping[str, float]:
            with doing(subject, "pages", cluster.kubeconfig, cluster.namespace) as (child, figures):
                if figures["objects"] != count:
                    raise Failed(f"{subject} listed {figures['objects']:.0f} of {count}")
                return {"seconds": figures["seconds"], "cpu": figures["cpu"], "peak": child.peak_mb()}

        yield measure


QUEUE = Case(
    name="queue",
    words="add → get → done on one queue that threads share; the floor is queue.Queue, which lets duplicates in",
    figures=(
        *(
            Figure(
                key=f"rate{threads}",
                unit="/s",
                words=f"cycles, {threads} thread{'s' * (threads > 1)}",
                more_is_better=True,
                limits=LIMITS.get(threads, ()),
            )
            for threads in THREADS
        ),
        Figure(
            key="kept",
            unit="",
            words="16 threads against one, in total",
            more_is_better=True,
            steady=False,
        ),
    ),
    subjects=(OURS, FLOOR),
    open=_queue,
)

CODEC = Case(
    name="codec",
    words="one object from bytes, to bytes, changed; the floor is json's dictionaries, as are official's Foos",
    figures=(
        Figure(key="foo_decode", unit="us", words="decode a Foo", limits=(Limit(0.6, FLOOR),)),
        Figure(key="foo_encode", unit="us", words="encode a Foo", limits=(Limit(0.4, FLOOR),)),
        Figure(key="foo_replace", unit="us", words="a Foo with other labels"),
        Figure(
            key="deployment_decode",
            unit="us",
            words="decode a Deployment of 3.6 KB",
            limits=(Limit(0.5, FLOOR), Limit(0.1, OFFICIAL)),
        ),
        Figure(
            key="deployment_encode",
            unit="us",
            words="encode a Deployment",
            limits=(Limit(0.2, FLOOR), Limit(0.1, OFFICIAL)),
        ),
        Figure(key="deployment_replace", unit="us", words="a Deployment with other labels"),
    ),
    subjects=(OURS, FLOOR, OFFICIAL, LIGHTKUBE),
    open=_codec,
)

REQUESTS = Case(
    name="requests",
    words="processor time of one request for a Deployment of 3.6 KB over TLS, answer decoded",
    figures=(
        Figure(key="get", unit="us", words="GET", limits=(Limit(0.7, FLOOR),)),
        Figure(key="put", unit="us", words="PUT", limits=(Limit(0.7, FLOOR),)),
        Figure(key="patch", unit="us", words="PATCH", limits=(Limit(0.7, FLOOR),)),
    ),
    subjects=(OURS, FLOOR, OFFICIAL, LIGHTKUBE),
    open=_requests,
    bundled_only="a Deployment without other writers",
)

PAGES = Case(
    name="pages",
    words="50,000 Foos listed in pages of 500; the floor parses them to dictionaries",
    figures=(
        Figure(key="seconds", unit="s", words="until all are there", steady=False),
        Figure(key="cpu", unit="s", words="processor time"),
        Figure(key="peak", unit="MB", words="peak memory"),
    ),
    subjects=(OURS, FLOOR, OFFICIAL, LIGHTKUBE),
    open=_pages,
)
