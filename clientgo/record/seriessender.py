"""Sends events of events.k8s.io/v1 and keeps their series up to date."""

import random
import threading
from typing import Protocol

from clientgo.backoff import Random, jittered
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import NotFound
from clientgo.kubernetes.types.events_v1 import Event
from clientgo.meta.codec import replace
from clientgo.record.attempt import PAUSE, try_often, try_once
from clientgo.record.events import nanoseconds
from clientgo.record.series import FINISHED_AFTER, REFRESHED_EVERY, SeriesCache, micro_time, series_patch
from clientgo.rest.request import STRATEGIC_PATCH, Requester
from clientgo.typed.client import TypedClient

JITTER = 0.25
"""The part of a pause by which it may be longer (client-go)."""


class SeriesSink(Protocol):
    """Keeps events of events.k8s.io/v1."""

    def create(self, event: Event) -> Event:
        """Keep a new event; returns it as kept."""

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """Apply a strategic merge patch to an event; returns it as kept. `NotFound` if it is there no more."""


class SeriesEventClient(TypedClient[Event]):
    """Reads and writes events of events.k8s.io/v1."""

    kind = Event


class ApiSeriesSink:
    """Sends events to the API server, each to the namespace it names."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester

    def create(self, event: Event) -> Event:
        """POST the event."""
        return SeriesEventClient(self._requester, event.metadata.namespace).create(event)

    def patch(self, namespace: str, name: str, patch: bytes) -> Event:
        """PATCH the event."""
        return SeriesEventClient(self._requester, namespace).patch(name, patch, content_type=STRATEGIC_PATCH)


class SeriesSender:
    """Sends the events of one sink on one thread, and tends their series on another (`tend`)."""

    def __init__(
        self,
        sink: SeriesSink,
        *,
        stop: threading.Event,
        cache: SeriesCache | None = None,
        pause: float = PAUSE,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self._sink = sink
        self._stop = stop
        self._cache = cache if cache is not None else SeriesCache()
        self._seconds = pause
        self._clock = clock
        self._rand = rand

    def send(self, event: Event) -> None:
        """Send the event, or the series it starts, or only count it. Raises nothing."""
        wanted = self._cache.observe(event)
        if wanted is None:
            return
        attempt = try_often(
            lambda: self._write(wanted), _about(wanted), pause=self._pause, stop=self._stop, clock=self._clock
        )
        if attempt.answer is not None:
            self._cache.answered(attempt.answer)

    def tend(self) -> None:
        """Finish quiet series every 6 minutes and refresh the others every 30, until told to stop."""
        rounds = 0
        while not self._clock.sleep(self._stop, FINISHED_AFTER):
            rounds += 1
            self.finish()
            if rounds % round(REFRESHED_EVERY / FINISHED_AFTER) == 0:
                self.refresh()

    def finish(self) -> None:
        """Tell the server the last count of each quiet series, and forget the series; one try each.

        A series that the server could not be told about is kept for the next time.
        """
        for event in self._cache.quiet(micro_time(nanoseconds(self._clock.time()))):
            if not try_once(lambda event=event: self._write(event), _about(event)).again:  # type: ignore[misc]
                self._cache.forget(event)

    def refresh(self) -> None:
        """Tell the server the count so far of each series; one try each."""
        for event in self._cache.running():
            attempt = try_once(lambda event=event: self._write(event), _about(event))  # type: ignore[misc]
            if attempt.answer is not None:
                self._cache.answered(attempt.answer)

    def _write(self, event: Event) -> Event:
        if event.series is not None:
            try:
                return self._sink.patch(event.metadata.namespace, event.metadata.name, series_patch(event))
            except NotFound:
                # Events expire: the series goes on in a new one.
                event = replace(event, metadata=replace(event.metadata, resource_version=""))
        return self._sink.create(event)

    def _pause(self, tries: int) -> float:
        return jittered(self._seconds, JITTER, self._rand)


def _about(event: Event) -> dict[str, object]:
    return {"event": f"{event.metadata.namespace}/{event.metadata.name}", "reason": event.reason or ""}
