"""A metrics provider that keeps everything, for tests to read.

    with recorded_metrics() as kept:
        queue = WorkQueue[str](name="foos")
        queue.add("a")
    assert kept["workqueue_adds_total", "foos"].value == 1

A metric is found by its name and the values of its labels, in the labels' order. What is built inside the block counts
there for as long as it lives.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from clientgo.metrics import provider, set_provider


class RecordedMetric:
    """A counter, gauge or histogram, and all that became of it; safe to change from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.value = 0.0
        """What a counter has come to, or a gauge was set to last."""
        self.history: list[float] = []
        """The value after each change, first to last."""
        self.observed: list[float] = []
        """What a histogram was given."""

    def __repr__(self) -> str:
        return f"<RecordedMetric value={self.value:g} changes={len(self.history)} observed={len(self.observed)}>"

    @property
    def times(self) -> int:
        """How often it was changed or given something."""
        return len(self.history) + len(self.observed)

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""
        with self._changed:
            self._become(self.value + amount)

    def dec(self, amount: float = 1.0) -> None:
        """Subtract `amount`."""
        self.inc(-amount)

    def set(self, value: float) -> None:
        """Become `value`."""
        with self._changed:
            self._become(value)

    def observe(self, value: float) -> None:
        """Keep one observation."""
        with self._changed:
            self.observed.append(value)
            self._changed.notify_all()

    def wait_until(self, value: float, timeout: float = 10.0) -> None:
        """Wait until it has that value, in real seconds.

        Raises:
            TimeoutError: it has not got there, and what it is instead.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self.value == value, timeout):
                raise TimeoutError(f"the metric is {self.value:g}, not {value:g}, after {timeout:g} s")

    def _become(self, value: float) -> None:
        self.value = value
        self.history.append(value)
        self._changed.notify_all()


class RecordedMetrics:
    """The provider: metrics by name and label values. A histogram's buckets must grow; none is made without help."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.metrics: dict[tuple[str, ...], RecordedMetric] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        """The names of each metric's labels."""
        self.buckets: dict[str, tuple[float, ...]] = {}
        """The upper bounds of each histogram."""

    def __getitem__(self, key: str | tuple[str, ...]) -> RecordedMetric:
        return self.metrics[(key,) if isinstance(key, str) else key]

    def __contains__(self, key: str | tuple[str, ...]) -> bool:
        return ((key,) if isinstance(key, str) else key) in self.metrics

    def series(self, name: str) -> dict[tuple[str, ...], RecordedMetric]:
        """All metrics of that name, by the values of their labels."""
        return {key[1:]: metric for key, metric in self.metrics.items() if key[0] == name}

    def times(self, name: str) -> dict[tuple[str, ...], int]:
        """How often each metric of that name was changed or given something, by the values of its labels."""
        return {labels: metric.times for labels, metric in self.series(name).items()}

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> RecordedMetric:
        """The metric of that name and label values.

        Raises:
            ValueError: it has no help, or other labels than before.
        """
        if not help_text:
            raise ValueError(f"the metric {name} needs a help text")
        with self._lock:
            names = self.labels.setdefault(name, tuple(labels))
            if names != tuple(labels):
                raise ValueError(f"the metric {name} has labels {names}, and is asked for with {tuple(labels)}")
            return self.metrics.setdefault((name, *labels.values()), RecordedMetric())

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> RecordedMetric:
        """The metric of that name and label values."""
        return self.counter(name, help_text, labels)

    def histogram(
        self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]
    ) -> RecordedMetric:
        """The metric of that name and label values.

        Raises:
            ValueError: the buckets do not grow, or as for a counter.
        """
        if list(buckets) != sorted(set(buckets)):
            raise ValueError(f"the buckets of the metric {name} must grow: {list(buckets)}")
        self.buckets[name] = tuple(buckets)
        return self.counter(name, help_text, labels)


@contextmanager
def recorded_metrics() -> Iterator[RecordedMetrics]:
    """A provider that everything made in the block counts with."""
    before, recorded = provider(), RecordedMetrics()
    set_provider(recorded)
    try:
        yield recorded
    finally:
        set_provider(before)
