"""Events about API objects, as shown by `kubectl describe` and `kubectl get events`.

    with EventBroadcaster() as broadcaster:
        broadcaster.start_logging()
        broadcaster.start_recording_to_sink(sink_for(clientset))
        recorder = broadcaster.new_recorder(component="sample-controller")
        recorder.event(foo, NORMAL, "Synced", "Foo synced successfully")

A recorder never blocks: it queues the event, and a thread per sink correlates and sends it. `SeriesBroadcaster` and
`series_sink_for` do the same for events.k8s.io/v1, whose events name an action and a related object.
"""

from clientgo.record.broadcaster import EventBroadcaster, SeriesBroadcaster
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.events import NORMAL, WARNING, reference_to
from clientgo.record.fake import FakeRecorder
from clientgo.record.recorder import EventRecorder, EventRecorderAdapter, SeriesEventRecorder
from clientgo.record.sinks import EventSink, series_sink_for, sink_for

__all__ = [
    "EventBroadcaster", "EventRecorder", "EventCorrelator", "CorrelatorOptions", "EventSink", "FakeRecorder", "NORMAL",
    "WARNING", "reference_to", "sink_for",
    "SeriesBroadcaster", "SeriesEventRecorder", "EventRecorderAdapter", "series_sink_for",
]  # fmt: skip
