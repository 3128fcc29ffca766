"""Metrics kept by prometheus-client, and the page that shows them.

Importing this takes up to a tenth of a second; a program that serves no metrics leaves it alone.
"""

import gzip
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Route
from clientgo.workqueue.metrics import update_unfinished_work

# The one function of prometheus-client without types.
_openmetrics: Callable[[Collector], bytes] = openmetrics

M = TypeVar("M", Counter, Gauge, Histogram)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_WORTH_PACKING = 1024
"""Bytes below which a smaller page would not be worth the time."""


class PrometheusProvider:
    """Keeps the library's metrics, and a program's own, in a registry; implements `clientgo.metrics.Provider`.

    With `process` the registry also tells of the process, of Python and of its garbage collector.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, process: bool = True) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._lock = threading.Lock()
        self._counters: dict[str, _Family[Counter]] = {}
        self._gauges: dict[str, _Family[Gauge]] = {}
        self._histograms: dict[str, _Family[Histogram]] = {}
        if process:
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=self.registry)

    def __repr__(self) -> str:
        return f"<PrometheusProvider {len(self._counters) + len(self._gauges) + len(self._histograms)} metrics>"

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """The counter of that name and label values.

        Raises:
            ValueError: the name does not end in `_total`, is used otherwise, or has other labels.
        """
        if not name.endswith("_total"):
            raise ValueError(f"the counter {name!r} must end in _total: it would be shown under another name")
        return self._get(self._counters, name, labels, lambda names: Counter(name, help_text, names, registry=None))

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """The gauge of that name and label values.

        Raises:
            ValueError: the name is used otherwise, or has other labels.
        """
        return self._get(self._gauges, name, labels, lambda names: Gauge(name, help_text, names, registry=None))

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """The histogram of that name and label values; the first to name it decides on the buckets.

        Raises:
            ValueError: the name is used otherwise, or has other labels.
        """
        return self._get(
            self._histograms,
            name,
            labels,
            lambda names: Histogram(name, help_text, names, buckets=buckets, registry=None),
        )

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
                # Refuses a name that another metric has, be it one of another type or somebody else's.
                self.registry.register(family.metric)
                families[name] = family
        if family.labels != labels.keys():
            has, asked = ", ".join(sorted(family.labels)) or "none", ", ".join(sorted(labels)) or "none"
            raise ValueError(f"the metric {name!r} has the labels {has}; it was asked for with {asked}")
        return family.metric.labels(**labels) if labels else family.metric


@dataclass(frozen=True, slots=True)
class _Family(Generic[M]):
    metric: M
    labels: frozenset[str]


def metrics_route(registry: Collector, *, before: Iterable[Callable[[], object]] = (update_unfinished_work,)) -> Route:
    """Shows the registry's metrics in the text format, or in OpenMetrics to whom prefers it; packed if wanted.

    `before` is called before each scrape: what has to be measured in that moment. By default that is the work queues'.
    """

    def show(request: ServingRequest) -> Response:
        for update in before:
            update()
        accepts_openmetrics = "application/openmetrics-text" in request.headers.get("accept", "")
        shown = _Shown(registry)
        response = (
            Response(200, _openmetrics(shown), OPENMETRICS)
            if accepts_openmetrics
            else Response(200, generate_latest(shown), TEXT)
        )
        return _packed(response.with_header("Vary", "Accept, Accept-Encoding"), request)

    return Route(show)


class _Shown:
    """A registry without the time series that tell when others were made.

    They double the series of every counter, and no dashboard asks for them. They are left out here, and not switched
    off in prometheus-client, which could be done for the whole process only.
    """

    def __init__(self, registry: Collector) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            created = f"{metric.name}_created"
            metric.samples = [sample for sample in metric.samples if sample.name != created]
            yield metric


def _packed(response: Response, request: ServingRequest) -> Response:
    wanted = [part.split(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")]
    body = response.body if isinstance(response.body, bytes) else response.body.encode()
    if "gzip" not in wanted or len(body) < _WORTH_PACKING:
        return response
    # The fastest level: of such a page it leaves a tenth, and the best one only a little less, for five times the work.
    return replace(response, body=gzip.compress(body, compresslevel=1)).with_header("Content-Encoding", "gzip")
