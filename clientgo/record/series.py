"""Series of events with an action.

The first event is created. The second equal event turns it into a series, by a patch. Later events are only counted;
the server receives the count by heartbeats, and a last time once the series is finished. Each of these patches has the
newest message.
"""

import threading
from collections.abc import Hashable
from datetime import UTC, datetime, timedelta

from clientgo.internal.forks import fork_safe
from clientgo.kubernetes.types.core_events import Event, EventSeries
from clientgo.meta.codec import encode_value, replace
from clientgo.meta.objects import MicroTime
from clientgo.record.correlator import Correlated

FINISHED_AFTER = 360.0
"""Seconds without a new event after which a series is finished (client-go: 6 minutes)."""

REFRESHED_EVERY = 1800.0
"""Seconds between heartbeats of a running series (client-go: 30 minutes)."""


def series_key(event: Event) -> Hashable:
    """Return a key shared by the events of one series; their messages may differ."""
    return (
        event.type, event.action, event.reason, event.reporting_component, event.reporting_instance,
        event.involved_object, event.related,
    )  # fmt: skip


def series_patch(event: Event) -> Correlated:
    """Return the patch of the stored event's series and message."""
    patch = encode_value({"series": event.series, "message": event.message})
    return Correlated(event, patch, skip=False, key=series_key(event))


class SeriesCache:
    """Correlator of events with an action: single events and series that are not finished. Thread-safe."""

    def __init__(self) -> None:
        self._lock = fork_safe(threading.Lock())
        self._events: dict[Hashable, Event] = {}

    def __len__(self) -> int:
        return len(self._events)

    def correlate(self, event: Event) -> Correlated:
        """Return the event if it is new, the series if the event starts one, and a skipped event otherwise."""
        key = series_key(event)
        with self._lock:
            existing = self._events.get(key)
            if existing is None:
                self._events[key] = event
                return Correlated(event, b"", skip=False, key=key)
            count = (existing.series.count or 0) if existing.series is not None else 1
            series = EventSeries(count=count + 1, last_observed_time=event.event_time)
            self._events[key] = grown = replace(existing, series=series, message=event.message)
        return series_patch(grown) if existing.series is None else Correlated(grown, b"", skip=True, key=key)

    def update_state(self, stored: Event, key: Hashable) -> None:
        """Adopt the name and version of the stored event; events counted in the meantime are kept."""
        with self._lock:
            if (existing := self._events.get(key)) is not None:
                self._events[key] = replace(existing, metadata=stored.metadata)

    def running(self) -> list[Event]:
        """Return all series."""
        with self._lock:
            return [event for event in self._events.values() if event.series is not None]

    def finished(self, now: MicroTime) -> list[Event]:
        """Return the series without a new event for 6 minutes; remove single events of that age."""
        before = now - timedelta(seconds=FINISHED_AFTER)
        with self._lock:
            old = [(key, event) for key, event in self._events.items() if _last_seen(event) < before]
            for key, event in old:
                if event.series is None:
                    del self._events[key]
        return [event for _, event in old if event.series is not None]

    def remove(self, event: Event) -> None:
        """Remove the series, unless it has grown since it was returned."""
        key = series_key(event)
        with self._lock:
            existing = self._events.get(key)
            if existing is not None and existing.series == event.series:
                del self._events[key]


def _last_seen(event: Event) -> datetime:
    last = event.series.last_observed_time if event.series is not None else event.event_time
    return last if last is not None else datetime.min.replace(tzinfo=UTC)
