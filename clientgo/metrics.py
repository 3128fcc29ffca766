"""Metrics interface: the library names its metrics, and a `Provider` set by the program stores and serves them.

Set the provider once, before creating queues or informers. By default there is none, and each update is a no-op call.
A provider of the program that raises loses values and does not affect what is measured.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger

log = get_logger(__name__)


class Counter(Protocol):
    """Metric that only increases."""

    def inc(self, amount: float = 1.0) -> None:
        """Add `amount`."""


class Gauge(Counter, Protocol):
    """Metric that can be set, increased and decreased."""

    def set(self, value: float) -> None:
        """Set the value."""

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


class _GuardedMetric:
    """Metric of a provider that may raise; the first failure is logged."""

    def __init__(self, name: str, metric: object) -> None:
        self._name, self._metric, self._failed = name, metric, False

    def inc(self, *amount: float) -> None:
        self._update("inc", *amount)

    def dec(self, *amount: float) -> None:
        self._update("dec", *amount)

    def set(self, value: float) -> None:
        self._update("set", value)

    def observe(self, value: float) -> None:
        self._update("observe", value)

    def _update(self, method: str, *values: float) -> None:
        try:
            run_callback(lambda: getattr(self._metric, method)(*values))
        except CallbackFailed as error:
            if not self._failed:
                self._failed = True
                log.error("metrics provider failed; value lost", extra={"metric": self._name, "err": error})


class _GuardedProvider:
    """Provider that may raise: metrics that it does not create have no effect."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        return self._created(name, lambda: self._provider.counter(name, help_text, labels))

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        return self._created(name, lambda: self._provider.gauge(name, help_text, labels))

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        return self._created(name, lambda: self._provider.histogram(name, help_text, labels, buckets=buckets))

    def _created(self, name: str, create: Callable[[], object]) -> "_GuardedMetric | _Nothing":
        try:
            return _GuardedMetric(name, run_callback(create))
        except CallbackFailed as error:
            log.error("metrics provider failed; metric not recorded", extra={"metric": name, "err": error})
            return _NOTHING


def guarded(provider: Provider) -> Provider:
    """Return a provider that never raises: a wrapper, except for the library's own classes."""
    is_own = type(provider).__module__.partition(".")[0] == "clientgo"
    return provider if is_own else _GuardedProvider(provider)


class _Chosen:
    provider: Provider = NoMetrics()
    guarded: Provider = provider


def set_provider(provider: Provider) -> None:
    """Set the provider of metrics that are created from now on."""
    _Chosen.provider, _Chosen.guarded = provider, guarded(provider)


def provider() -> Provider:
    """Return the current provider."""
    return _Chosen.provider


def safe_provider() -> Provider:
    """Return the current provider, guarded: what the library uses for its own metrics."""
    return _Chosen.guarded
