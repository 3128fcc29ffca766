"""Lists of informers over a RESTClient: read from a stream, streaming (KEP-3157), and the fallback to regular ones."""

import threading
from collections.abc import Callable

import pytest

from clientgo.errors import ConnectionFailed, InvalidResponse
from clientgo.meta.codec import encode_value
from clientgo.meta.listwatch import ListOptions
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.transport import FakeStream, FakeTransport, frame, refusal, reply
from generated.clientset import Clientset
from generated.clientset.fake import FakeClientset
from generated.informers import SharedInformerFactory

FOO = {
    "kind": "Foo",
    "metadata": {"name": "a", "namespace": "ns", "resourceVersion": "5"},
    "spec": {"deploymentName": "d"},
}
END = {"metadata": {"resourceVersion": "6", "annotations": {"k8s.io/initial-events-end": "true"}}}
PAGE = {"kind": "FooList", "metadata": {"resourceVersion": "6"}, "items": [FOO]}


def clientset_over(transport: FakeTransport, *, max_response_bytes: int = 0) -> Clientset:
    return Clientset(RESTClient(Config("http://api", max_response_bytes=max_response_bytes), transport=transport))


def names_after_sync(
    clientset: Clientset, *, watch_list: bool | None = None, until: Callable[[], bool] = lambda: True
) -> list[str]:
    """Return the Foos in the cache of a synced informer, which runs until then."""
    factory, stop = SharedInformerFactory(clientset, watch_list=watch_list), threading.Event()
    lister = factory.samplecontroller.v1alpha1.foos.lister
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=5)
    eventually(until)
    factory.shutdown(timeout=5)
    return [foo.metadata.name for foo in lister.list()]


def test_list_of_the_newest_state_is_read_from_a_stream() -> None:
    page = encode_value(PAGE)
    body = FakeStream(*(page[at : at + 10] for at in range(0, len(page), 10)), end=True)
    transport = FakeTransport(body, FakeStream())
    # The watch is opened after the list is in the cache.
    assert names_after_sync(clientset_over(transport), until=lambda: len(transport.sent) == 2) == ["a"]
    listed, watched = transport.sent
    assert listed.streamed
    assert listed.target == "/apis/samplecontroller.k8s.io/v1alpha1/foos"  # no version, no pages
    assert "resourceVersion=6" in watched.target


def test_list_with_a_timeout_is_received_at_once_within_it() -> None:
    transport = FakeTransport(reply(encode_value(PAGE)))
    foos = clientset_over(transport).samplecontroller_v1alpha1.foos("ns")
    (page,) = foos.list_parts(ListOptions(timeout_seconds=7))
    assert [foo.metadata.name for foo in page.items] == ["a"]
    (sent,) = transport.sent
    assert not sent.streamed
    assert "timeout=7s" in sent.target


def test_list_that_breaks_is_requested_again() -> None:
    broken = FakeStream(encode_value(PAGE)[:40])
    broken.drop()
    transport = FakeTransport(broken, reply(PAGE), FakeStream())
    assert names_after_sync(clientset_over(transport)) == ["a"]
    assert len([sent for sent in transport.sent if "watch" not in sent.target]) == 2


def test_list_above_the_limit_of_a_response_is_refused() -> None:
    client = clientset_over(FakeTransport(FakeStream(encode_value(PAGE))), max_response_bytes=50)
    with pytest.raises(ConnectionFailed, match=r"larger than 50 bytes: raise Config.max_response_bytes"):
        list(client.samplecontroller_v1alpha1.foos("").list_parts(ListOptions()))


def test_list_read_from_a_stream_waits_for_the_rate_limiter() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(reply(PAGE), reply(PAGE))
    client = RESTClient(Config("http://api", qps=0.1, burst=1), transport=transport, clock=clock)
    foos, began = Clientset(client).samplecontroller_v1alpha1.foos(""), clock.now()
    for _ in range(2):
        assert [len(part.items) for part in foos.list_parts(ListOptions())] == [1]
    assert clock.now() - began == pytest.approx(10.0)


def test_list_of_another_kind_is_refused_in_parts_too() -> None:
    item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a" * 200}}
    page = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1", "items": [item] * 10_000, "kind": "FooList", "metadata": {},
    }  # fmt: skip
    foos = clientset_over(FakeTransport(reply(page))).samplecontroller_v1alpha1.foos("")
    with pytest.raises(InvalidResponse, match="a list of which an item is of the kind"):
        list(foos.list_parts(ListOptions()))


@pytest.mark.feature("C-21")
def test_streaming_list_continues_as_a_watch() -> None:
    stream = FakeStream(frame("ADDED", FOO), frame("BOOKMARK", END))
    transport = FakeTransport(stream)
    assert names_after_sync(clientset_over(transport), watch_list=True) == ["a"]
    [sent] = transport.sent
    assert sent.streamed
    assert "sendInitialEvents=true" in sent.target
    assert stream.closed.is_set()


@pytest.mark.feature("C-21")
def test_informer_falls_back_to_a_regular_list() -> None:
    transport = FakeTransport(refusal(422, "Invalid", "sendInitialEvents is forbidden"), reply(PAGE), FakeStream())
    assert names_after_sync(clientset_over(transport), watch_list=True) == ["a"]
    assert ["sendInitialEvents" in sent.target for sent in transport.sent[:2]] == [True, False]
    assert not transport.sent[1].streamed


@pytest.mark.feature("B-TST-05")
def test_fake_gets_a_regular_list() -> None:
    clientset = FakeClientset()
    names_after_sync(clientset)
    assert [action.verb for action in clientset.actions][:1] == ["list"]
