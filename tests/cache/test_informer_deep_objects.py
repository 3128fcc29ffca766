"""An object nested deeper than any decoder goes costs an informer that object, and no other."""

from collections.abc import Iterator

import pytest

from clientgo.cache import SharedInformer
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.rest import Config, RESTClient
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.transport import FakeStream, FakeTransport, reply
from tests.meta.nesting_limit import DEEP


def deep(name: str, version: int) -> bytes:
    meta = f'"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"'.encode()
    return b'{"metadata":{%s,"managedFields":[{"fieldsV1":%s}]}}' % (meta, DEEP)


def good(name: str, version: int) -> bytes:
    return f'{{"metadata":{{"name":"{name}","namespace":"ns","resourceVersion":"{version}"}}}}'.encode()


def page(version: int, *items: bytes) -> bytes:
    head = f'{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":['
    return head.encode() + b",".join(items) + b"]}"


@pytest.fixture
def stream() -> Iterator[FakeStream]:
    stream = FakeStream()
    yield stream
    stream.end()


def test_the_others_are_listed_and_watched_and_it_is_named(stream: FakeStream) -> None:
    transport = FakeTransport(reply(page(5, good("a", 3), deep("bad", 4), good("b", 5))), stream)
    client = RESTClient(Config("http://fake"), transport=transport)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer: SharedInformer[ConfigMap] = SharedInformer(Clientset(client).core_v1.config_maps(""), watch_list=False)
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
    group = Group()
    informer.start(group)
    try:
        stream.event("MODIFIED", deep("a", 6))  # keeps its last good state
        stream.event("ADDED", deep("worse", 7))
        stream.event("DELETED", deep("b", 8))  # of which the name is enough
        stream.event("ADDED", good("c", 9))
        handler.wait_for(4)
        assert {name.name for name in informer.rejects.current()} == {"bad", "a", "worse"}
        assert {one.metadata.name: one.metadata.resource_version for one in informer.indexer.list()} == {
            "a": "3",
            "c": "9",
        }
        assert informer.last_sync_resource_version == "9"
    finally:
        group.stop()
        informer.close()
        group.join(10)
        client.close()
