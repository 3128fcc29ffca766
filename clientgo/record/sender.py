"""Gets one event at a time to the sink: correlated, then tried until it is there or hopeless."""

import logging
import random
import threading

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import NotFound
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.meta.codec import replace
from clientgo.record.attempt import PAUSE, try_often
from clientgo.record.correlator import Correlated, EventCorrelator
from clientgo.record.sink import EventSink

log = logging.getLogger(__name__)


class EventSender:
    """Correlates and sends the events of one sink. Owned by one thread; a set `stop` ends its waiting.

    The first pause between tries is a random part of `pause`, so that many senders spread out; the others are `pause`
    seconds.
    """

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
        self._seconds = pause
        self._clock = clock
        self._rand = rand

    def send(self, event: Event) -> None:
        """Send the event unless it is one too many; returns when it is sent or given up. Raises nothing."""
        result = self._correlator.correlate(event)
        if result.skip:
            return
        about = {"event": f"{event.metadata.namespace}/{event.metadata.name}", "reason": event.reason or ""}
        attempt = try_often(lambda: self.write(result), about, pause=self._pause, stop=self._stop, clock=self._clock)
        if attempt.answer is not None:
            self._correlator.update_state(attempt.answer, result.key)

    def write(self, result: Correlated) -> Event:
        """One try: patch an event that is there, or create it; one that has expired is created with its count."""
        event = result.event
        if (event.count or 0) > 1:
            try:
                return self._sink.patch(event.metadata.namespace, event.metadata.name, result.patch)
            except NotFound:
                # Events expire (after an hour by default): the count goes on in a new one.
                log.debug("event has expired; creating it anew", extra={"event": event.metadata.name})
        if event.metadata.resource_version:
            event = replace(event, metadata=replace(event.metadata, resource_version=""))
        return self._sink.create(event)

    def _pause(self, tries: int) -> float:
        return self._seconds * self._rand() if tries == 1 else self._seconds
