"""What an informer measures, under the names Kubernetes' own components use; only for one that has an identity."""

import threading
from collections.abc import Callable

from clientgo.cache.identity import InformerIdentity
from clientgo.cache.reflectormetrics import version_number
from clientgo.clock import Clock
from clientgo.metrics import NoMetrics, Provider, provider

_SECONDS = (0.00001, 0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""client-go's buckets, and two below them: most changes are done in less than its smallest."""


class InformerMetrics:
    """The metrics of one informer; silent once its identity has been released."""

    def __init__(self, identity: InformerIdentity, waiting: Callable[[], int], clock: Clock, kept_by: Provider) -> None:
        """`waiting` tells how many notifications the slowest handler has before it."""
        labels = identity.labels
        self._identity = identity
        self._waiting = waiting
        self._clock = clock
        # Makes one step of asking how many wait and showing it: the last of several threads shows what is true then.
        self._asking = threading.Lock()
        self._queued = kept_by.gauge("informer_queued_items", "Notifications that wait for the slowest handler", labels)
        self._latency = kept_by.histogram(
            "informer_processing_latency_seconds",
            "How long a change took into the store and every handler's inbox",
            labels,
            buckets=_SECONDS,
        )
        self._version = kept_by.gauge(
            "informer_store_resource_version", "The 15 last digits of the version the store reflects", labels
        )
        self._objects = kept_by.gauge("informer_store_objects", "Objects in the store", labels)

    def begin(self) -> float:
        """When a change came in."""
        return self._clock.now()

    def done(self, began: float, version: str, objects: int) -> None:
        """It is in the store and in every inbox."""
        if self._identity.reserved:
            self._latency.observe(self._clock.now() - began)
        self.stored(version, objects)

    def stored(self, version: str, objects: int) -> None:
        """The store reflects that version: a list, a change or a bookmark came."""
        if self._identity.reserved:
            self._version.set(version_number(version))
            self._objects.set(objects)
            self.show_waiting()

    def show_waiting(self) -> None:
        """Notifications came, or a handler has done with some."""
        if self._identity.reserved:
            with self._asking:
                self._queued.set(self._waiting())


def informer_metrics(identity: InformerIdentity, waiting: Callable[[], int], clock: Clock) -> InformerMetrics | None:
    """The metrics of an informer; None if it has no identity of its own, or where nobody keeps any."""
    kept_by = provider()
    if not identity.reserved or isinstance(kept_by, NoMetrics):
        return None
    return InformerMetrics(identity, waiting, clock, kept_by)
