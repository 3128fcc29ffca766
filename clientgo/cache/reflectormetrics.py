"""What a reflector counts; nothing if the provider keeps nothing.

The names are those client-go's reflectors had; that of the failures is ours, for client-go has none.
"""

from clientgo.metrics import NoMetrics, Provider, provider

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 300.0, 600.0)
_ITEMS = (0.0, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0, 10_000.0, 100_000.0)

_DIGITS = 15
"""As many of a version's last digits as a float holds exactly."""


def version_number(version: str) -> float:
    """A version as a gauge can show it: the number in its last 15 digits; 0 for none, or for what is no number."""
    tail = version[-_DIGITS:]
    return float(tail) if tail.isascii() and tail.isdigit() else 0.0


class ReflectorMetrics:
    """The metrics of one reflector."""

    def __init__(self, name: str, kept_by: Provider) -> None:
        labels = {"name": name}
        self._name = name
        self._kept_by = kept_by
        self._lists = kept_by.counter("reflector_lists_total", "Lists asked for, streamed ones included", labels)
        self._list_seconds = kept_by.histogram(
            "reflector_list_duration_seconds", "How long lists took to come and be decoded", labels, buckets=_SECONDS
        )
        self._list_items = kept_by.histogram(
            "reflector_items_per_list", "How many objects a list had", labels, buckets=_ITEMS
        )
        self._watches = kept_by.counter("reflector_watches_total", "Watches asked for, streamed lists included", labels)
        self._short = kept_by.counter("reflector_short_watches_total", "Watches that ended as soon as opened", labels)
        self._watch_seconds = kept_by.histogram(
            "reflector_watch_duration_seconds", "How long watches lasted", labels, buckets=_SECONDS
        )
        self._watch_items = kept_by.histogram(
            "reflector_items_per_watch", "How many events a watch had", labels, buckets=_ITEMS
        )
        self._last = kept_by.gauge("reflector_last_resource_version", "Last resourceVersion seen", labels)

    def listing(self) -> None:
        """A list is asked for."""
        self._lists.inc()

    def listed(self, seconds: float, items: int) -> None:
        """It came."""
        self._list_seconds.observe(seconds)
        self._list_items.observe(items)

    def reached(self, version: str) -> None:
        """A list, a bookmark or a watch's end tells how far the server is."""
        self._last.set(version_number(version))

    def watching(self) -> None:
        """A watch is asked for."""
        self._watches.inc()

    def watched(self, seconds: float, events: int, version: str, *, short: bool) -> None:
        """It ended."""
        self._watch_seconds.observe(seconds)
        self._watch_items.observe(events)
        self.reached(version)
        if short:
            self._short.inc()

    def failed(self, error: Exception) -> None:
        """A list or a watch failed; counted by the class of the error, because its words have no bound."""
        labels = {"name": self._name, "error": type(error).__name__}
        self._kept_by.counter("reflector_failures_total", "Lists and watches that failed, by error", labels).inc()


def reflector_metrics(name: str) -> ReflectorMetrics | None:
    """The metrics of a reflector; None where nobody keeps any."""
    kept_by = provider()
    return None if isinstance(kept_by, NoMetrics) else ReflectorMetrics(name, kept_by)
