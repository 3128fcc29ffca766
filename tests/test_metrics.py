"""Metrics provider of the program, and the default without effect."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from clientgo import metrics
from clientgo.metrics import Counter, Gauge, Histogram, NoMetrics, Provider


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = metrics.provider()
    yield
    metrics.set_provider(before)


class Named:
    """A provider that remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        self.nothing = NoMetrics()

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        self.asked.append((name, labels))
        return self.nothing.counter(name, help_text, labels)

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        self.asked.append((name, labels))
        return self.nothing.gauge(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        self.asked.append((name, labels))
        return self.nothing.histogram(name, help_text, labels, buckets=buckets)


def test_default_provider_has_no_effect() -> None:
    kept_by = metrics.provider()
    assert isinstance(kept_by, NoMetrics)
    kept_by.counter("a", "h", {}).inc()
    gauge = kept_by.gauge("a", "h", {})
    gauge.set(1.0)
    gauge.inc(2.0)
    gauge.dec()
    kept_by.histogram("a", "h", {}, buckets=[1.0]).observe(0.5)


def test_provider_is_used_after_it_is_set() -> None:
    named: Provider = Named()
    metrics.set_provider(named)
    assert metrics.provider() is named
    metrics.provider().counter("workqueue_adds_total", "h", {"name": "foos"}).inc()
    assert isinstance(named, Named)
    assert named.asked == [("workqueue_adds_total", {"name": "foos"})]
