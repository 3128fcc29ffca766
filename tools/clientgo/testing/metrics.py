"""Metrics provider that records everything, for tests to read.

    with recorded_metrics() as kept:
        queue = WorkQueue[str](name="foos")
        queue.add("a")
    assert kept["workqueue_adds_total", "foos"].value == 1

A metric is identified by its name and label values, in the order of the labels. Objects created in the block report
to this provider for as long as they live.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from clientgo.metrics import provider, set_provider


class RecordedMetric:
    """A recorded counter, gauge or histogram; thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.value = 0.0
        """Value of a counter, or last value of a gauge."""
        self.history: list[float] = []
        """Value after each change, in order."""
        self.observed: list[float] = []
        """Observations of a histogram."""

    def __repr__(self) -> str:
        return f"<RecordedMetric value={self.value:g} changes={len(self.history)} observed={len(self.observed)}>"

    @property
    def times(self) -> int:
        """Number of changes and observations."""
        return len(self.history) + len(self.observed)

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""
        with self._changed:
            self._become(self.value + amount)

    def dec(self, amount: float = 1.0) -> None:
        """Subtract `amount`."""
        self.inc(-amount)

    def set(self, value: float) -> None:
        """Set the value."""
        with self._changed:
            self._become(value)

    def observe(self, value: float) -> None:
        """Record an observation."""
        with self._changed:
            self.observed.append(value)
            self._changed.notify_all()

    def wait_until(self, value: float, timeout: float = 10.0) -> None:
        """Wait until the metric has that value.

        Raises:
            TimeoutError: it has another value after `timeout` real seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self.value == value, timeout):
                raise TimeoutError(f"the metric is {self.value:g}, expected {value:g}, after {timeout:g} s")

    def _become(self, value: float) -> None:
        self.value = value
        self.history.append(value)
        self._changed.notify_all()


class RecordedMetrics:
    """Metrics provider that stores metrics by name and label values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.metrics: dict[tuple[str, ...], RecordedMetric] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        """Label names of each metric."""
        self.buckets: dict[str, tuple[float, ...]] = {}
        """Upper bounds of each histogram."""

    def __getitem__(self, key: str | tuple[str, ...]) -> RecordedMetric:
        return self.metrics[(key,) if isinstance(key, str) else key]

    def __contains__(self, key: str | tuple[str, ...]) -> bool:
        return ((key,) if isinstance(key, str) else key) in self.metrics

    def series(self, name: str) -> dict[tuple[str, ...], RecordedMetric]:
        """Return all metrics of that name, by label values."""
        return {key[1:]: metric for key, metric in self.metrics.copy().items() if key[0] == name}

    def times(self, name: str) -> dict[tuple[str, ...], int]:
        """Return the number of changes of each metric of that name, by label values."""
        return {labels: metric.times for labels, metric in self.series(name).items()}

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> RecordedMetric:
        """Return the metric of that name and label values.

        Raises:
            ValueError: the help text is missing, or the labels differ from before.
        """
        if not help_text:
            raise ValueError(f"the metric {name} needs a help text")
        with self._lock:
            names = self.labels.setdefault(name, tuple(labels))
            if names != tuple(labels):
                raise ValueError(f"the metric {name} has the labels {names}, got {tuple(labels)}")
            return self.metrics.setdefault((name, *labels.values()), RecordedMetric())

    gauge = counter

    def histogram(
        self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]
    ) -> RecordedMetric:
        """Return the metric of that name and label values.

        Raises:
            ValueError: the buckets are not sorted, or as for a counter.
        """
        if list(buckets) != sorted(set(buckets)):
            raise ValueError(f"the buckets of the metric {name} must be sorted and distinct: {list(buckets)}")
        self.buckets[name] = tuple(buckets)
        return self.counter(name, help_text, labels)


@contextmanager
def recorded_metrics() -> Iterator[RecordedMetrics]:
    """Record the metrics of everything that is created in the block."""
    before, recorded = provider(), RecordedMetrics()
    set_provider(recorded)
    try:
        yield recorded
    finally:
        set_provider(before)
