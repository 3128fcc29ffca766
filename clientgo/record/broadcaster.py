"""Takes core/v1 events from recorders and hands them to sinks and logs."""

import random
from collections.abc import Callable

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.kubernetes.types.core_v1 import Event, EventSource
from clientgo.record.attempt import PAUSE
from clientgo.record.broadcast import Broadcast
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.eventlog import log_structured, text_logger
from clientgo.record.recorder import BroadcastRecorder, EventRecorder
from clientgo.record.sender import EventSender
from clientgo.record.sink import EventSink
from clientgo.record.ticks import Ticks
from clientgo.record.watcher import QUEUE_LENGTH, Watcher


class EventBroadcaster(Broadcast[Event]):
    """Connects recorders with consumers; `pause` is the seconds between tries of an event that could not be sent."""

    def __init__(
        self,
        *,
        correlator: CorrelatorOptions | None = None,
        pause: float = PAUSE,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        super().__init__(queue_length=queue_length, clock=clock)
        self._correlator_options = correlator
        self._pause = pause
        self._rand = rand
        self._ticks = Ticks(clock)

    def start_recording_to_sink(self, sink: EventSink) -> Watcher[Event]:
        """Send every event from now on to `sink`, counted and aggregated; stop it alone by the result's `stop()`."""
        group = self._group()
        sender = EventSender(
            sink,
            EventCorrelator(self._correlator_options, clock=self._clock),
            stop=group.stop_event,
            pause=self._pause,
            clock=self._clock,
            rand=self._rand,
        )
        return self._start("events-sink", sender.send, group)

    def start_logging(self, write: Callable[[str], object] | None = None) -> Watcher[Event]:
        """Log every event from now on: as key=value through `logging`, or as client-go's one line through `write`."""
        return self._start("events-log", log_structured if write is None else text_logger(write), self._group())

    def new_recorder(self, *, component: str, host: str = "") -> EventRecorder:
        """A recorder whose events come from `component` on `host`."""
        return BroadcastRecorder(self.publish, EventSource(component=component, host=host or None), self._ticks)
