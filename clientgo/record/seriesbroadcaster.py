"""The second recorder: events of events.k8s.io/v1, which name an action and a related object and repeat as series.

from clientgo.record.seriessink import series_sink_for

with SeriesBroadcaster() as broadcaster:
    broadcaster.start_recording_to_sink(series_sink_for(clientset))
    recorder = broadcaster.new_recorder("sample-controller")
    recorder.eventf(foo, "Normal", "Scaled", "Scaling", "%d replicas", 3, related=deployment)
"""

import logging
import platform
import random
from collections.abc import Callable, Mapping

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.kubernetes.types.events_v1 import Event
from clientgo.meta.objects import EMPTY_MAP, ObjectMeta
from clientgo.record.attempt import PAUSE
from clientgo.record.broadcast import Broadcast
from clientgo.record.events import TYPES
from clientgo.record.recorder import formatted
from clientgo.record.series import SeriesOccurrence
from clientgo.record.seriessender import SeriesSender, SeriesSink
from clientgo.record.ticks import Ticks
from clientgo.record.watcher import QUEUE_LENGTH, Watcher

log = logging.getLogger(__name__)


class SeriesRecorder:
    """Records events about objects; never waits and never fails because of the server."""

    def __init__(
        self, publish: Callable[[SeriesOccurrence], None], controller: str, instance: str, ticks: Ticks
    ) -> None:
        self._publish = publish
        self._controller = controller
        self._instance = instance
        self._ticks = ticks

    def __repr__(self) -> str:
        return f"<SeriesRecorder {self._instance}>"

    def eventf(
        self,
        regarding: object,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: object,
        related: object | None = None,
        annotations: Mapping[str, str] = EMPTY_MAP,
    ) -> None:
        """Record that `action` on `regarding` (and `related`) ended in `reason`; `note` is formatted by `%`."""
        if event_type not in TYPES:
            # Not raised: an event is never worth failing the work it is about.
            log.error("event of an unsupported type dropped", extra={"type": event_type, "reason": reason})
            return
        said = Event(
            metadata=ObjectMeta(annotations=annotations),
            type=event_type,
            reason=reason,
            action=action,
            note=formatted(note, args),
            reporting_controller=self._controller,
            reporting_instance=self._instance,
        )
        self._publish(SeriesOccurrence(said, regarding, related, at=self._ticks.next()))


class SeriesBroadcaster(Broadcast[Event]):
    """Connects recorders of events.k8s.io/v1 with sinks; `pause` is the seconds between tries of an event."""

    def __init__(
        self,
        *,
        pause: float = PAUSE,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        super().__init__(queue_length=queue_length, clock=clock)
        self._pause = pause
        self._rand = rand
        self._ticks = Ticks(clock)

    def start_recording_to_sink(self, sink: SeriesSink) -> Watcher[Event]:
        """Send every event from now on to `sink`, equal ones as series."""
        group = self._group()
        sender = SeriesSender(sink, stop=group.stop_event, pause=self._pause, clock=self._clock, rand=self._rand)
        watcher = self._start("events-sink", sender.send, group)
        group.start(sender.tend, name=f"{watcher.name}-series")
        return watcher

    def new_recorder(self, controller: str, *, host: str = "") -> SeriesRecorder:
        """A recorder whose events are reported by `controller`, instance `<controller>-<host name>`."""
        instance = f"{controller}-{host or platform.node()}"
        return SeriesRecorder(self.publish, controller, instance, self._ticks)
