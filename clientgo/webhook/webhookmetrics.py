"""How often, how fast and how well webhooks answer, under the names controller-runtime's dashboards know."""

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import Counter, provider

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds. The last is an API server's default patience."""

_FROM_THE_START = ("200", "500")


class WebhookMetrics:
    """Counts the requests to one webhook, by its path; made after the program has chosen a provider."""

    def __init__(self, path: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        name, self._labels = "controller_runtime_webhook_", {"webhook": path}
        self._clock = clock
        self._name, self._provider = name, provider()
        # Series from the start, so that rates begin at zero.
        self._codes = {code: self._counter(code) for code in _FROM_THE_START}
        self._in_flight = self._provider.gauge(
            f"{name}requests_in_flight", "Admission requests that are being answered", self._labels
        )
        self._seconds = self._provider.histogram(
            f"{name}latency_seconds", "How long admission requests took", self._labels, buckets=BUCKETS
        )
        self._panics = self._provider.counter(f"{name}panics_total", "Admission requests that failed by a bug", {})

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Measure what happens in the block as one request."""
        began = self._clock.now()
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()
            self._seconds.observe(self._clock.now() - began)

    def answered(self, code: int) -> None:
        """A request was answered with this HTTP status."""
        text = str(code)
        if text not in self._codes:
            # Two threads may both make it: a provider finds the same again.
            self._codes[text] = self._counter(text)
        self._codes[text].inc()

    def failed(self) -> None:
        """A handler had a bug."""
        self._panics.inc()

    def _counter(self, code: str) -> Counter:
        labels = {**self._labels, "code": code}
        return self._provider.counter(f"{self._name}requests_total", "Admission requests, by HTTP status", labels)
