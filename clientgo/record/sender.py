"""Event sender: correlation, one write per event, and retries."""

import logging
import random
import threading
from collections.abc import Callable

from clientgo.backoff import Random, jittered
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import AlreadyExists, ApiError, ConfigError, LeaseNotHeld, NotFound
from clientgo.kubernetes.types.core_events import Event
from clientgo.log import get_logger
from clientgo.meta.codec import Undecodable, replace
from clientgo.record.correlator import Correlated, Correlator, EventCorrelator
from clientgo.record.events import micro_time, nanoseconds
from clientgo.record.series import FINISHED_AFTER, REFRESHED_EVERY, SeriesCache, series_patch
from clientgo.record.sinks import EventSink

log = get_logger(__name__)

MAX_TRIES = 12
"""Maximum number of tries for one event (client-go)."""

PAUSE = 10.0
"""Seconds between tries (client-go)."""

JITTER = 0.25
"""Maximum random extension of a pause between tries of an event with an action, as a fraction of it (client-go)."""

_NAMESPACE_TERMINATING = "NamespaceTerminating"


class EventSender:
    """Sender of one sink's events. Owned by one thread; a set `stop` ends its waits.

    Events with an action become series, others are counted. `at_first_series` is called before the first one, and has
    another thread run `run_housekeeping`. The first pause between tries of a counted event is a
    random part of `pause`, so that many senders spread out; the others are `pause` seconds.
    """

    def __init__(
        self,
        sink: EventSink,
        counts: EventCorrelator,
        series: SeriesCache,
        *,
        stop: threading.Event,
        at_first_series: Callable[[], object] = lambda: None,
        pause: float = PAUSE,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self._sink = sink
        self._counts = counts
        self._series = series
        self._stop = stop
        self._at_first_series = at_first_series
        self._has_series = False
        self._seconds = pause
        self._clock = clock
        self._rand = rand

    def send(self, event: Event) -> None:
        """Send the event unless correlation skips it; return once it is stored or dropped. Raises nothing."""
        if event.action and not self._has_series:
            self._has_series = True
            self._at_first_series()
        result = self._correlator(event).correlate(event)
        if result.skip:
            return
        for tries in range(1, MAX_TRIES + 1):
            if self.try_write(result):
                return
            if tries < MAX_TRIES and self._clock.sleep(self._stop, self._pause(event, tries)):
                log.error("unable to write event: shutting down", extra=_details(result))
                return
        log.error("unable to write event: retry limit exceeded", extra=_details(result))

    def try_write(self, result: Correlated) -> bool:
        """Write the event once; return False if the write failed and a retry may succeed."""
        try:
            self._correlator(result.event).update_state(self.write(result), result.key)
        except ApiError as error:
            exists = isinstance(error, AlreadyExists)
            if exists and result.event.series is not None:
                # It had expired when it was patched, and was created again by another request.
                log.debug(
                    "event of a series was created by another request; will retry",
                    extra={"err": error, **_details(result)},
                )
                return False
            expected = exists or error.has_cause(_NAMESPACE_TERMINATING)
            level = logging.DEBUG if expected else logging.ERROR
            log.log(level, "server rejected event; will not retry", extra={"err": error, **_details(result)})
        except LeaseNotHeld as error:
            log.info("event was not sent", extra={"err": error, **_details(result)})
        # A sink may be the user's: an exception must not end the sending thread.
        except Exception as error:  # noqa: BLE001
            log.error("unable to write event", extra={"err": error, **_details(result)})
            return _is_permanent(error)
        return True

    def write(self, result: Correlated) -> Event:
        """Patch or create the event; create it again, with its count, if the stored event has expired."""
        event = result.event
        if result.patch:
            try:
                return self._sink.patch(event.metadata.namespace, event.metadata.name, result.patch)
            except NotFound:
                # Events expire (after an hour by default): the count goes on in a new one.
                log.debug("event has expired; creating it again", extra={"event": event.metadata.name})
        if event.metadata.resource_version:
            event = replace(event, metadata=replace(event.metadata, resource_version=""))
        return self._sink.create(event)

    def run_housekeeping(self) -> None:
        """Finish series every 6 minutes and send heartbeats every 30 minutes, until the stop."""
        rounds = 0
        while not self._clock.sleep(self._stop, FINISHED_AFTER):
            rounds += 1
            self.finish()
            if rounds % round(REFRESHED_EVERY / FINISHED_AFTER) == 0:
                self.refresh()

    def finish(self) -> None:
        """Send the last count of each finished series and remove it; after a transient error, keep it."""
        for event in self._series.finished(micro_time(nanoseconds(self._clock.time()))):
            if self.try_write(series_patch(event)):
                self._series.remove(event)

    def refresh(self) -> None:
        """Send the current count of each series; one try each."""
        for event in self._series.running():
            self.try_write(series_patch(event))

    def _correlator(self, event: Event) -> Correlator:
        return self._series if event.action else self._counts

    def _pause(self, event: Event, tries: int) -> float:
        if event.action:
            return jittered(self._seconds, JITTER, self._rand)
        return self._seconds * self._rand() if tries == 1 else self._seconds


def _details(result: Correlated) -> dict[str, object]:
    meta = result.event.metadata
    return {"event": f"{meta.namespace}/{meta.name}", "reason": result.event.reason or ""}


def _is_permanent(error: Exception) -> bool:
    # The request itself cannot be built, so a retry fails in the same way. A response that cannot be decoded is a
    # ValueError too, but the next response may differ.
    return isinstance(error, TypeError | ValueError | ConfigError) and not isinstance(error, Undecodable)
