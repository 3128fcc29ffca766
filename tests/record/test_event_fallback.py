"""Events of events.k8s.io/v1 where the group is not served, and recorders of one shape over those of the other."""

import logging

import pytest

from clientgo.errors import ApiError, Forbidden, NotFound, StatusDetails
from clientgo.kubernetes.types import core_v1, events_v1
from clientgo.kubernetes.types.core_v1 import ObjectReference, Pod
from clientgo.meta import ObjectMeta, Scheme, replace
from clientgo.record import FakeRecorder
from clientgo.record.events import nanoseconds
from clientgo.record.recorderadapter import EventRecorderAdapter, SeriesEventRecorder
from clientgo.record.series import micro_time, series_patch
from clientgo.record.seriesbroadcaster import SeriesBroadcaster
from clientgo.record.seriessink import from_core, series_sink_for, to_core
from clientgo.record.sink import EventClient
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.requester import FakeRequester

POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
NODE = ObjectReference(kind="Node", api_version="v1", name="n")
AT = micro_time(nanoseconds(1_700_000_000.0))
EVENT = events_v1.Event(
    metadata=ObjectMeta(name="foo.1", namespace="baz", annotations={"a": "b"}),
    type="Normal", reason="Scaled", action="Scaling", note="3 replicas", event_time=AT,
    regarding=ObjectReference(kind="Pod", namespace="baz", name="foo", uid="bar"), related=NODE,
    reporting_controller="sample-controller", reporting_instance="sample-controller-host",
)  # fmt: skip
SERIES = replace(EVENT, series=events_v1.EventSeries(count=2, last_observed_time=AT))
NOT_SERVED = NotFound("the server could not find the requested resource")
NO_NAMESPACE = NotFound('namespaces "baz" not found', details=StatusDetails(kind="namespaces", name="baz"))


def a_server_without_the_group(error: ApiError = NOT_SERVED) -> FakeRequester:
    requester = FakeRequester(scheme=Scheme(core_v1.Event, events_v1.Event), clock=FakeClock())

    def refuse(action: Action) -> tuple[bool, object]:
        if action.resource.group == "events.k8s.io":
            raise error
        return False, None

    requester.prepend_reactor("*", "events", refuse)
    return requester


def calls(requester: FakeRequester) -> list[str]:
    return [f"{action.verb} {action.resource.group or 'core'}" for action in requester.actions]


@pytest.mark.parametrize("event", [EVENT, SERIES], ids=["single", "series"])
def test_an_event_is_the_same_in_both_groups(event: events_v1.Event) -> None:
    assert from_core(to_core(event)) == event
    core = to_core(event)
    assert (core.message, core.involved_object.name, core.reporting_component) == (
        "3 replicas", "foo", "sample-controller",
    )  # fmt: skip


def test_the_group_is_asked_for_once_and_core_events_are_written_from_then_on() -> None:
    requester = a_server_without_the_group()
    sink = series_sink_for(requester)
    kept = sink.create(EVENT)
    sink.patch("baz", kept.metadata.name, series_patch(SERIES))
    sink.create(replace(EVENT, metadata=replace(EVENT.metadata, name="foo.2")))
    assert calls(requester) == ["create events.k8s.io", "create core", "patch core", "create core"]
    assert kept == EVENT
    stored = EventClient(requester, "baz").get("foo.1")
    assert (stored.message, stored.action, stored.related) == ("3 replicas", "Scaling", NODE)
    assert stored.series == core_v1.EventSeries(count=2, last_observed_time=AT)


def test_falling_back_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    sink = series_sink_for(a_server_without_the_group())
    with caplog.at_level(logging.INFO, logger="clientgo"):
        sink.create(EVENT)
        sink.create(replace(EVENT, metadata=replace(EVENT.metadata, name="foo.2")))
    assert [record.message for record in caplog.records] == [
        "events.k8s.io/v1 is not served; events are sent as core/v1"
    ]
    assert repr(sink) == "<FallbackSink core/v1>"


@pytest.mark.parametrize("error", [NO_NAMESPACE, Forbidden("no")], ids=["no namespace", "forbidden"])
def test_another_refusal_is_no_reason_to_fall_back(error: ApiError) -> None:
    requester = a_server_without_the_group(error)
    sink = series_sink_for(requester)
    with pytest.raises(type(error)):
        sink.create(EVENT)
    assert calls(requester) == ["create events.k8s.io"]


def test_a_series_that_expired_is_no_reason_to_fall_back() -> None:
    requester = FakeRequester(scheme=Scheme(core_v1.Event, events_v1.Event), clock=FakeClock())
    with pytest.raises(NotFound):
        series_sink_for(requester).patch("baz", "foo.1", series_patch(SERIES))
    assert calls(requester) == ["patch events.k8s.io"]


@pytest.mark.feature("B-EV-04")
def test_a_broadcaster_records_series_where_the_group_is_not_served() -> None:
    requester = a_server_without_the_group()
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(series_sink_for(requester))
        recorder = broadcaster.new_recorder("sample-controller", host="h")
        for _ in range(2):
            recorder.eventf(POD, "Normal", "Scaled", "Scaling", "%d replicas", 3)
    (stored,) = EventClient(requester, "baz").list().items
    assert (stored.message, stored.series and stored.series.count) == ("3 replicas", 2)


@pytest.mark.feature("B-EV-04", "C-07")
def test_code_for_the_newer_recorders_may_be_given_one_of_the_older() -> None:
    fake = FakeRecorder(10)
    recorder: SeriesEventRecorder = EventRecorderAdapter(fake)
    recorder.eventf(POD, "Normal", "Scaled", "Scaling", "%d replicas", 3, related=NODE)
    recorder.eventf(POD, "Warning", "Failed", "Scaling", "100% failed", annotations={"a": "b"})
    assert fake.drain() == ["Normal Scaled 3 replicas", "Warning Failed 100% failed map[a:b]"]


@pytest.mark.feature("B-EV-01", "C-07")
def test_a_series_recorder_is_of_the_shape_such_code_wants() -> None:
    seen: list[events_v1.Event] = []
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        recorder: SeriesEventRecorder = broadcaster.new_recorder("c")
        recorder.eventf(POD, "Normal", "R", "a", "n", related=NODE, annotations={"a": "b"})
    assert [(event.related, dict(event.metadata.annotations)) for event in seen] == [(NODE, {"a": "b"})]
