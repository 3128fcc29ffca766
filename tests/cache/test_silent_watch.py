"""A watch on which nothing comes any more is given up within the client's idle time, and goes on where it was."""

from typing import Any

from clientgo.cache import SharedInformer
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.rest import Config, RESTClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.transport import FakeStream, FakeTransport, reply

CONFIG = Config("http://fake")
LIMIT = CONFIG.watch_idle_timeout


def config_map(name: str, version: int) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version)}}


def page(*items: dict[str, Any], version: int) -> Any:
    return reply({"kind": "ConfigMapList", "metadata": {"resourceVersion": str(version)}, "items": list(items)})


def test_a_silent_watch_is_replaced_by_another_from_the_last_version_without_a_list() -> None:
    clock, group = FakeClock(), Group()
    silent, next_one = FakeStream(clock=clock), FakeStream(clock=clock)
    transport = FakeTransport(page(config_map("a", 5), version=10), silent, page(version=12), next_one)
    client = RESTClient(CONFIG, transport=transport, clock=clock)
    informer = SharedInformer(Clientset(client).core_v1.config_maps("ns"), watch_list=False, clock=clock)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add)
    informer.start(group)
    silent.event("ADDED", config_map("b", 11))
    handler.wait_for(2)
    clock.wait_for_waiters(2)  # the stream's reader, and the handler's thread
    clock.step(LIMIT)
    next_one.event("ADDED", config_map("c", 13))
    assert handler.wait_for(3)[-1] == ("add", "ns/c")
    group.stop()
    informer.close()
    group.join(10)
    assert [sent.streamed for sent in transport.sent] == [False, True, False, True]
    assert transport.sent[2].target.endswith("limit=1")  # only asked whether it is still the same server
    assert "resourceVersion=11" in transport.sent[3].target
