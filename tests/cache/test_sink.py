"""Objects that a server should not have sent, and objects that their class rejects, in an informer's list and watch."""

import json
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from clientgo.cache import SharedInformer
from clientgo.cache.distributor import UndecodableObjects
from clientgo.meta import ObjectMeta
from clientgo.meta.codec import Undecodable
from clientgo.meta.scheme import api_type
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.transport import FakeStream, FakeTransport, reply
from clientgo.typed import TypedClient
from tests.races import CALLS, race

ERRORS: dict[str, BaseException] = {
    "lookup": LookupError("no such state"),
    "exit": SystemExit(1),
    "cancelled": CancelledError(),
    "assertion": AssertionError(),
}


@dataclass(frozen=True)
class GateSpec:
    state: str = "open"

    def __post_init__(self) -> None:
        if self.state in ERRORS:
            raise ERRORS[self.state]


@api_type(group="test.example", version="v1")
@dataclass(frozen=True)
class Gate:
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: GateSpec = GateSpec()


class Gates(TypedClient[Gate]):
    kind = Gate


def gate(name: str, version: int, state: str = "open", *, kind: str = "Gate", group: str = "test.example/") -> Any:
    meta = {"name": name, "namespace": "ns", "resourceVersion": str(version)}
    return {"kind": kind, "apiVersion": f"{group}v1", "metadata": meta, "spec": {"state": state}}


def gates(version: int, *items: Any) -> bytes:
    head = {"kind": "GateList", "apiVersion": "test.example/v1", "metadata": {"resourceVersion": str(version)}}
    return json.dumps({**head, "items": items}).encode()


@contextmanager
def caching(*responses: Any) -> Iterator[tuple[SharedInformer[Gate], RecordingHandler[Gate]]]:
    """Run an informer over these responses, the last of which is an open watch."""
    streams = isinstance(responses[0], FakeStream)
    client = RESTClient(Config("http://fake"), transport=FakeTransport(*responses))
    handler: RecordingHandler[Gate] = RecordingHandler()
    informer: SharedInformer[Gate] = SharedInformer(Gates(client, ""), watch_list=streams)
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
    group = Group()
    informer.start(group)
    try:
        yield informer, handler
    finally:
        group.stop()
        responses[-1].end()
        group.join(10)
        client.close()


OTHERS = {
    "another kind": gate("a", 9, kind="Door"),
    "another group": gate("a", 9, group=""),
    "no name": {**gate("", 9), "metadata": {"namespace": "ns", "uid": "77"}},
}


@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.parametrize("change", ["ADDED", "MODIFIED", "DELETED"])
def test_watch_event_about_another_object_changes_nothing_and_is_reported(case: str, change: str) -> None:
    stream = FakeStream()
    with caching(reply(gates(5, gate("a", 3))), stream) as (informer, handler):
        stream.event(change, json.dumps(OTHERS[case]).encode())
        stream.event("ADDED", json.dumps(gate("b", 10)).encode())
        assert handler.wait_for(2) == [("add", "ns/a"), ("add", "ns/b")]
        assert informer.undecodable.total == informer.state().undecodable == 1
        [failure] = informer.state().failures
        assert failure.name.name == OTHERS[case]["metadata"].get("name", "")


@pytest.mark.parametrize("case", OTHERS)
def test_list_item_that_is_another_object_is_reported_and_the_others_are_cached(case: str) -> None:
    with caching(reply(gates(5, gate("b", 3), OTHERS[case], gate("c", 4))), FakeStream()) as (informer, handler):
        assert handler.wait_for(2) == [("add", "ns/b"), ("add", "ns/c")]
        assert informer.undecodable.total == 1


def send(stream: FakeStream, change: str, obj: Any) -> None:
    stream.event(change, json.dumps(obj).encode())


@pytest.mark.parametrize("state", ERRORS)
@pytest.mark.parametrize("streamed", [False, True], ids=["list", "streamed list"])
def test_object_that_its_class_rejects_is_skipped_and_reported(state: str, streamed: bool) -> None:
    stream = FakeStream()
    first = [gate("a", 3), gate("bad", 4, state), gate("b", 5)]
    if streamed:
        for obj in first:
            send(stream, "ADDED", obj)
        end = {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}
        send(stream, "BOOKMARK", gate("", 5) | {"metadata": end})
    responses = (stream,) if streamed else (reply(gates(5, *first)), stream)
    with caching(*responses) as (informer, handler):
        assert handler.wait_for(2) == [("add", "ns/a"), ("add", "ns/b")]
        send(stream, "MODIFIED", gate("a", 6, state))  # keeps its last valid state
        send(stream, "DELETED", gate("b", 7, state))
        send(stream, "MODIFIED", gate("bad", 8))
        assert handler.wait_for(4)[2:] == [("delete", "ns/b"), ("add", "ns/bad")]
        assert {obj.metadata.name: obj.metadata.resource_version for obj in informer.indexer.list()} == {
            "a": "3", "bad": "8",
        }  # fmt: skip
        [failure] = informer.state().failures
        assert (failure.hook, failure.name.name, informer.undecodable.total) == ("decode", "a", 2)
        assert type(ERRORS[state]).__name__ in failure.error
        assert informer.last_sync_resource_version == "8"


def test_states_that_several_reflectors_cannot_decode_are_counted_once_each() -> None:
    objects = UndecodableObjects("Gate")
    errors = [Undecodable("Gate", ObjectMeta(name=str(number), namespace="ns"), "odd") for number in range(CALLS)]
    race(lambda number: objects.add(errors[number % CALLS]), lambda: repr(objects))
    assert objects.total == len(objects) == CALLS
