"""Notes of series: the server shows the newest one."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clients.events_v1 import EventsV1
from clientgo.kubernetes.types.core_v1 import ObjectReference
from clientgo.record import EventBroadcaster, sink_for
from clientgo.record.sinks import CoreEventClient
from clientgo.rest import RESTClient

NODE = ObjectReference(kind="Node", api_version="v1", name="n")


@pytest.fixture(scope="module")
def server() -> Iterator[RESTClient]:
    with Environment(server=BundledServer(simulate=False)) as config, closing(RESTClient(config)) as client:
        yield client


def record(target: Any, about: Any, *notes: str) -> None:
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink_for(target))
        recorder = broadcaster.new_recorder(component="example.com/notes", host="h")
        for note in notes:
            recorder.event(about, "Normal", "Scaled", note, action="Scaling")


@pytest.mark.integration
@pytest.mark.feature("B-EV-03")
@pytest.mark.parametrize("name", ["default", "kube-public", ""], ids=["same", "another", "cluster-scoped"])
def test_series_has_the_newest_note_in_the_namespace_of_its_object(server: RESTClient, name: str) -> None:
    about = ObjectReference(kind="Thing", api_version="example.com/v1", name=f"of-{name}", namespace=name or None)
    record(server, about, "old", "new")
    events = EventsV1(server).events(name or "default").list().items
    (stored,) = [event for event in events if event.regarding == about]
    assert (stored.note, stored.series.count if stored.series is not None else 0) == ("new", 2)


@pytest.mark.integration
def test_note_longer_than_the_limit_is_stored_up_to_a_character(server: RESTClient) -> None:
    record(server, NODE, "é" * 600, "€" * 600)
    (stored,) = [event for event in CoreEventClient(server, "default").list().items if event.involved_object == NODE]
    assert stored.message == "€" * 340 + "..."
