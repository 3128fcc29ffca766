"""Where events of events.k8s.io/v1 go: to that group or, where it is not served, to core/v1.

Both groups show the same stored objects under other field names, so nothing is lost. Whether the group is served is
learned from the first event: that costs no request and needs no right of its own.
"""

import logging
from typing import cast

from clientgo.errors import NotFound
from clientgo.kubernetes.types import core_v1, events_v1
from clientgo.record.seriessender import ApiSeriesSink, SeriesSink
from clientgo.record.sink import EventSink, HasRequester, sink_for
from clientgo.rest.request import Requester

log = logging.getLogger(__name__)


class FallbackSink:
    """Sends to `first` until that turns out not to be served, and to `second` from then on. For one sender."""

    def __init__(self, first: SeriesSink, second: EventSink) -> None:
        self._first = first
        self._second = second
        self.fallen_back = False

    def __repr__(self) -> str:
        return f"<FallbackSink {'core/v1' if self.fallen_back else 'events.k8s.io/v1'}>"

    def create(self, event: events_v1.Event) -> events_v1.Event:
        """Keep a new event; returns it as kept."""
        if not self.fallen_back:
            try:
                return self._first.create(event)
            except NotFound as error:
                if not _not_served(error):
                    raise
                self.fallen_back = True
                log.info("events.k8s.io/v1 is not served; events are sent as core/v1", extra={"err": error})
        return from_core(self._second.create(to_core(event)))

    def patch(self, namespace: str, name: str, patch: bytes) -> events_v1.Event:
        """Apply a patch of an event's series, which both groups call by the same names."""
        if self.fallen_back:
            return from_core(self._second.patch(namespace, name, patch))
        return self._first.patch(namespace, name, patch)


def series_sink_for(target: Requester | HasRequester) -> SeriesSink:
    """The sink that sends to the API server behind a clientset or requester, fakes included."""
    requester: object = getattr(target, "requester", target)
    return FallbackSink(ApiSeriesSink(cast(Requester, requester)), sink_for(target))


def to_core(event: events_v1.Event) -> core_v1.Event:
    """The same event as core/v1 has it."""
    series = event.series
    last = None if series is None else series.last_observed_time
    return core_v1.Event(
        metadata=event.metadata,
        type=event.type,
        reason=event.reason,
        action=event.action,
        message=event.note,
        involved_object=event.regarding or core_v1.ObjectReference(),
        related=event.related,
        event_time=event.event_time,
        reporting_component=event.reporting_controller,
        reporting_instance=event.reporting_instance,
        series=None if series is None else core_v1.EventSeries(count=series.count, last_observed_time=last),
        source=event.deprecated_source,
        count=event.deprecated_count,
        first_timestamp=event.deprecated_first_timestamp,
        last_timestamp=event.deprecated_last_timestamp,
    )


def from_core(event: core_v1.Event) -> events_v1.Event:
    """The same event as events.k8s.io/v1 has it."""
    series = event.series
    last = None if series is None else series.last_observed_time
    return events_v1.Event(
        metadata=event.metadata,
        type=event.type,
        reason=event.reason,
        action=event.action,
        note=event.message,
        regarding=event.involved_object,
        related=event.related,
        event_time=event.event_time,
        reporting_controller=event.reporting_component,
        reporting_instance=event.reporting_instance,
        series=None if series is None else events_v1.EventSeries(count=series.count or 0, last_observed_time=last),
        deprecated_source=event.source,
        deprecated_count=event.count,
        deprecated_first_timestamp=event.first_timestamp,
        deprecated_last_timestamp=event.last_timestamp,
    )


def _not_served(error: NotFound) -> bool:
    # A missing namespace has a name; a path that nobody serves has none.
    return not (error.details and error.details.name)
