"""Event sinks: the core/v1 and events.k8s.io/v1 APIs of a server.

Both groups serve the same stored objects under different field names, so events.k8s.io/v1 may fall back to core/v1.
"""

from typing import Protocol

import msgspec

from clientgo.errors import Forbidden, NotFound
from clientgo.kubernetes.types import core_events, events_v1
from clientgo.kubernetes.types.core_events import Event
from clientgo.log import get_logger
from clientgo.meta.codec import encode_value
from clientgo.rest.request import STRATEGIC_PATCH, Requester
from clientgo.typed.client import TypedClient
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)


class EventSink(Protocol):
    """Store of events; the type of a raised exception decides whether the event is retried (see `sender`)."""

    def create(self, event: Event) -> Event:
        """Store a new event; return it as stored."""

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Apply a strategic merge patch; return the event as stored. Raises `NotFound` if it has expired."""


class CoreEventClient(TypedClient[Event]):
    """Client of core/v1 events."""

    kind = Event


class SeriesEventClient(TypedClient[events_v1.Event]):
    """Client of events.k8s.io/v1 events."""

    kind = events_v1.Event


class CoreSink:
    """Sink that writes core/v1 events, each to its namespace."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester

    def create(self, event: Event) -> Event:
        """Create the event."""
        return CoreEventClient(self._requester, event.metadata.namespace).create(event)

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Patch the event."""
        return CoreEventClient(self._requester, namespace).patch(name, patch, content_type=STRATEGIC_PATCH)


class SeriesSink:
    """Sink that writes events.k8s.io/v1 events, or core/v1 events if the server does not serve that group.

    The first create decides, which needs neither a discovery request nor its permission. For one sender.
    """

    def __init__(self, requester: Requester) -> None:
        self._requester = requester
        self._core = CoreSink(requester)
        self._is_served = True

    def __repr__(self) -> str:
        return f"<SeriesSink {'events.k8s.io/v1' if self._is_served else 'core/v1'}>"

    def create(self, event: Event) -> Event:
        """Create the event, in core/v1 if necessary."""
        if self._is_served:
            try:
                client = SeriesEventClient(self._requester, event.metadata.namespace)
                return from_events_v1(client.create(to_events_v1(event)))
            except NotFound as error:
                # A missing namespace has a name in the details; a path that is not served has none.
                if error.details and error.details.name:
                    raise
                self._is_served = False
                log.info("events.k8s.io/v1 is not served; events are sent as core/v1", extra={"err": error})
        return self._core.create(event)

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Patch the event's series, which has the same field names in both groups.

        A note can change only in core/v1. If that is not permitted, the stored event retains its note.
        """
        if not self._is_served:
            return self._core.patch(namespace, name, patch)
        changed = msgspec.json.decode(patch, type=dict[str, object])
        if "message" in changed:
            try:
                return self._core.patch(namespace, name, patch)
            except (Forbidden, NotFound) as error:
                log.debug("note of the series remains as it is", extra={"event": f"{namespace}/{name}", "err": error})
            del changed["message"]
            patch = encode_value(changed)
        client = SeriesEventClient(self._requester, namespace)
        return from_events_v1(client.patch(name, patch, content_type=STRATEGIC_PATCH))


def sink_for(target: BaseClientset | Requester) -> EventSink:
    """Return the core/v1 sink of a clientset or requester, fakes included."""
    return CoreSink(target.requester if isinstance(target, BaseClientset) else target)


def series_sink_for(target: BaseClientset | Requester) -> EventSink:
    """Return the events.k8s.io/v1 sink of a clientset or requester, fakes included."""
    return SeriesSink(target.requester if isinstance(target, BaseClientset) else target)


def to_events_v1(event: Event) -> events_v1.Event:
    """Convert an event from core/v1 to events.k8s.io/v1."""
    series = None
    if (event_series := event.series) is not None:
        series = events_v1.EventSeries(
            count=event_series.count or 0, last_observed_time=event_series.last_observed_time
        )
    return events_v1.Event(
        metadata=event.metadata, type=event.type, reason=event.reason, action=event.action, note=event.message,
        regarding=event.involved_object, related=event.related, event_time=event.event_time, series=series,
        reporting_controller=event.reporting_component, reporting_instance=event.reporting_instance,
        deprecated_source=event.source, deprecated_count=event.count,
        deprecated_first_timestamp=event.first_timestamp, deprecated_last_timestamp=event.last_timestamp,
    )  # fmt: skip


def from_events_v1(event: events_v1.Event) -> Event:
    """Convert an event from events.k8s.io/v1 to core/v1."""
    series = None
    if (event_series := event.series) is not None:
        series = core_events.EventSeries(count=event_series.count, last_observed_time=event_series.last_observed_time)
    return Event(
        metadata=event.metadata, type=event.type, reason=event.reason, action=event.action, message=event.note,
        involved_object=event.regarding or core_events.ObjectReference(), related=event.related,
        event_time=event.event_time, series=series,
        reporting_component=event.reporting_controller, reporting_instance=event.reporting_instance,
        source=event.deprecated_source, count=event.deprecated_count,
        first_timestamp=event.deprecated_first_timestamp, last_timestamp=event.deprecated_last_timestamp,
    )  # fmt: skip
