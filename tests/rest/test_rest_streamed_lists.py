"""Streaming lists of informers over a RESTClient, and the fallback to regular lists."""

import threading

import pytest

from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
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


def names_after_sync(clientset: Clientset) -> list[str]:
    """Return the Foos in the cache of a synced informer."""
    factory, stop = SharedInformerFactory(clientset), threading.Event()
    lister = factory.samplecontroller.v1alpha1.foos.lister
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=5)
    factory.shutdown(timeout=5)
    return [foo.metadata.name for foo in lister.list()]


@pytest.mark.feature("C-21")
def test_streaming_list_continues_as_a_watch() -> None:
    stream = FakeStream(frame("ADDED", FOO), frame("BOOKMARK", END))
    transport = FakeTransport(stream)
    assert names_after_sync(Clientset(RESTClient(Config("http://api"), transport=transport))) == ["a"]
    [sent] = transport.sent
    assert sent.streamed
    assert "sendInitialEvents=true" in sent.target
    assert stream.closed.is_set()


@pytest.mark.feature("C-21")
def test_informer_falls_back_to_a_regular_list() -> None:
    transport = FakeTransport(refusal(422, "Invalid", "sendInitialEvents is forbidden"), reply(PAGE), FakeStream())
    assert names_after_sync(Clientset(RESTClient(Config("http://api"), transport=transport))) == ["a"]
    assert ["sendInitialEvents" in sent.target for sent in transport.sent[:2]] == [True, False]
    assert not transport.sent[1].streamed


@pytest.mark.feature("B-TST-05")
def test_fake_gets_a_regular_list() -> None:
    clientset = FakeClientset()
    names_after_sync(clientset)
    assert [action.verb for action in clientset.actions][:1] == ["list"]
