"""Gets one event at a time to the sink, and decides when to give up."""

import logging
import random
import threading

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import AlreadyExists, ApiError, ConfigError, NotFound
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.meta.codec import Undecodable, replace
from clientgo.record.correlator import Correlated, EventCorrelator
from clientgo.record.sink import EventSink

log = logging.getLogger(__name__)

MAX_TRIES = 12
"""How often one event is tried (client-go)."""

PAUSE = 10.0
"""Seconds between tries (client-go); the first pause is a random part of it, so that many senders spread out."""

_NAMESPACE_TERMINATING = "NamespaceTerminating"


class EventSender:
    """Correlates and sends the events of one sink. Owned by one thread; a set `stop` ends its waiting."""

    def __init__(
        self,
        sink: EventSink,
        correlator: EventCorrelator,
        *,
        stop: threading.Event,
        pause: float = PAUSE,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self._sink = sink
        self._correlator = correlator
        self._stop = stop
        self._pause = pause
        self._clock = clock
        self._rand = rand

    def send(self, event: Event) -> None:
        """Send the event unless it is one too many; returns when it is sent or given up. Raises nothing."""
        result = self._correlator.correlate(event)
        if not result.skip:
            self._try_often(result)

    def _try_often(self, result: Correlated) -> None:
        for tries in range(1, MAX_TRIES + 1):
            if self.try_once(result):
                return
            if tries < MAX_TRIES and self._paused(first=tries == 1):
                log.error("unable to write event: shutting down", extra=_about(result.event))
                return
        log.error("unable to write event: retry limit exceeded", extra=_about(result.event))

    def _paused(self, *, first: bool) -> bool:
        # True when the pause was cut short because everything stops.
        return self._clock.sleep(self._stop, self._pause * self._rand() if first else self._pause)

    def try_once(self, result: Correlated) -> bool:
        """Whether the event needs no further try: it was sent, or would be refused again."""
        try:
            answer = self._write(result)
        except ApiError as error:
            level = logging.DEBUG if _expected(error) else logging.ERROR
            log.log(level, "server rejected event; will not retry", extra={"err": error, **_about(result.event)})
            return True
        # A sink is its user's: whatever it raises must not end the thread that sends.
        except Exception as error:  # noqa: BLE001
            log.error("unable to write event", extra={"err": error, **_about(result.event)})
            return _hopeless(error)
        self._correlator.update_state(answer, result.key)
        return True

    def _write(self, result: Correlated) -> Event:
        event = result.event
        if (event.count or 0) > 1:
            try:
                return self._sink.patch(event.metadata.namespace, event.metadata.name, result.patch)
            except NotFound:
                # Events expire (after an hour by default): the count goes on in a new one.
                log.debug("event has expired; creating it anew", extra=_about(event))
        return self._sink.create(replace(event, metadata=replace(event.metadata, resource_version="")))


def _expected(error: ApiError) -> bool:
    return isinstance(error, AlreadyExists) or error.has_cause(_NAMESPACE_TERMINATING)


def _hopeless(error: Exception) -> bool:
    # The request itself can't be built, and would be built the same next time. An answer that can't be read is a
    # ValueError too and may well be another one then.
    return isinstance(error, TypeError | ValueError | ConfigError) and not isinstance(error, Undecodable)


def _about(event: Event) -> dict[str, object]:
    return {"event": f"{event.metadata.namespace}/{event.metadata.name}", "reason": event.reason or ""}
