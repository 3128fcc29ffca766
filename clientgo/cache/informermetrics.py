"""What an informer measures, under the names Kubernetes' own components use; only for one that has an identity."""

from clientgo.cache.identity import InformerIdentity
from clientgo.cache.reflectormetrics import version_number
from clientgo.clock import Clock
from clientgo.metrics import NoMetrics, Provider, provider

_SECONDS = tuple(10.0**exponent for exponent in range(-6, 2))


class InformerMetrics:
    """The metrics of one informer; silent once its identity has been released."""

    def __init__(self, identity: InformerIdentity, clock: Clock, kept_by: Provider) -> None:
        labels = identity.labels
        self._identity = identity
        self._clock = clock
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

    def done(self, began: float, version: str, objects: int, queued: int) -> None:
        """It is in the store and in every inbox."""
        if self._identity.reserved:
            self._latency.observe(self._clock.now() - began)
            self._version.set(version_number(version))
            self._objects.set(objects)
            self._queued.set(queued)


def informer_metrics(identity: InformerIdentity, clock: Clock) -> InformerMetrics | None:
    """The metrics of an informer; None if it has no identity of its own, or where nobody keeps any."""
    kept_by = provider()
    if not identity.reserved or isinstance(kept_by, NoMetrics):
        return None
    return InformerMetrics(identity, clock, kept_by)
