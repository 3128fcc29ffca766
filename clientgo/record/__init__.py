"""Events about API objects, as shown by `kubectl describe` and `kubectl get events`.

    with EventBroadcaster() as broadcaster:
        broadcaster.start_logging()
        broadcaster.start_recording_to_sink(sink_for(clientset))
        recorder = broadcaster.new_recorder(component="sample-controller")
        recorder.event(foo, NORMAL, "Synced", "Foo synced successfully")

A recorder never blocks: it queues the event, and a thread per sink correlates and sends it. `recorder.event` with an
`action` records an event as of events.k8s.io/v1: equal ones become a series.
"""

from clientgo.record.broadcaster import EventBroadcaster
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.events import NORMAL, WARNING, reference_to
from clientgo.record.fake import FakeRecorder
from clientgo.record.recorder import EventRecorder
from clientgo.record.sinks import EventSink, sink_for

__all__ = [
    "EventBroadcaster", "EventRecorder", "EventCorrelator", "CorrelatorOptions", "EventSink", "FakeRecorder", "NORMAL",
    "WARNING", "reference_to", "sink_for",
]  # fmt: skip
