"""How many keys of each priority wait for a worker (controller-runtime's `workqueue_depth` with the label priority)."""

from collections.abc import Iterable, Mapping, Sequence

from clientgo.metrics import Counter, Gauge, Histogram, NoMetrics, Provider
from clientgo.workqueue.metrics import DEPTH, DEPTH_HELP

_NOWHERE = NoMetrics()


class Depths:
    """The depth of one queue by priority; called under the queue's lock. `shown` have a series from the start."""

    def __init__(self, name: str, kept_by: Provider, *, shown: Iterable[int] = ()) -> None:
        self._name = name
        self._kept_by = kept_by
        self._gauges: dict[int, Gauge] = {}
        for priority in shown:
            self._gauge(priority).set(0)

    @classmethod
    def of(cls, name: str, kept_by: Provider, *, shown: Iterable[int] = ()) -> "Depths | None":
        """The depths of a queue; None if it has no name, or if the provider keeps nothing."""
        return None if not name or isinstance(kept_by, NoMetrics) else cls(name, kept_by, shown=shown)

    def moved(self, before: int | None, after: int) -> None:
        """A key that waits has another priority now; None before if it did not wait."""
        if before is not None:
            self._gauge(before).dec()
        self._gauge(after).inc()

    def left(self, priority: int) -> None:
        """A key of that priority was handed out."""
        self._gauge(priority).dec()

    def _gauge(self, priority: int) -> Gauge:
        found = self._gauges.get(priority)
        if found is None:
            labels = {"name": self._name, "priority": str(priority)}
            found = self._gauges[priority] = self._kept_by.gauge(DEPTH, DEPTH_HELP, labels)
        return found


class WithoutDepth:
    """Keeps every metric but the depth, which a queue counts itself: in a sum it would be there twice."""

    def __init__(self, kept_by: Provider) -> None:
        self._kept_by = kept_by

    @classmethod
    def of(cls, kept_by: Provider) -> Provider:
        """The same provider, but for that; itself if it keeps nothing anyway."""
        return kept_by if isinstance(kept_by, NoMetrics) else cls(kept_by)

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """The counter of that name and label values."""
        return self._kept_by.counter(name, help_text, labels)

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """The gauge of that name and label values."""
        kept_by: Provider = _NOWHERE if name == DEPTH else self._kept_by
        return kept_by.gauge(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """The histogram of that name and label values; `buckets` are upper bounds."""
        return self._kept_by.histogram(name, help_text, labels, buckets=buckets)
