"""A metrics provider that keeps everything, for tests to read."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from clientgo.metrics import provider, set_provider


class Kept:
    """One metric: what it counts up to or was set to, and what was observed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.value = 0.0
        self.observed: list[float] = []

    def inc(self, amount: float = 1.0) -> None:
        self.value += amount

    def dec(self, amount: float = 1.0) -> None:
        self.value -= amount

    def set(self, value: float) -> None:
        with self._changed:
            self.value = value
            self._changed.notify_all()

    def wait_until_set_to(self, value: float, timeout: float = 10.0) -> None:
        """Wait, in real seconds; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.value == value, timeout):
                raise TimeoutError(f"the metric was set to {self.value}, not to {value}")

    def observe(self, value: float) -> None:
        self.observed.append(value)


class KeepingProvider:
    """Metrics by name and the values of their labels."""

    def __init__(self) -> None:
        self.metrics: dict[tuple[str, ...], Kept] = {}

    def __getitem__(self, key: tuple[str, ...]) -> Kept:
        return self.metrics[key]

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Kept:
        return self.metrics.setdefault((name, *labels.values()), Kept())

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Kept:
        return self.counter(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Kept:
        assert list(buckets) == sorted(set(buckets))
        return self.counter(name, help_text, labels)


@contextmanager
def kept_metrics() -> Iterator[KeepingProvider]:
    """A provider that everything made in the block counts with."""
    before, keeping = provider(), KeepingProvider()
    set_provider(keeping)
    try:
        yield keeping
    finally:
        set_provider(before)
