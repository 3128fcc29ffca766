"""Metrics interface: the library names its metrics, and a `Provider` set by the program stores and serves them.

Set the provider once, before creating queues or informers. By default there is none, and each update is a no-op call.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Counter(Protocol):
    """Metric that only increases."""

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""


class Gauge(Protocol):
    """Metric that can be set, increased and decreased."""

    def set(self, value: float) -> None:
        """Set the value."""

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""

    def dec(self, amount: float = 1.0) -> None:
        """Subtract `amount`."""


class Histogram(Protocol):
    """Counts of observations by value."""

    def observe(self, value: float) -> None:
        """Count one observation."""


class Provider(Protocol):
    """Registry of metrics; returns the same metric for the same name and labels."""

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """Return the counter of that name and labels."""

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """Return the gauge of that name and labels."""

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """Return the histogram of that name and labels; `buckets` are upper bounds."""


class _Nothing:
    def inc(self, amount: float = 1.0) -> None: ...

    def dec(self, amount: float = 1.0) -> None: ...

    def set(self, value: float) -> None: ...

    def observe(self, value: float) -> None: ...


_NOTHING = _Nothing()


class NoMetrics:
    """Provider of metrics without effect."""

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """Return a counter without effect."""
        return _NOTHING

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """Return a gauge without effect."""
        return _NOTHING

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """Return a histogram without effect."""
        return _NOTHING


class _Chosen:
    provider: Provider = NoMetrics()


def set_provider(provider: Provider) -> None:
    """Set the provider of metrics that are created from now on."""
    _Chosen.provider = provider


def provider() -> Provider:
    """Return the current provider."""
    return _Chosen.provider
