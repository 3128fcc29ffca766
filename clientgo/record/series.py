"""Event series of events.k8s.io/v1.

The first event is created. The second equal event turns it into a series, by a patch. Later events are only counted;
the server receives the count by heartbeats, and a last time once the series is finished. Each of these patches has the
newest note, if that is another one than the server's.
"""

import threading
from collections.abc import Hashable
from datetime import UTC, datetime, timedelta

from clientgo.backoff import jittered
from clientgo.internal.forks import fork_safe
from clientgo.kubernetes.types.core_events import Event, EventSeries
from clientgo.meta.codec import encode_value, replace
from clientgo.meta.objects import MicroTime
from clientgo.record.correlator import Correlated
from clientgo.record.events import micro_time, nanoseconds
from clientgo.record.sender import EventSender

FINISHED_AFTER = 360.0
"""Seconds without a new event after which a series is finished (client-go: 6 minutes)."""

REFRESHED_EVERY = 1800.0
"""Seconds between heartbeats of a running series (client-go: 30 minutes)."""

JITTER = 0.25
"""Maximum random extension of a pause, as a fraction of it (client-go)."""


def series_key(event: Event) -> Hashable:
    """Return a key shared by the events of one series; their messages may differ."""
    return (
        event.type, event.action, event.reason, event.reporting_component, event.reporting_instance,
        event.involved_object, event.related,
    )  # fmt: skip


def series_patch(event: Event, *, note: bool = False) -> Correlated:
    """Return the patch of the stored event's series, and of its note if `note`."""
    changed = {"series": event.series, "message": event.message} if note else {"series": event.series}
    return Correlated(event, encode_value(changed), skip=False, key=series_key(event))


class SeriesCache:
    """Correlator of events.k8s.io/v1 events: single events and series that are not finished. Thread-safe."""

    def __init__(self) -> None:
        self._lock = fork_safe(threading.Lock())
        self._events: dict[Hashable, Event] = {}
        self._stored_notes: dict[Hashable, str | None] = {}

    def __len__(self) -> int:
        return len(self._events)

    def correlate(self, event: Event) -> Correlated:
        """Return the event if it is new, the series if the event starts one, and a skipped event otherwise."""
        key = series_key(event)
        with self._lock:
            existing = self._events.get(key)
            if existing is None:
                self._events[key] = event
                self._stored_notes[key] = event.message
                return Correlated(event, b"", skip=False, key=key)
            count = (existing.series.count or 0) if existing.series is not None else 1
            series = EventSeries(count=count + 1, last_observed_time=event.event_time)
            self._events[key] = grown = replace(existing, series=series, message=event.message)
        return self.patch_of(grown) if existing.series is None else Correlated(grown, b"", skip=True, key=key)

    def patch_of(self, event: Event) -> Correlated:
        """Return the patch of a series, with its note if the server's is another one."""
        with self._lock:
            stored = self._stored_notes.get(series_key(event), event.message)
        return series_patch(event, note=stored != event.message)

    def update_state(self, stored: Event, key: Hashable) -> None:
        """Adopt the name and version of the stored event; events counted in the meantime are kept."""
        with self._lock:
            if (existing := self._events.get(key)) is not None:
                self._events[key] = replace(existing, metadata=stored.metadata)
                self._stored_notes[key] = stored.message

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
                    del self._events[key], self._stored_notes[key]
        return [event for _, event in old if event.series is not None]

    def remove(self, event: Event) -> None:
        """Remove the series, unless it has grown since it was returned."""
        key = series_key(event)
        with self._lock:
            existing = self._events.get(key)
            if existing is not None and existing.series == event.series:
                del self._events[key], self._stored_notes[key]


class SeriesSender(EventSender[SeriesCache]):
    """Sender of events.k8s.io/v1 events; a second thread runs `run_housekeeping`."""

    def run_housekeeping(self) -> None:
        """Finish series every 6 minutes and send heartbeats every 30 minutes, until `stop` is set."""
        rounds = 0
        while not self._clock.sleep(self._stop, FINISHED_AFTER):
            rounds += 1
            self.finish()
            if rounds % round(REFRESHED_EVERY / FINISHED_AFTER) == 0:
                self.refresh()

    def finish(self) -> None:
        """Send the last count of each finished series and remove it; after a transient error, keep it."""
        for event in self._correlator.finished(micro_time(nanoseconds(self._clock.time()))):
            if self.try_write(self._correlator.patch_of(event)):
                self._correlator.remove(event)

    def refresh(self) -> None:
        """Send the current count of each series; one try each."""
        for event in self._correlator.running():
            self.try_write(self._correlator.patch_of(event))

    def _pause(self, tries: int) -> float:
        return jittered(self._seconds, JITTER, self._rand)


def _last_seen(event: Event) -> datetime:
    last = event.series.last_observed_time if event.series is not None else event.event_time
    return last if last is not None else datetime.min.replace(tzinfo=UTC)
