"""Metrics provider for prometheus-client, and the route that exports them.

Importing this module takes up to a tenth of a second; programs without metrics do not import it.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.registry import Collector

from clientgo.internal.forks import fork_safe
from clientgo.serving.compression import compressed
from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Route
from clientgo.workqueue.metrics import update_unfinished_work

# The only function of prometheus-client without types.
_openmetrics: Callable[[Collector], bytes] = openmetrics

M = TypeVar("M", Counter, Gauge, Histogram)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class PrometheusProvider:
    """Keeps the library's metrics, and a program's own, in a registry; implements `clientgo.metrics.Provider`.

    With `process` the registry also has metrics of the process, of Python and of its garbage collector.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, process: bool = True) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._lock = fork_safe(threading.Lock())
        self._counters: dict[str, _Family[Counter]] = {}
        self._gauges: dict[str, _Family[Gauge]] = {}
        self._histograms: dict[str, _Family[Histogram]] = {}
        if process:
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=self.registry)

    def __repr__(self) -> str:
        return f"<PrometheusProvider {len(self._counters) + len(self._gauges) + len(self._histograms)} metrics>"

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """Return the counter of that name and label values.

        Raises:
            ValueError: the name does not end in `_total`, belongs to another metric, or has other labels.
        """
        if not name.endswith("_total"):
            raise ValueError(f"counter {name!r} must end in _total; otherwise it would be exported under another name")
        return self._get(self._counters, name, labels, lambda names: Counter(name, help_text, names, registry=None))

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """Return the gauge of that name and label values.

        Raises:
            ValueError: the name belongs to another metric, or has other labels.
        """
        return self._get(self._gauges, name, labels, lambda names: Gauge(name, help_text, names, registry=None))

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """Return the histogram of that name and label values; the first call determines the buckets.

        Raises:
            ValueError: the name belongs to another metric, or has other labels.
        """
        return self._get(
            self._histograms,
            name,
            labels,
            lambda names: Histogram(name, help_text, names, buckets=buckets, registry=None),
        )

    def counts(self, name: str) -> list[tuple[Mapping[str, str], float]]:
        """Return the labels and values of a counter; none if it does not exist yet."""
        with self._lock:
            family = self._counters.get(name)
        metrics = family.metric.collect() if family is not None else ()
        return [(sample.labels, sample.value) for metric in metrics for sample in metric.samples if sample.name == name]

    def _get(
        self,
        families: "dict[str, _Family[M]]",
        name: str,
        labels: Mapping[str, str],
        make: Callable[[tuple[str, ...]], M],
    ) -> M:
        with self._lock:
            family = families.get(name)
            if family is None:
                family = _Family(make(tuple(labels)), frozenset(labels))
                # Raises if any other metric in the registry has the name.
                self.registry.register(family.metric)
                families[name] = family
        if family.labels != labels.keys():
            has, requested = ", ".join(sorted(family.labels)) or "none", ", ".join(sorted(labels)) or "none"
            raise ValueError(f"metric {name!r} has the labels {has}, got {requested}")
        return family.metric.labels(**labels) if labels else family.metric


@dataclass(frozen=True, slots=True)
class _Family(Generic[M]):
    metric: M
    labels: frozenset[str]


def metrics_route(*registries: Collector, before: Iterable[Callable[[], object]] = (update_unfinished_work,)) -> Route:
    """Return the route of the metrics, in text format or OpenMetrics, compressed if the client accepts gzip.

    Of metrics with the same name the first registry's is exported. `before` are called before each scrape, to update
    metrics measured at that moment; by default those of work queues.
    """

    def show(request: ServingRequest) -> Response:
        for update in before:
            update()
        accepts_openmetrics = "application/openmetrics-text" in request.headers.get("accept", "")
        exported = _Exported(registries)
        response = (
            Response(200, _openmetrics(exported), OPENMETRICS)
            if accepts_openmetrics
            else Response(200, generate_latest(exported), TEXT)
        )
        return compressed(response.with_header("Vary", "Accept, Accept-Encoding"), request)

    return Route(show)


class _Exported:
    """Union of registries, without the `_created` series.

    These double the series of every counter, and no dashboard uses them. They are filtered here, because
    prometheus-client can disable them only for the whole process.
    """

    def __init__(self, registries: Sequence[Collector]) -> None:
        self._registries = registries

    def collect(self) -> Iterable[Metric]:
        # A page with two metrics of one name is invalid, and each registry has metrics of the process.
        exported: set[str] = set()
        for registry in self._registries:
            metrics = [metric for metric in registry.collect() if metric.name not in exported]
            exported.update(metric.name for metric in metrics)
            for metric in metrics:
                created = f"{metric.name}_created"
                metric.samples = [sample for sample in metric.samples if sample.name != created]
                yield metric
