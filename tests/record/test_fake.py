"""Fake event recorder."""

import pytest

from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta import ObjectMeta
from clientgo.record.fake import FakeRecorder
from clientgo.record.recorder import EventRecorder
from clientgo.stop.lifecycle import Group

POD = Pod(metadata=ObjectMeta(name="p"))


@pytest.mark.feature("B-REC-10", "B-REC-12", "B-EV-04", "C-07")
@pytest.mark.behaviour("REC-15")
def test_events_are_stored_as_strings() -> None:
    fake = FakeRecorder(3)
    recorder: EventRecorder = fake
    recorder.event(POD, "Normal", "Synced", "Foo synced successfully")
    recorder.eventf(POD, "Warning", "Odd", "%d of %s", 1, "two")
    recorder.event(POD, "Normal", "Noted", "100%", annotations={"b": "2", "a": "1"})
    assert fake.drain() == [
        "Normal Synced Foo synced successfully",
        "Warning Odd 1 of two",
        "Normal Noted 100% map[a:1 b:2]",
    ]
    assert fake.drain() == []


@pytest.mark.feature("B-REC-10")
@pytest.mark.behaviour("REC-15")
def test_include_object_appends_the_object() -> None:
    fake = FakeRecorder(1, include_object=True)
    fake.event(POD, "Normal", "R", "m")
    assert fake.drain() == ["Normal R m involvedObject{kind=Pod,apiVersion=v1}"]


@pytest.mark.behaviour("REC-15")
def test_events_are_dropped_without_a_size() -> None:
    fake = FakeRecorder()
    fake.event(POD, "Normal", "R", "m")
    assert fake.drain() == []


@pytest.mark.behaviour("REC-15")
def test_full_queue_blocks_the_caller() -> None:
    fake = FakeRecorder(1)
    fake.event(POD, "Normal", "R", "1")
    assert fake.events is not None
    with Group() as group:
        group.start(fake.event, POD, "Normal", "R", "2", name="recording")
        assert group.alive() == ["recording"]
        assert fake.events.get(timeout=10) == "Normal R 1"
        assert fake.events.get(timeout=10) == "Normal R 2"
        group.join(10)
