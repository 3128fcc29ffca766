from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testing.clock import FakeClock
from clientgo_apiserver.admission.namespaces import create_initial
from clientgo_apiserver.cluster.events import EVENTS, ComponentEvents, EventExpiry
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import State

Object = dict[str, Any]


class Recording:
    """A recorder of events about one config map, and a server that lets them expire."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.scheduler = ManualScheduler(self.clock)
        self.state = State(self.scheduler, self.clock)
        create_initial(self.state)
        self.internal = Internal(Api(self.state))
        self.expiry = EventExpiry(self.internal)
        self.expiry.start()
        self.recorder = ComponentEvents(self.state, "tester")
        obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}}
        self.map = self.internal.create(("", "configmaps"), "default", obj)

    def events(self) -> list[tuple[str, int]]:
        return sorted((event["message"], event["count"]) for event in self.state.store.list(EVENTS))

    def step(self, seconds: float) -> None:
        self.clock.step(seconds)
        self.scheduler.run()


@pytest.fixture
def recording() -> Iterator[Recording]:
    built = Recording()
    yield built
    built.expiry.stop()


def test_event_names_the_object_and_the_component(recording: Recording) -> None:
    recording.recorder.record(recording.map, "Tested", "it works", host="node-1")
    (event,) = recording.state.store.list(EVENTS, "default")
    assert event["involvedObject"]["uid"] == recording.map["metadata"]["uid"]
    assert (event["source"], event["type"]) == ({"component": "tester", "host": "node-1"}, "Normal")
    read = recording.internal.patch(("", "events"), "default", event["metadata"]["name"], {"message": "changed"})
    assert read["reason"] == "Tested"


def test_repeated_event_is_counted(recording: Recording) -> None:
    for _ in range(3):
        recording.recorder.record(recording.map, "Tested", "again")
    assert recording.events() == [("again", 3)]


def test_tenth_similar_event_is_combined_with_those_after_it(recording: Recording) -> None:
    for number in range(12):
        recording.recorder.record(recording.map, "Tested", f"number {number}")
    assert len(recording.events()) == 10
    assert recording.events()[0] == ("(combined from similar events): number 11", 3)


def test_events_beyond_the_burst_of_one_object_are_dropped(recording: Recording) -> None:
    for _ in range(40):
        recording.recorder.record(recording.map, "Tested", "again")
    assert recording.events() == [("again", 25)]
    recording.step(300)
    recording.recorder.record(recording.map, "Tested", "again")
    assert recording.events() == [("again", 26)]


def test_event_expires_an_hour_after_its_last_write(recording: Recording) -> None:
    recording.recorder.record(recording.map, "Tested", "old")
    recording.recorder.record(recording.map, "Tested", "repeated")
    recording.step(3000)
    recording.recorder.record(recording.map, "Tested", "repeated")
    recording.step(600)
    assert recording.events() == [("repeated", 1)], "it was written as the first one had expired"
    recording.step(3600)
    assert recording.events() == []


def test_event_whose_removal_failed_expires_once_the_server_writes_again(recording: Recording) -> None:
    recording.recorder.record(recording.map, "Tested", "old")
    assert recording.events() == [("old", 1)], "it is written now"
    recording.state.store.full = True
    recording.step(3600)
    assert recording.events() == [("old", 1)]
    recording.state.store.full = False
    recording.step(60)
    assert recording.events() == []


def test_event_that_the_store_rejects_is_written_later_with_its_time(recording: Recording) -> None:
    recording.state.store.full = True
    recording.recorder.record(recording.map, "Tested", "rejected")
    for _ in range(40):  # more attempts than events may follow one another
        recording.step(60)
    assert recording.events() == []
    recording.state.store.full = False
    recording.step(60)
    assert recording.events() == [("rejected", 1)]
    (event,) = recording.state.store.list(EVENTS)
    assert event["firstTimestamp"] == recording.map["metadata"]["creationTimestamp"]


def test_no_event_is_recorded_in_a_terminating_namespace(recording: Recording) -> None:
    space = recording.state.store.get(("", "namespaces"), "", "default")
    assert space is not None
    marked = {**space["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    recording.state.store.put(("", "namespaces"), {**space, "metadata": marked})
    recording.recorder.record(recording.map, "Tested", "late")
    assert recording.events() == []
