"""Takes events from recorders and hands them to sinks, logs and watchers, each at its own pace.

Promises: a recorder never waits for a consumer, and no consumer waits for another. Each has a queue of 1000 events and
a thread; a full queue drops the event for that consumer alone, and counts it. `shutdown` takes no more events and gives
those queued a bounded time to get out.
"""

import random
import threading
from collections.abc import Callable

from clientgo.backoff import Random
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.kubernetes.types.core_v1 import Event, EventSource
from clientgo.lifecycle import Group
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.eventlog import log_structured, text_logger
from clientgo.record.recorder import BroadcastRecorder, EventRecorder, Ticks
from clientgo.record.sender import PAUSE, EventSender
from clientgo.record.sink import EventSink
from clientgo.record.watcher import QUEUE_LENGTH, Occurrence, Watcher


class EventBroadcaster:
    """Connects recorders with consumers; a context manager that shuts down at its end. Safe for any number of threads.

    `pause` is the seconds between tries of an event that could not be sent.
    """

    def __init__(
        self,
        *,
        correlator: CorrelatorOptions | None = None,
        pause: float = PAUSE,
        queue_length: int = QUEUE_LENGTH,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self._correlator_options = correlator
        self._pause = pause
        self._queue_length = queue_length
        self._clock = clock
        self._rand = rand
        self._ticks = Ticks(clock)
        self._lock = threading.Lock()
        self._watchers: tuple[Watcher, ...] = ()
        self._started = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"<EventBroadcaster {len(self._watchers)} watchers{', shut down' if self._closed else ''}>"

    def __enter__(self) -> "EventBroadcaster":
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def start_recording_to_sink(self, sink: EventSink) -> Watcher:
        """Send every event from now on to `sink`, counted and aggregated; stop it alone by the result's `stop()`."""
        group = Group(clock=self._clock)
        sender = EventSender(
            sink,
            EventCorrelator(self._correlator_options, clock=self._clock),
            stop=group.stop_event,
            pause=self._pause,
            clock=self._clock,
            rand=self._rand,
        )
        return self._start("events-sink", sender.send, group)

    def start_logging(self, write: Callable[[str], object] | None = None) -> Watcher:
        """Log every event from now on: as key=value through `logging`, or as client-go's one line through `write`."""
        if write is None:
            return self._start("events-log", log_structured, Group(clock=self._clock))
        return self._start("events-log", text_logger(write), Group(clock=self._clock))

    def start_event_watcher(self, handle: Callable[[Event], None]) -> Watcher:
        """Call `handle` with every event from now on, on a thread of its own; what it raises is logged."""
        return self._start("events-watch", handle, Group(clock=self._clock))

    def new_recorder(self, *, component: str, host: str = "") -> EventRecorder:
        """A recorder whose events come from `component` on `host`."""
        return BroadcastRecorder(self.publish, EventSource(component=component, host=host or None), self._ticks)

    def publish(self, occurrence: Occurrence) -> None:
        """Offer an event to every consumer; returns at once."""
        for watcher in self._watchers:
            watcher.offer(occurrence)

    def shutdown(self, *, timeout: float = 5.0) -> None:
        """Take no more events and end all threads; what is queued is handled, within `timeout` seconds in all.

        An event that can't be sent is not tried again from here on. May be called again.
        """
        with self._lock:
            self._closed = True
            watchers, self._watchers = self._watchers, ()
        deadline = self._clock.now() + timeout
        for watcher in watchers:
            watcher.close()
        for watcher in watchers:
            watcher.join(max(0.0, deadline - self._clock.now()))

    def _start(self, name: str, handle: Callable[[Event], None], group: Group) -> Watcher:
        with self._lock:
            if self._closed:
                raise RuntimeError("the event broadcaster is shut down")
            watcher = Watcher(f"{name}-{self._started}", group, handle, limit=self._queue_length)
            self._started += 1
            self._watchers = (*(w for w in self._watchers if not w.closed), watcher)
            return watcher
