"""Sinks of events.k8s.io/v1: conversion and fallback to core/v1; adapter of recorders."""

import logging

import pytest

from clientgo.errors import ApiError, Forbidden, NotFound, StatusDetails
from clientgo.kubernetes.types import core_v1, events_v1
from clientgo.kubernetes.types.core_v1 import ObjectReference, Pod
from clientgo.meta import ObjectMeta, Scheme, replace
from clientgo.record import (
    EventRecorderAdapter,
    FakeRecorder,
    SeriesBroadcaster,
    SeriesEventRecorder,
    series_sink_for,
)
from clientgo.record.events import micro_time, nanoseconds
from clientgo.record.series import series_patch
from clientgo.record.sinks import CoreEventClient, from_events_v1, to_events_v1
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester

POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
NODE = ObjectReference(kind="Node", api_version="v1", name="n")
AT = micro_time(nanoseconds(1_700_000_000.0))
EVENT = core_v1.Event(
    metadata=ObjectMeta(name="foo.1", namespace="baz", annotations={"a": "b"}),
    type="Normal", reason="Scaled", action="Scaling", message="3 replicas", event_time=AT,
    involved_object=ObjectReference(kind="Pod", namespace="baz", name="foo", uid="bar"), related=NODE,
    reporting_component="sample-controller", reporting_instance="sample-controller-host",
)  # fmt: skip
SERIES = replace(EVENT, series=core_v1.EventSeries(count=2, last_observed_time=AT))
NOT_SERVED = NotFound("the server could not find the requested resource")
NO_NAMESPACE = NotFound('namespaces "baz" not found', details=StatusDetails(kind="namespaces", name="baz"))


def server_without_the_group(error: ApiError = NOT_SERVED) -> FakeRequester:
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
def test_conversion_to_events_v1_and_back_keeps_every_field(event: core_v1.Event) -> None:
    converted = to_events_v1(event)
    assert from_events_v1(converted) == event
    assert (converted.note, converted.regarding, converted.reporting_controller) == (
        "3 replicas", event.involved_object, "sample-controller",
    )  # fmt: skip


def test_core_events_are_written_after_one_request_to_a_group_not_served() -> None:
    requester = server_without_the_group()
    sink = series_sink_for(requester)
    retained = sink.create(EVENT)
    sink.patch("baz", retained.metadata.name, series_patch(SERIES).patch)
    sink.create(replace(EVENT, metadata=replace(EVENT.metadata, name="foo.2")))
    assert calls(requester) == ["create events.k8s.io", "create core", "patch core", "create core"]
    assert retained == EVENT
    stored = CoreEventClient(requester, "baz").get("foo.1")
    assert (stored.message, stored.action, stored.related) == ("3 replicas", "Scaling", NODE)
    assert stored.series == core_v1.EventSeries(count=2, last_observed_time=AT)


def test_fallback_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    sink = series_sink_for(server_without_the_group())
    with caplog.at_level(logging.INFO, logger="clientgo"):
        sink.create(EVENT)
        sink.create(replace(EVENT, metadata=replace(EVENT.metadata, name="foo.2")))
    assert [record.msg for record in caplog.records] == ["events.k8s.io/v1 is not served; events are sent as core/v1"]
    assert repr(sink) == "<SeriesSink core/v1>"


@pytest.mark.parametrize("error", [NO_NAMESPACE, Forbidden("no")], ids=["no namespace", "forbidden"])
def test_other_rejections_do_not_cause_a_fallback(error: ApiError) -> None:
    requester = server_without_the_group(error)
    sink = series_sink_for(requester)
    with pytest.raises(type(error)):
        sink.create(EVENT)
    assert calls(requester) == ["create events.k8s.io"]


def test_expired_series_does_not_cause_a_fallback() -> None:
    requester = FakeRequester(scheme=Scheme(core_v1.Event, events_v1.Event), clock=FakeClock())
    with pytest.raises(NotFound):
        series_sink_for(requester).patch("baz", "foo.1", series_patch(SERIES).patch)
    assert calls(requester) == ["patch events.k8s.io"]


@pytest.mark.feature("B-EV-04")
def test_series_are_recorded_if_the_group_is_not_served() -> None:
    requester = server_without_the_group()
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(series_sink_for(requester))
        recorder = broadcaster.new_recorder("sample-controller", host="h")
        for _ in range(2):
            recorder.eventf(POD, "Normal", "Scaled", "Scaling", "%d replicas", 3)
    (stored,) = CoreEventClient(requester, "baz").list().items
    assert (stored.message, stored.series and stored.series.count) == ("3 replicas", 2)


@pytest.mark.feature("B-EV-04", "C-07")
def test_adapter_records_series_events_as_core_events() -> None:
    fake = FakeRecorder(10)
    recorder: SeriesEventRecorder = EventRecorderAdapter(fake)
    recorder.eventf(POD, "Normal", "Scaled", "Scaling", "%d replicas", 3, related=NODE)
    recorder.eventf(POD, "Warning", "Failed", "Scaling", "100% failed", annotations={"a": "b"})
    assert fake.drain() == ["Normal Scaled 3 replicas", "Warning Failed 100% failed map[a:b]"]


@pytest.mark.feature("B-EV-01", "C-07")
def test_series_recorder_sets_related_object_and_annotations() -> None:
    seen: list[core_v1.Event] = []
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        recorder: SeriesEventRecorder = broadcaster.new_recorder("c")
        recorder.eventf(POD, "Normal", "R", "a", "n", related=NODE, annotations={"a": "b"})
    assert [(event.related, dict(event.metadata.annotations)) for event in seen] == [(NODE, {"a": "b"})]
