"""Idle watches: which ones are replaced, and which ones are only quiet."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.cache import SharedInformer
from clientgo.kubernetes.clients.core_v1 import ConfigMapClient
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.rest import Config, RESTClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.transport import FakeStream, FakeTransport, reply

CONFIG = Config("http://fake")
LIMIT = CONFIG.watch_idle_timeout


def config_map(name: str, version: int) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version)}}


def page(*items: dict[str, Any], version: int) -> Any:
    return reply({"kind": "ConfigMapList", "metadata": {"resourceVersion": str(version)}, "items": list(items)})


def client(clock: FakeClock, *steps: Any) -> tuple[FakeTransport, ConfigMapClient]:
    transport = FakeTransport(*steps)
    return transport, Clientset(RESTClient(CONFIG, transport=transport, clock=clock)).core_v1.config_maps("ns")


@contextmanager
def following(source: ConfigMapClient, clock: FakeClock) -> Iterator[RecordingHandler[ConfigMap]]:
    informer = SharedInformer(source, watch_list=False, clock=clock)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add)
    group = Group()
    informer.start(group)
    try:
        yield handler
    finally:
        group.stop()
        informer.close()
        group.join(10)


def test_idle_watch_is_replaced_from_the_last_version_without_a_failure() -> None:
    clock = FakeClock()
    idle, next_one = FakeStream(clock=clock), FakeStream(clock=clock)
    transport, source = client(clock, page(config_map("a", 5), version=10), idle, page(version=12), next_one)
    with recorded_metrics() as kept, following(source, clock) as handler:
        idle.event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "10"}})
        idle.event("ADDED", config_map("b", 11))
        handler.wait_for(2)
        clock.wait_for_waiters(2)  # the stream's reader, and the handler's thread
        clock.step(LIMIT)
        next_one.event("ADDED", config_map("c", 13))
        assert handler.wait_for(3)[-1] == ("add", "ns/c")
    assert [sent.streamed for sent in transport.sent] == [False, True, False, True]
    assert transport.sent[2].target.endswith("limit=1")  # only asked whether it is still the same server
    assert "resourceVersion=11" in transport.sent[3].target
    assert not kept.series("reflector_failures_total")


def test_quiet_watch_without_bookmarks_stays_open_until_its_time_is_over() -> None:
    clock = FakeClock()
    quiet = FakeStream(clock=clock)
    transport, source = client(clock, page(config_map("a", 5), version=10), quiet)
    with following(source, clock) as handler:
        for _ in range(3):
            clock.wait_for_waiters(2)
            clock.step(LIMIT)
        quiet.event("ADDED", config_map("b", 11))
        assert handler.wait_for(2)[-1] == ("add", "ns/b")
    assert [sent.streamed for sent in transport.sent] == [False, True]


def test_watch_of_a_client_ends_when_it_is_idle_after_a_bookmark() -> None:
    clock = FakeClock(auto=True)
    stream = FakeStream(clock=clock)
    stream.event("ADDED", config_map("a", 5))
    stream.event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "9"}})
    _, source = client(clock, stream)
    assert [event.object.metadata.name for event in source.watch()] == ["a"]
    assert clock.now() == LIMIT
