"""Sinks: events with an action are stored as core/v1 events with all their fields."""

import pytest

from clientgo.kubernetes.types.core_v1 import Event, EventSource, ObjectReference, Pod
from clientgo.meta import ObjectMeta, Scheme
from clientgo.record import EventBroadcaster, sink_for
from clientgo.record.sinks import CoreEventClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester

POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
NODE = ObjectReference(kind="Node", api_version="v1", name="n")


@pytest.mark.behaviour("EV-02")
@pytest.mark.feature("B-EV-01", "B-EV-04")
def test_series_are_stored_as_core_events_with_action_and_related_object() -> None:
    requester = FakeRequester(scheme=Scheme(Event), clock=FakeClock())
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink_for(requester))
        recorder = broadcaster.new_recorder(component="sample-controller", host="h")
        for count in (3, 4):
            recorder.eventf(POD, "Normal", "Scaled", "%d replicas", count, action="Scaling", related=NODE)
    assert [action.verb for action in requester.actions] == ["create", "patch"]
    (stored,) = CoreEventClient(requester, "baz").list().items
    assert (stored.message, stored.action, stored.related) == ("4 replicas", "Scaling", NODE)
    assert (stored.reporting_component, stored.reporting_instance) == ("sample-controller", "sample-controller-h")
    assert (stored.count, stored.source, stored.series and stored.series.count) == (None, EventSource(), 2)


@pytest.mark.feature("B-EV-01", "C-07")
def test_event_has_its_related_object_and_annotations() -> None:
    seen: list[Event] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        recorder = broadcaster.new_recorder(component="c")
        recorder.event(POD, "Normal", "R", "n", action="a", related=NODE, annotations={"a": "b"})
    assert [(event.related, dict(event.metadata.annotations)) for event in seen] == [(NODE, {"a": "b"})]
    assert [(event.series, event.count) for event in seen] == [(None, None)]


def test_event_without_an_action_may_have_a_related_object() -> None:
    seen: list[Event] = []
    with EventBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        broadcaster.new_recorder(component="any name").event(POD, "Normal", "R", "n", related=NODE)
    assert [(event.related, event.count, event.series) for event in seen] == [(NODE, 1, None)]
