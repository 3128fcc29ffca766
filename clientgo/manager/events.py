"""Event recorders of one cluster for both API groups, sending in the background between `start` and `end`."""

import threading

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.record import (
    EventBroadcaster,
    EventRecorder,
    SeriesBroadcaster,
    SeriesEventRecorder,
    series_sink_for,
    sink_for,
)
from clientgo.rest.request import Requester


class Events:
    """Factory of event recorders that send through `requester`. Events recorded before `start` are dropped."""

    def __init__(self, requester: Requester, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._requester = requester
        self._clock = clock
        self._core = EventBroadcaster(clock=clock)
        self._lock = threading.Lock()
        # Guarded by _lock. Created with its first recorder: most programs need no threads for it.
        self._series: SeriesBroadcaster | None = None
        self._sending = False

    def recorder(self, component: str) -> EventRecorder:
        """Return a recorder of core/v1 events."""
        return self._core.new_recorder(component=component)

    def series_recorder(self, controller: str) -> SeriesEventRecorder:
        """Return a recorder of events.k8s.io/v1 events."""
        with self._lock:
            if self._series is None:
                self._series = SeriesBroadcaster(clock=self._clock)
                if self._sending:
                    self._series.start_recording_to_sink(series_sink_for(self._requester))
            return self._series.new_recorder(controller)

    def start(self) -> None:
        """Send all events recorded from now on."""
        # Threads are started under the lock: a recorder created concurrently would have no sink, or two.
        with self._lock:
            self._sending = True
            self._core.start_recording_to_sink(sink_for(self._requester))
            if self._series is not None:
                self._series.start_recording_to_sink(series_sink_for(self._requester))

    def end(self) -> None:
        """Send queued events, within a few seconds, and accept no more. May be called again."""
        with self._lock:
            self._sending, series = False, self._series
        self._core.shutdown()
        if series is not None:
            series.shutdown()
