"""Notes of series: the server shows the newest one where it may change."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.errors import Forbidden
from clientgo.kubernetes.types import core_v1, events_v1
from clientgo.kubernetes.types.core_v1 import ObjectReference, Pod
from clientgo.meta import ObjectMeta, Scheme
from clientgo.record import SeriesBroadcaster, series_sink_for
from clientgo.record.sinks import CoreEventClient, SeriesEventClient
from clientgo.rest import RESTClient
from clientgo.testing.actions import Action
from clientgo.testing.fake import FakeRequester

POD = Pod(metadata=ObjectMeta(name="foo", namespace="baz", uid="bar"))
NODE = ObjectReference(kind="Node", api_version="v1", name="n")


@pytest.fixture(scope="module")
def server() -> Iterator[RESTClient]:
    with Environment(server=BundledServer(simulate=False)) as config, closing(RESTClient(config)) as client:
        yield client


def record(target: Any, about: Any, *notes: str) -> None:
    with SeriesBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(series_sink_for(target))
        recorder = broadcaster.new_recorder("example.com/notes", host="h")
        for note in notes:
            recorder.eventf(about, "Normal", "Scaled", "Scaling", note)


@pytest.mark.integration
@pytest.mark.feature("B-EV-03")
@pytest.mark.parametrize("name", ["default", "kube-public", ""], ids=["same", "another", "cluster-scoped"])
def test_series_has_the_newest_note_in_the_namespace_of_its_object(server: RESTClient, name: str) -> None:
    about = ObjectReference(kind="Thing", api_version="example.com/v1", name=f"of-{name}", namespace=name or None)
    record(server, about, "old", "new")
    events = SeriesEventClient(server, name or "default").list().items
    (stored,) = [event for event in events if event.regarding == about]
    assert (stored.note, stored.series.count if stored.series is not None else 0) == ("new", 2)


@pytest.mark.integration
def test_note_longer_than_the_limit_is_stored_up_to_a_character(server: RESTClient) -> None:
    record(server, NODE, "é" * 600, "€" * 600)
    (stored,) = [event for event in CoreEventClient(server, "default").list().items if event.involved_object == NODE]
    assert stored.message == "€" * 340 + "..."


def test_equal_notes_need_no_permission_in_the_core_group() -> None:
    fake = FakeRequester(scheme=Scheme(core_v1.Event, events_v1.Event))
    record(fake, POD, "same", "same")
    assert [(action.verb, action.resource.group) for action in fake.actions] == [
        ("create", "events.k8s.io"), ("patch", "events.k8s.io"),
    ]  # fmt: skip


def test_first_note_remains_if_events_of_the_core_group_may_not_be_patched() -> None:
    fake = FakeRequester(scheme=Scheme(core_v1.Event, events_v1.Event))

    def refuse(action: Action) -> tuple[bool, object]:
        if not action.resource.group:
            raise Forbidden("no")
        return False, None

    fake.prepend_reactor("patch", "events", refuse)
    record(fake, POD, "old", "new")
    (stored,) = SeriesEventClient(fake, "baz").list().items
    assert (stored.note, stored.series.count if stored.series is not None else 0) == ("old", 2)
