"""Events: what a controller tells the people who look at its objects (`kubectl describe`, `kubectl get events`).

    with EventBroadcaster() as broadcaster:
        broadcaster.start_logging()
        broadcaster.start_recording_to_sink(sink_for(clientset))
        recorder = broadcaster.new_recorder(component="sample-controller")
        recorder.event(foo, NORMAL, "Synced", "Foo synced successfully")

A recorder never waits: the event is queued, and a thread of the sink's counts, aggregates and sends it.

Events of the newer events.k8s.io/v1, with actions, related objects and series, are recorded by
`clientgo.record.seriesbroadcaster`.
"""

from clientgo.record.broadcaster import EventBroadcaster
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.events import NORMAL, WARNING
from clientgo.record.fake import FakeRecorder
from clientgo.record.recorder import EventRecorder
from clientgo.record.reference import reference_to
from clientgo.record.sink import EventSink, sink_for

__all__ = [
    "EventBroadcaster", "EventRecorder", "EventCorrelator", "CorrelatorOptions", "EventSink", "FakeRecorder", "NORMAL",
    "WARNING", "reference_to", "sink_for",
]  # fmt: skip
