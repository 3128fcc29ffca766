"""Metadata-only requests, with and without support by the server."""

import threading
from typing import Any

import pytest

from clientgo.dynamic import (
    DynamicClientset,
    MetadataClient,
    MetadataInformerFactory,
    PartialObjectMetadata,
    Unstructured,
)
from clientgo.meta import GroupVersionResource, ObjectMeta, ObjectName
from clientgo.meta.listwatch import ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.rest.request import METADATA, METADATA_LIST, Request
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.transport import FakeStream, FakeTransport, reply
from clientgo_apiserver.server import ApiServer

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
META = {"name": "a", "namespace": "ns", "resourceVersion": "7", "labels": {"app": "x"}}
WHOLE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"big": "x" * 100}}
PARTIAL = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": META}


def scripted(*steps: Any) -> tuple[FakeTransport, DynamicClientset]:
    transport = FakeTransport(*steps)
    return transport, DynamicClientset(RESTClient(Config("http://fake"), transport=transport))


@pytest.mark.parametrize("response", [PARTIAL, WHOLE], ids=["metadata", "all of it"])
def test_metadata_of_one_object_is_requested_and_decoded_from_either_form(response: dict[str, Any]) -> None:
    transport, clientset = scripted(reply(response))
    stored = clientset.metadata(CONFIG_MAPS, "ns").get("a")
    assert (type(stored).__mro__[1], stored.metadata.labels) == (PartialObjectMetadata, {"app": "x"})
    assert transport.sent[0].header("Accept") == METADATA


@pytest.mark.parametrize("items", [PARTIAL, WHOLE], ids=["metadata", "all of it"])
def test_metadata_list_is_requested(items: dict[str, Any]) -> None:
    response = {"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "9"}, "items": [items]}
    transport, clientset = scripted(reply(response))
    page = clientset.metadata(CONFIG_MAPS, "ns").list_page(ListOptions())
    assert [item.metadata.name for item in page.items] == ["a"]
    assert transport.sent[0].header("Accept") == METADATA_LIST


def test_metadata_watch_is_requested() -> None:
    stream = FakeStream()
    transport, clientset = scripted(stream)
    stream.event("ADDED", PARTIAL)
    stream.end()
    watch = clientset.metadata(CONFIG_MAPS, "ns").watch_from(ListOptions(watch=True))
    assert [event.object.metadata.name for event in watch] == ["a"]  # type: ignore[union-attr]
    assert transport.sent[0].header("Accept") == METADATA


@pytest.mark.feature("B-FAC-07")
@pytest.mark.integration
def test_metadata_informer_receives_only_metadata() -> None:
    server = ApiServer(simulate=False)
    server.start()
    try:
        client = RESTClient(Config(server.url))
        clientset = DynamicClientset(client)
        maps = clientset.resource(CONFIG_MAPS, "default")
        maps.create(Unstructured(metadata=ObjectMeta(name="a", labels={"app": "x"}), content={"data": {"big": "x"}}))
        raw = client.do(
            Request(verb="get", resource=CONFIG_MAPS, namespace="default", name="a", accept=MetadataClient.accept)
        )
        assert b'"PartialObjectMetadata"' in raw
        assert b'"data":' not in raw
        handler: RecordingHandler[PartialObjectMetadata] = RecordingHandler()
        factory, stop = MetadataInformerFactory(clientset, namespace="default"), threading.Event()
        informer = factory.for_resource(CONFIG_MAPS)
        informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
        factory.start(stop)
        handler.wait_for(1)
        maps.patch("a", {"metadata": {"labels": {"app": "y"}}})
        maps.delete("a")
        assert handler.wait_for(3) == [("add", "default/a"), ("update", "default/a"), ("delete", "default/a")]
        assert informer.indexer.get_by_key(ObjectName("default", "a")) is None
        factory.shutdown(timeout=10)
        client.close()
    finally:
        server.stop()
