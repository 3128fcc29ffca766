"""Metrics provider, and the exported page read by a real parser."""

import gzip
from collections.abc import Callable, Iterable, Iterator

import pytest
from prometheus_client import CollectorRegistry, Summary
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from clientgo import metrics
from clientgo.serving import Response, ServingRequest
from clientgo.serving.prometheus import OPENMETRICS, TEXT, PrometheusProvider, metrics_route
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import WorkQueue

# The one parser without types.
parse_openmetrics: Callable[[str], Iterable[Metric]] = openmetrics


@pytest.fixture
def provider() -> Iterator[PrometheusProvider]:
    """Set the provider for the duration of a test."""
    before = metrics.provider()
    prometheus_provider: metrics.Provider = PrometheusProvider(process=False)
    metrics.set_provider(prometheus_provider)
    assert isinstance(prometheus_provider, PrometheusProvider)
    yield prometheus_provider
    metrics.set_provider(before)


def scrape(prometheus_provider: PrometheusProvider, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return metrics_route(prometheus_provider.registry)(ServingRequest("GET", "/metrics", headers=named))


def text_of(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value for family in parse_text(text) for sample in family.samples
    }


def test_counted_metrics_are_exported(provider: PrometheusProvider) -> None:
    provider.counter("things_total", "Things", {"kind": "a"}).inc()
    provider.counter("things_total", "Things", {"kind": "a"}).inc(2)
    provider.gauge("level", "The level", {}).set(4.5)
    provider.histogram("wait_seconds", "Waits", {"kind": "a"}, buckets=(1, 10)).observe(3)
    response = scrape(provider)
    assert response.content_type == TEXT
    assert samples(text_of(response)) == {
        ("things_total", "a"): 3.0,
        ("level",): 4.5,
        ("wait_seconds_bucket", "a", "1.0"): 0.0,
        ("wait_seconds_bucket", "a", "10.0"): 1.0,
        ("wait_seconds_bucket", "a", "+Inf"): 1.0,
        ("wait_seconds_count", "a"): 1.0,
        ("wait_seconds_sum", "a"): 3.0,
    }


def test_created_series_are_dropped_but_not_metrics_with_that_suffix() -> None:
    registry = CollectorRegistry()
    prometheus_provider = PrometheusProvider(registry, process=False)
    prometheus_provider.counter("things_total", "Things", {}).inc()
    prometheus_provider.histogram("wait_seconds", "Waits", {}, buckets=(1,)).observe(0)
    prometheus_provider.gauge("pod_created", "When the pod was made", {}).set(1)
    Summary("size_bytes", "Sizes", registry=registry).observe(1)
    names = {sample.name for family in parse_text(text_of(scrape(prometheus_provider))) for sample in family.samples}
    assert {name for name in names if name.endswith("_created")} == {"pod_created"}


def test_metrics_of_further_registries_are_exported_unless_their_name_is_taken() -> None:
    first, second = CollectorRegistry(), CollectorRegistry()
    for value, registry in ((1, first), (2, second)):
        PrometheusProvider(registry, process=False).gauge("level", "The level", {}).set(value)
    PrometheusProvider(second, process=False).counter("mine_total", "Things", {}).inc()
    page = metrics_route(first, second)(ServingRequest("GET", "/metrics"))
    assert samples(text_of(page)) == {("level",): 1.0, ("mine_total",): 1.0}


def test_openmetrics_is_used_if_accepted(provider: PrometheusProvider) -> None:
    provider.counter("things_total", "Things", {}).inc()
    response = scrape(
        provider, accept="application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"
    )
    assert response.content_type == OPENMETRICS
    [family] = parse_openmetrics(text_of(response))
    assert (family.name, family.type, family.samples[0].value) == ("things", "counter", 1.0)


def test_large_page_is_compressed_if_accepted() -> None:
    prometheus_provider = PrometheusProvider()
    prometheus_provider.counter("things_total", "Things", {}).inc()
    packed = scrape(prometheus_provider, accept_encoding="br, gzip;q=1.0")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert isinstance(packed.body, bytes)
    assert "things_total 1.0\n" in gzip.decompress(packed.body).decode()
    assert "Content-Encoding" not in scrape(prometheus_provider).headers


def test_small_page_is_not_compressed(provider: PrometheusProvider) -> None:
    provider.gauge("level", "The level", {}).set(1)
    assert "Content-Encoding" not in scrape(provider, accept_encoding="gzip").headers


def test_process_and_python_metrics_are_exported() -> None:
    names = {family.name for family in parse_text(text_of(scrape(PrometheusProvider())))}
    assert {"process_resident_memory_bytes", "process_cpu_seconds", "python_info"} < names
    assert "python_gc_collections" in names


@pytest.mark.parametrize("labels", [{}, {"other": "a"}, {"kind": "a", "more": "b"}])
def test_other_labels_under_one_name_are_rejected(provider: PrometheusProvider, labels: dict[str, str]) -> None:
    provider.counter("things_total", "Things", {"kind": "a"})
    with pytest.raises(ValueError, match="metric 'things_total' has the labels kind, got"):
        provider.counter("things_total", "Things", labels)


def test_the_order_of_labels_does_not_matter(provider: PrometheusProvider) -> None:
    provider.gauge("level", "The level", {"a": "1", "b": "2"}).set(1)
    provider.gauge("level", "The level", {"b": "2", "a": "1"}).inc()
    assert samples(text_of(scrape(provider))) == {("level", "1", "2"): 2.0}


def test_one_name_is_one_metric(provider: PrometheusProvider) -> None:
    provider.gauge("level", "The level", {})
    with pytest.raises(ValueError, match="level"):
        provider.histogram("level", "The level", {}, buckets=(1,))


def test_rejected_name_leaves_no_metric(provider: PrometheusProvider) -> None:
    with pytest.raises(ValueError, match="must end in _total"):
        provider.counter("things", "Things", {})
    assert text_of(scrape(provider)) == ""


@pytest.mark.feature("A-23")
def test_queue_metrics_are_updated_before_a_scrape(provider: PrometheusProvider) -> None:
    clock = FakeClock()
    queue: WorkQueue[str] = WorkQueue(name="foos", clock=clock)
    queue.add("a")
    queue.get()
    clock.step(7)
    rendered = samples(text_of(scrape(provider)))
    queue.shut_down()
    assert rendered["workqueue_unfinished_work_seconds", "foos"] == 7.0
    assert rendered["workqueue_adds_total", "foos"] == 1.0
