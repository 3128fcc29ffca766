"""Metrics and log of reflectors, and metrics of informers, with the names used by Kubernetes' components.

An informer has metrics only with an `InformerName`: two informers with the same labels would overwrite each other's
values. A name is unique in the process and gives each resource one identity, until it is released. The name of
`reflector_failures_total` is ours; client-go has no such metric.
"""

import logging
import threading
from collections.abc import Callable

from clientgo.clock import Clock
from clientgo.errors import CallbackFailed, ClientGoError, Forbidden, NotFound, TooManyRequests
from clientgo.internal.callbacks import describe_error, run_callback
from clientgo.log import get_logger
from clientgo.meta.objects import GroupVersionResource
from clientgo.metrics import NoMetrics, Provider, safe_provider

log = get_logger("clientgo.cache.reflector")

_LIST_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 300.0, 600.0)
_ITEMS = (0.0, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0, 10_000.0, 100_000.0)

_PROCESSING_SECONDS = (0.00001, 0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""client-go's buckets and two smaller ones: most changes take less than its smallest."""

_DIGITS = 15
"""Digits of an integer that a float represents exactly."""


def version_number(version: str) -> float:
    """Return the last 15 digits of a resourceVersion as a gauge's value; 0 if it is empty or not a number."""
    tail = version[-_DIGITS:]
    return float(tail) if tail.isascii() and tail.isdigit() else 0.0


class ReflectorMetrics:
    """Metrics of one reflector."""

    def __init__(self, name: str) -> None:
        labels = {"name": name}
        registry = safe_provider()
        self._name = name
        self._registry = registry
        self.lists = registry.counter("reflector_lists_total", "Lists requested, streamed ones included", labels)
        self._list_seconds = registry.histogram(
            "reflector_list_duration_seconds", "Time to receive and decode a list", labels, buckets=_LIST_SECONDS
        )
        self._list_items = registry.histogram("reflector_items_per_list", "Objects in a list", labels, buckets=_ITEMS)
        self.watches = registry.counter("reflector_watches_total", "Watches requested, streamed lists included", labels)
        self._short = registry.counter(
            "reflector_short_watches_total", "Watches that ended within a second without events", labels
        )
        self._watch_seconds = registry.histogram(
            "reflector_watch_duration_seconds", "Duration of a watch", labels, buckets=_LIST_SECONDS
        )
        self._watch_items = registry.histogram("reflector_items_per_watch", "Events in a watch", labels, buckets=_ITEMS)
        self._last = registry.gauge("reflector_last_resource_version", "Last resourceVersion received", labels)

    def listed(self, seconds: float, items: int) -> None:
        """Record a received list."""
        self._list_seconds.observe(seconds)
        self._list_items.observe(items)

    def reached(self, version: str) -> None:
        """Record the resourceVersion of a list, a bookmark or the end of a watch."""
        self._last.set(version_number(version))

    def watched(self, seconds: float, events: int, version: str, *, short: bool) -> None:
        """Record a watch that ended."""
        self._watch_seconds.observe(seconds)
        self._watch_items.observe(events)
        self.reached(version)
        if short:
            self._short.inc()

    def failed(self, error: Exception) -> None:
        """Count a failed list or watch by the class of its error; the number of messages has no bound."""
        labels = {"name": self._name, "error": type(error).__name__}
        self._registry.counter("reflector_failures_total", "Lists and watches that failed, by error", labels).inc()


class ReflectorReport:
    """Failures of one reflector: its last error, the log, metrics, and the program's own handler instead of the log."""

    def __init__(self, name: str, metrics: ReflectorMetrics, on_error: Callable[[Exception], None] | None) -> None:
        self.last_error = ""
        """Error of the last list or watch; empty after one that succeeded."""
        self._name = name
        self._metrics = metrics
        self._on_error = on_error
        self._logged = ""  # the last logged error; empty after a success
        self._fallback = ""  # the last logged reason for a regular list instead of a streamed one

    def succeeded(self) -> None:
        """Report a list or watch that succeeded."""
        self.last_error = ""
        if self._logged:
            log.info("list and watch recovered", extra={"reflector": self._name})
            self._logged = ""

    def failed(self, error: Exception) -> None:
        """Report a list or watch that failed."""
        self._metrics.failed(error)
        self.last_error = describe_error(error)
        if self._on_error is None:
            self._log_once("failed to list or watch; will keep trying", error, logging.WARNING)
            return
        try:
            run_callback(self._on_error, error)
        except CallbackFailed as failure:
            facts = {"reflector": self._name, "err": self.last_error}
            log.error("the handler of watch errors raised", exc_info=failure.__cause__, extra=facts)

    def unavailable(self, error: Exception) -> None:
        """Report a server that is overloaded or refuses connections."""
        # A refused connection is worth a warning, a request to slow down is not.
        if isinstance(error, TooManyRequests):
            self._metrics.failed(error)
            self.last_error = describe_error(error)
            self._log_once("the server asks for fewer requests; waiting", error, logging.INFO)
        else:
            self.failed(error)

    def fallback(self, error: Exception) -> None:
        """Report a regular list instead of a streamed one."""
        # Once per reason; the regular list reports what it cannot do either.
        text = describe_error(error)
        is_known = isinstance(error, Forbidden | NotFound) or text == self._fallback
        self._fallback = text
        message = "streaming list not supported; falling back to a regular list"
        log.log(logging.DEBUG if is_known else logging.INFO, message, extra={"reflector": self._name, "err": text})

    def _log_once(self, message: str, error: Exception, level: int) -> None:
        # Repetitions of the same error are logged at level debug.
        level = logging.DEBUG if self.last_error == self._logged else level
        self._logged = self.last_error
        facts = {"reflector": self._name, "err": self.last_error}
        if isinstance(error, ClientGoError) and error.request:
            facts["request"] = error.request
        if isinstance(error, NotFound):
            facts["hint"] = "install its CustomResourceDefinition"
        log.log(level, message, extra=facts)


class InformerName:
    """Name of a set of informers in metrics, unique in the process until it is released.

    Raises:
        ValueError: the name is empty or in use.
    """

    _lock = threading.Lock()
    _used_names: set[str] = set()

    def __init__(self, name: str) -> None:
        if not name:
            raise ValueError("invalid informer name: must not be empty")
        with self._lock:
            if name in self._used_names:
                raise ValueError(f"the informer name {name!r} is already in use")
            self._used_names.add(name)
        self.name = name
        self._released = False
        self._resources: dict[GroupVersionResource, InformerIdentity] = {}

    def __repr__(self) -> str:
        return f"<InformerName {self.name}>"

    def with_resource(self, resource: GroupVersionResource) -> "InformerIdentity":
        """Return an identity for the informer of a resource; only the first one is `reserved`, and has metrics."""
        identity = InformerIdentity(self.name, resource)
        with self._lock:
            if resource not in self._resources and not self._released:
                self._resources[resource] = identity
                identity.reserved = True
        return identity

    def release_resource(self, resource: GroupVersionResource) -> None:
        """Release the identity of a resource for another informer."""
        with self._lock:
            identity = self._resources.pop(resource, None)
            if identity is not None:
                identity.reserved = False

    def release(self) -> None:
        """Release the name for another set of informers; its identities have no metrics any more."""
        with self._lock:
            if self._released:
                return  # another set may have the name already
            self._released = True
            self._used_names.discard(self.name)
            for identity in self._resources.values():
                identity.reserved = False
            self._resources.clear()


class InformerIdentity:
    """Metric labels of one informer; `reserved` while no other informer has them."""

    def __init__(self, name: str, resource: GroupVersionResource) -> None:
        self.name = name
        self.resource = resource
        self.reserved = False

    def __repr__(self) -> str:
        return f"<InformerIdentity {self.name} {self.resource}{'' if self.reserved else ', not reserved'}>"

    @property
    def labels(self) -> dict[str, str]:
        """Labels as in Kubernetes' dashboards."""
        gvr = self.resource
        return {"name": self.name, "group": gvr.group, "version": gvr.version, "resource": gvr.resource}


NO_IDENTITY = InformerIdentity("", GroupVersionResource("", "", ""))
"""Identity of an informer without metrics."""


class InformerMetrics:
    """Metrics of one informer, until its identity is released."""

    def __init__(
        self, identity: InformerIdentity, waiting: Callable[[], int], clock: Clock, registry: Provider
    ) -> None:
        """Create the metrics; `waiting` returns the number of notifications that wait for the slowest handler."""
        labels = identity.labels
        self._identity = identity
        self._waiting = waiting
        self._clock = clock
        # Makes reading and setting one step: the last of several threads sets the current value.
        self._updating = threading.Lock()
        self._queued = registry.gauge("informer_queued_items", "Notifications waiting for the slowest handler", labels)
        self._latency = registry.histogram(
            "informer_processing_latency_seconds",
            "Time to put a change into the store and every handler's inbox",
            labels,
            buckets=_PROCESSING_SECONDS,
        )
        self._version = registry.gauge(
            "informer_store_resource_version", "Last 15 digits of the store's resourceVersion", labels
        )
        self._objects = registry.gauge("informer_store_objects", "Objects in the store", labels)

    def begin(self) -> float:
        """Return the time at which a change was received."""
        return self._clock.now()

    def done(self, began: float, version: str, objects: int) -> None:
        """Record a change that is in the store and in every inbox."""
        if self._identity.reserved:
            self._latency.observe(self._clock.now() - began)
        self.stored(version, objects)

    def stored(self, version: str, objects: int) -> None:
        """Record the store's version and size after a list, a change or a bookmark."""
        if self._identity.reserved:
            self._version.set(version_number(version))
            self._objects.set(objects)
            self.show_waiting()

    def ended(self) -> None:
        """Record that the informer has no objects and notifications any more."""
        if self._identity.reserved:
            self._objects.set(0)
            self._queued.set(0)

    def show_waiting(self) -> None:
        """Update the number of waiting notifications."""
        if self._identity.reserved:
            with self._updating:
                self._queued.set(self._waiting())


def informer_metrics(identity: InformerIdentity, waiting: Callable[[], int], clock: Clock) -> InformerMetrics | None:
    """Return the metrics of an informer, or None without a reserved identity or a metrics provider."""
    registry = safe_provider()
    if not identity.reserved or isinstance(registry, NoMetrics):
        return None
    return InformerMetrics(identity, waiting, clock, registry)
