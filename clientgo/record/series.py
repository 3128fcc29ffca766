"""Events of events.k8s.io/v1, and how equal ones become a series: pure, but for the lock that keeps it whole.

The first event is created. The second makes it a series and is patched in. All later ones are only counted here; the
server learns the count from a heartbeat, and for the last time when the series has been quiet.
"""

import threading
from datetime import UTC, datetime, timedelta

from clientgo.kubernetes.types.core_v1 import ObjectReference
from clientgo.kubernetes.types.events_v1 import Event, EventSeries
from clientgo.meta.codec import encode_value, replace
from clientgo.meta.objects import MicroTime
from clientgo.record.events import DEFAULT_NAMESPACE, event_name
from clientgo.record.reference import reference_to

FINISHED_AFTER = 360.0
"""Seconds without news after which a series is over (client-go: 6 minutes)."""

REFRESHED_EVERY = 1800.0
"""Seconds between heartbeats of a series that goes on (client-go: 30 minutes)."""

Key = tuple[str | None, str | None, str | None, str | None, str | None, ObjectReference | None, ObjectReference | None]


def series_key(event: Event) -> Key:
    """Equal for events that belong to one series; the note may differ."""
    return (
        event.type,
        event.action,
        event.reason,
        event.reporting_controller,
        event.reporting_instance,
        event.regarding,
        event.related,
    )


def series_patch(event: Event) -> bytes:
    """What makes the server's copy of a series equal to ours."""
    return encode_value({"series": event.series})


def micro_time(at: int) -> MicroTime:
    """Nanoseconds since the epoch as a time to write into an event."""
    return MicroTime.of(datetime.fromtimestamp(0, UTC) + timedelta(microseconds=at // 1000))


class SeriesOccurrence:
    """What a recorder was told (`said`); it becomes an Event on the thread of whoever wants one, and only once."""

    __slots__ = ("_at", "_event", "_regarding", "_related", "_said")

    def __init__(self, said: Event, regarding: object, related: object | None, *, at: int) -> None:
        self._said = said
        self._regarding = regarding
        self._related = related
        self._at = at
        self._event: Event | None = None

    def event(self) -> Event:
        """The event; `TypeError` if it is about something that can't be referred to."""
        if self._event is None:
            # Two threads may both make one; they are alike.
            regarding = reference_to(self._regarding)
            name = event_name(regarding.name or "", self._at)
            self._event = replace(
                self._said,
                metadata=replace(self._said.metadata, name=name, namespace=regarding.namespace or DEFAULT_NAMESPACE),
                event_time=micro_time(self._at),
                regarding=regarding,
                related=reference_to(self._related) if self._related is not None else None,
            )
        return self._event


class SeriesCache:
    """The events that may still become, or are, a series. Safe for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: dict[Key, Event] = {}

    def __len__(self) -> int:
        return len(self._events)

    def observe(self, event: Event) -> Event | None:
        """What to send for this event: itself, the series it has started, or nothing as it was only counted."""
        key = series_key(event)
        with self._lock:
            known = self._events.get(key)
            if known is None:
                self._events[key] = event
                return event
            count = known.series.count if known.series is not None else 1
            series = EventSeries(count=count + 1, last_observed_time=event.event_time)
            self._events[key] = grown = replace(known, series=series)
            return grown if known.series is None else None

    def answered(self, answer: Event) -> None:
        """Take over the server's name and version of the event; what was counted meanwhile stays."""
        key = series_key(answer)
        with self._lock:
            if (known := self._events.get(key)) is not None:
                self._events[key] = replace(known, metadata=answer.metadata)

    def running(self) -> list[Event]:
        """The series that go on."""
        with self._lock:
            return [event for event in self._events.values() if event.series is not None]

    def quiet(self, now: MicroTime) -> list[Event]:
        """The series without news for 6 minutes; single events as old are forgotten here and now."""
        before = now - timedelta(seconds=FINISHED_AFTER)
        with self._lock:
            old = [event for event in self._events.values() if _last_seen(event) < before]
            for event in old:
                if event.series is None:
                    del self._events[series_key(event)]
        return [event for event in old if event.series is not None]

    def forget(self, event: Event) -> None:
        """The series is over, unless it has grown since."""
        key = series_key(event)
        with self._lock:
            known = self._events.get(key)
            if known is not None and known.series == event.series:
                del self._events[key]


def _last_seen(event: Event) -> datetime:
    last = event.series.last_observed_time if event.series is not None else event.event_time
    return last if last is not None else datetime.min.replace(tzinfo=UTC)
