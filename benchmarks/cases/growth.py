"""Growth of costs: measurements at n, 2n, 4n and 8n, and the exponent of the fitted power law."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from benchmarks.cases.cold import fill, start
from benchmarks.cases.controllers import creations, names
from benchmarks.cases.create import create
from benchmarks.cases.parts import done
from benchmarks.cases.small import cycles
from benchmarks.cases.storm import storm
from benchmarks.cluster import cluster_for
from benchmarks.endpoint import send_all
from benchmarks.fit import exponent
from benchmarks.model import OURS, Case, Figure, Limit, Measure, Setting

STEPS = (1, 2, 4, 8)
TURNS = 3


def _created(setting: Setting, size: int) -> float:
    with cluster_for(setting) as cluster:
        return create(cluster, OURS, size, scaled=False)["work"]


def _started(setting: Setting, size: int) -> float:
    with cluster_for(setting) as cluster:
        fill(cluster, size)
        return start(cluster, OURS, size)["cpu"]


def _listed(setting: Setting, size: int) -> float:
    with cluster_for(setting) as cluster:
        send_all(cluster.endpoint, creations(cluster, names(size)))
        return done(OURS, "pages", cluster.kubeconfig, cluster.namespace)["cpu"]


def _spread(_: Setting, size: int) -> float:
    return done(OURS, "namespaces", size)["cpu"]


def _stormed(_: Setting, size: int) -> float:
    # As many Foos as are usual for so many events: both grow.
    return size / storm(OURS, size // 10, size)["rate"]


def _queued(_: Setting, size: int) -> float:
    return size / cycles(OURS, 1, size)


def _least(work: Callable[[Setting, int], float], setting: Setting, base: int) -> dict[int, float]:
    # Of several, in turn: what disturbs adds to one or another size, and a fit takes it for growth. The speed of a
    # shared machine changes within minutes.
    least = {base * step: math.inf for step in STEPS}
    for _ in range(TURNS):
        for size in least:
            least[size] = min(least[size], work(setting, size))
    return least


MEASURED: tuple[tuple[str, str, Callable[[Setting, int], float], int, int], ...] = (
    ("create", "creating Foos", _created, 250, 50),
    ("cold_start", "a cold start, its constant part included", _started, 1_000, 250),
    ("pages", "a list in pages", _listed, 2_000, 500),
    ("namespaces", "a cache of some namespaces with 100 Foos each", _spread, 50, 20),
    ("storm", "a watch storm", _stormed, 10_000, 2_500),
    ("queue", "queue cycles", _queued, 50_000, 12_500),
)


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    def measure(_: str) -> Mapping[str, float]:
        figures = {}
        for key, words, work, full, quick in MEASURED:
            setting.tell(f"growth: {words}")
            figures[key] = exponent(_least(work, setting, setting.size(full, quick)))
        return figures

    yield measure


GROWTH = Case(
    name="growth",
    words="processor time at n, 2n, 4n and 8n objects: the exponent of the power law that fits (1: proportional)",
    figures=tuple(
        Figure(key=key, unit="", words=words, limits=(Limit(1.05),), steady=False) for key, words, *_ in MEASURED
    ),
    subjects=(OURS,),
    open=_open,
    rounds=1,
)
