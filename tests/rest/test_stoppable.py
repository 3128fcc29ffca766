"""Streams and switched connections that nothing refers to any more."""

from collections.abc import Callable

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.clients.core_v1 import ConfigMapClient, PodClient
from clientgo.meta.listwatch import ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.rest.limits import InFlightRequest
from clientgo.rest.transport import StoppableDuplex
from clientgo.stop.stopping import StopEvent, ends_with
from clientgo.streams import CommandResult
from clientgo.testing.commands import AnsweredCommand
from clientgo.testing.transport import FakeStream, FakeTransport

OPENED: dict[str, Callable[[RESTClient], object]] = {
    "watch": lambda client: ConfigMapClient(client, "ns").watch(),
    "watch from a version": lambda client: ConfigMapClient(client, "ns").watch_from(ListOptions()),
    "log": lambda client: PodClient(client, "ns").logs("a", follow=True),
    "iterated watch": lambda client: next(iter(ConfigMapClient(client, "ns").watch())),
}


@pytest.mark.parametrize("opened", OPENED.values(), ids=OPENED)
def test_forgotten_stream_is_closed(opened: Callable[[RESTClient], object]) -> None:
    stream, stop = FakeStream(), StopEvent()
    stream.event("ADDED", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    client = RESTClient(Config("http://fake"), transport=FakeTransport(stream))
    with ends_with(stop):
        opened(client)
    assert stream.closed.is_set()
    assert repr(stop.scope) == "<StopScope not stopped, 0 callbacks>"


def test_forgotten_connection_of_a_process_is_closed() -> None:
    stop = StopEvent()
    headers = (("Sec-WebSocket-Key", "key"), ("Sec-WebSocket-Protocol", "v5.channel.k8s.io"))
    duplex = AnsweredCommand(CommandResult(0, b"", b""), headers)
    with InFlightRequest(None, SYSTEM_CLOCK, (stop.scope,)) as request:
        StoppableDuplex(duplex, request)
    assert duplex.closed
    assert repr(stop.scope) == "<StopScope not stopped, 0 callbacks>"
