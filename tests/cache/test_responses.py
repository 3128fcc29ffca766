"""Caches behind a server or proxy that answers 200 with something else than a list or a watch."""

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.cache import SharedInformer
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.transport import FakeStream, FakeTransport, Step, frame, reply


def config_map(name: str, version: int) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "resourceVersion": str(version)}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta}


def page(version: int, *names: str) -> dict[str, Any]:
    items = [config_map(name, version) for name in names]
    return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": str(version)}, "items": items}


SECRET = config_map("a", 9) | {"kind": "Secret"}
FAILURE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError", "code": 500}
OTHERS: dict[str, object] = {
    "failure": FAILURE,
    "HTML": b"<html>log in</html>",
    "empty object": {},
    "nothing": b"",
    "success": {"kind": "Status", "apiVersion": "v1", "status": "Success"},
    "list of another kind": page(9) | {"kind": "SecretList"},
    "list of another group": page(9) | {"apiVersion": "example.com/v1"},
    "list without a kind": {"metadata": {}, "items": []},
    "items of another kind": page(9) | {"items": [SECRET]},
    "table": {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "9"}, "rows": []},
}


@pytest.fixture
def group() -> Iterator[Group]:
    group = Group()
    yield group
    group.stop()
    group.join(10)


def informer_of(transport: FakeTransport) -> tuple[SharedInformer[ConfigMap], RecordingHandler[ConfigMap]]:
    clock = FakeClock(auto=True)
    client = RESTClient(Config("http://fake"), transport=transport, clock=clock)
    informer: SharedInformer[ConfigMap] = SharedInformer(
        Clientset(client).core_v1.config_maps(""), watch_list=False, clock=clock
    )
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
    return informer, handler


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in OTHERS.items()])
def test_filled_cache_keeps_its_objects_and_lists_again(body: object, group: Group) -> None:
    expired = FakeStream(frame("ERROR", FAILURE | {"reason": "Expired", "code": 410}), end=True)
    steps: list[Step] = [
        reply(page(5, "a", "b")), expired, reply(body), reply(body), reply(page(9, "a", "b", "c")), FakeStream(),
    ]  # fmt: skip
    informer, handler = informer_of(FakeTransport(*steps))
    informer.start(group)
    calls = handler.wait_for(5)
    assert sorted(calls) == [("add", "ns/a"), ("add", "ns/b"), ("add", "ns/c"), ("update", "ns/a"), ("update", "ns/b")]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in OTHERS.items()])
def test_empty_cache_is_not_synced_by_another_response(body: object, group: Group) -> None:
    first = FakeStream()
    informer, handler = informer_of(FakeTransport(reply(body), reply(page(5, "a")), first))
    informer.start(group)
    assert handler.wait_for(1) == [("add", "ns/a")]
    first.event("MODIFIED", config_map("b", 6))
    assert handler.wait_for(2) == [("add", "ns/a"), ("add", "ns/b")]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in OTHERS.items() if name != "nothing"])
def test_watch_of_another_response_is_followed_by_a_list(body: object, group: Group) -> None:
    steps: list[Step] = [reply(page(5, "a")), reply(body), reply(page(6, "a", "b")), FakeStream()]
    informer, handler = informer_of(FakeTransport(*steps))
    informer.start(group)
    calls = handler.wait_for(3)
    assert ("add", "ns/b") in calls
    assert {what for what, _ in calls} == {"add", "update"}
