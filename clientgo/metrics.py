"""What the library counts, and where the counts go.

The library only names its metrics; a `Provider` keeps them. By default none is set and counting costs a no-op call.
`clientgo` never decides how metrics are served: a program sets a provider once, before it builds queues or informers.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Counter(Protocol):
    """Only goes up."""

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""


class Gauge(Protocol):
    """Goes up and down."""

    def set(self, value: float) -> None:
        """Become `value`."""

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""

    def dec(self, amount: float = 1.0) -> None:
        """Subtract `amount`."""


class Histogram(Protocol):
    """Counts observations by size."""

    def observe(self, value: float) -> None:
        """Count one observation."""


class Provider(Protocol):
    """Makes, or finds again, the metric of a name and its labels."""

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """The counter of that name and label values."""

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """The gauge of that name and label values."""

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """The histogram of that name and label values; `buckets` are upper bounds."""


class _Nothing:
    def inc(self, amount: float = 1.0) -> None: ...

    def dec(self, amount: float = 1.0) -> None: ...

    def set(self, value: float) -> None: ...

    def observe(self, value: float) -> None: ...


_NOTHING = _Nothing()


class NoMetrics:
    """The provider that keeps nothing."""

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """A counter that forgets."""
        return _NOTHING

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """A gauge that forgets."""
        return _NOTHING

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """A histogram that forgets."""
        return _NOTHING


class _Chosen:
    provider: Provider = NoMetrics()


def set_provider(provider: Provider) -> None:
    """Let metrics made from now on be kept by `provider`."""
    _Chosen.provider = provider


def provider() -> Provider:
    """The provider metrics are made by."""
    return _Chosen.provider
