"""Events of one cluster, in either of the two API groups; sent in the background from `start` on, until `end`."""

import threading

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.record import EventBroadcaster, EventRecorder, sink_for
from clientgo.record.recorderadapter import SeriesEventRecorder
from clientgo.record.seriesbroadcaster import SeriesBroadcaster
from clientgo.record.seriessink import series_sink_for
from clientgo.rest.request import Requester


class Events:
    """Makes recorders; `requester` is what their events are sent by. Nothing is sent before `start`, nor kept."""

    def __init__(self, requester: Requester, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._requester = requester
        self._clock = clock
        self._core = EventBroadcaster(clock=clock)
        self._lock = threading.Lock()
        # Guarded by _lock. The second is made with its first recorder: its threads would be for nothing.
        self._series: SeriesBroadcaster | None = None
        self._sending = False

    def recorder(self, component: str) -> EventRecorder:
        """A recorder of core/v1's events."""
        return self._core.new_recorder(component=component)

    def series_recorder(self, controller: str) -> SeriesEventRecorder:
        """A recorder of events.k8s.io/v1's events."""
        with self._lock:
            if self._series is None:
                self._series = SeriesBroadcaster(clock=self._clock)
                if self._sending:
                    self._series.start_recording_to_sink(series_sink_for(self._requester))
            return self._series.new_recorder(controller)

    def start(self) -> None:
        """Send what is recorded from now on."""
        # Under the lock, threads begin and all: a recorder made meanwhile would have no sink, or two.
        with self._lock:
            self._sending = True
            self._core.start_recording_to_sink(sink_for(self._requester))
            if self._series is not None:
                self._series.start_recording_to_sink(series_sink_for(self._requester))

    def end(self) -> None:
        """Send what waits, within a few seconds, and take no more. May be called again."""
        with self._lock:
            self._sending, series = False, self._series
        self._core.shutdown()
        if series is not None:
            series.shutdown()
