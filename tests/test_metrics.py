"""Metrics provider of the program, and the default without effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from clientgo import metrics
from clientgo.metrics import Counter, Gauge, Histogram, NoMetrics, Provider
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import PriorityQueue


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
    provider = metrics.provider()
    assert isinstance(provider, NoMetrics)
    provider.counter("a", "h", {}).inc()
    gauge = provider.gauge("a", "h", {})
    gauge.set(1.0)
    gauge.inc(2.0)
    gauge.dec()
    provider.histogram("a", "h", {}, buckets=[1.0]).observe(0.5)


def test_provider_is_used_after_it_is_set() -> None:
    named: Provider = Named()
    metrics.set_provider(named)
    assert metrics.provider() is named
    metrics.provider().counter("workqueue_adds_total", "h", {"name": "foos"}).inc()
    assert isinstance(named, Named)
    assert named.asked == [("workqueue_adds_total", {"name": "foos"})]


class Failing:
    """A metric and a provider whose methods fail from some call on."""

    def __init__(self, *, calls: int) -> None:
        self.left = calls

    def _call(self, *_: object, **__: object) -> "Failing":
        self.left -= 1
        if self.left < 0:
            raise SystemExit("out of memory")
        return self

    inc = dec = set = observe = counter = gauge = histogram = _call


@pytest.mark.parametrize("calls", [0, 3, 20])
def test_provider_that_raises_loses_values_and_no_key_of_a_queue(calls: int, caplog: pytest.LogCaptureFixture) -> None:
    failing: Any = Failing(calls=calls)
    metrics.set_provider(failing)
    queue, used = PriorityQueue[int](name="foos", clock=FakeClock()), []
    for key in range(20):
        queue.add(key)
    while len(queue):
        with queue.processing() as key:
            used.append(key)
    assert sorted(used) == list(range(20))
    assert repr(queue) == "<PriorityQueue 'foos' 0 ready, 0 processing, 0 delayed>"
    # The first failure of each metric, not one line for each key.
    assert 0 < len(caplog.records) < 12
    assert {record.name for record in caplog.records} == {"clientgo.metrics"}
