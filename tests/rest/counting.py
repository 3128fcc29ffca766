"""A metrics provider that keeps what it is given."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from clientgo import metrics


class Counting:
    """Keeps every value, by metric name and label values; and the labels' names."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, tuple[str, ...]], list[float]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> "Kept":
        self.labels[name] = tuple(labels)
        return Kept(self.seen.setdefault((name, tuple(labels.values())), []))

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> "Kept":
        return self.counter(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> "Kept":
        assert list(buckets) == sorted(buckets)
        return self.counter(name, help_text, labels)

    def counts(self, name: str) -> dict[tuple[str, ...], int]:
        """How many values each series of one metric was given, by its label values."""
        return {labels: len(values) for (own, labels), values in self.seen.items() if own == name}


class Kept:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def inc(self, amount: float = 1.0) -> None:
        self.values.append(amount)

    dec = set = observe = inc


@contextmanager
def counting() -> Iterator[Counting]:
    """What is built inside the block is counted, for as long as it lives."""
    kept, before = Counting(), metrics.provider()
    metrics.set_provider(kept)
    try:
        yield kept
    finally:
        metrics.set_provider(before)
