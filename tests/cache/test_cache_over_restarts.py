"""Informers over real HTTP whose server goes away: restored at an older version, and kinds that go and come back."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.apiserver.server import BundledServer
from clientgo.cache import DeletedFinalStateUnknown, SharedInformer, last_known
from clientgo.dynamic import DynamicClientset, Unstructured
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.meta import GroupVersionResource, ObjectMeta, ObjectName
from clientgo.rest import Config, RESTClient
from clientgo.testing.handler import RecordingHandler

CRD = Path(__file__).parent.parent.parent / "artifacts" / "crd" / "samplecontroller.k8s.io_foos.yaml"
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
FOOS = GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "foos")

pytestmark = pytest.mark.integration


@contextmanager
def served(port: int = 0) -> Iterator[tuple[int, RESTClient]]:
    """A bundled server without data, and a client of it."""
    server = BundledServer(port=port, simulate=False)
    server.start()
    client = RESTClient(Config(server.url))
    try:
        yield int(server.url.rpartition(":")[2]), client
    finally:
        client.close()
        server.stop()


@contextmanager
def followed(informer: SharedInformer[Any]) -> Iterator[RecordingHandler[Any]]:
    handler: RecordingHandler[Any] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
    group = Group()
    informer.start(group)
    try:
        yield handler
    finally:
        group.stop()
        informer.close()
        group.join(10)


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed lists", "plain lists"])
def test_a_server_that_comes_back_with_less_than_it_had_is_followed_again(streamed: bool) -> None:
    with served() as (port, before):
        maps = Clientset(before).core_v1.config_maps("default")
        for number in range(20):
            maps.create(config_map(f"m{number}", state="newer"))
        follower = RESTClient(Config(before.config.host))
        informer = SharedInformer(Clientset(follower).core_v1.config_maps("default"), watch_list=streamed)
        following = followed(informer)
        handler = following.__enter__()
        handler.wait_for(20)
        newest = int(informer.last_sync_resource_version)
    with served(port) as (_, after):
        maps = Clientset(after).core_v1.config_maps("default")
        maps.create(config_map("m0", state="older"))
        # The twenty of before, of which one changed and nineteen went. It takes a second or two, although the server
        # asks that a question about a version it has not reached be repeated.
        handler.wait_for(40, timeout=8)
        assert int(informer.last_sync_resource_version) < newest
        assert [(obj.metadata.name, obj.data) for obj in informer.indexer.list()] == [("m0", {"state": "older"})]
        maps.create(config_map("m21"))
        assert handler.wait_for(41)[-1] == ("add", "default/m21")
        following.__exit__(None, None, None)
        follower.close()
    gone = [told.new for told in handler.told if told.what == "delete"]
    assert len(gone) == 19
    assert all(isinstance(one, DeletedFinalStateUnknown) for one in gone)


def foo(name: str) -> Unstructured:
    return Unstructured(metadata=ObjectMeta(name=name), content={"spec": {"deploymentName": name, "replicas": 1}})


def test_a_kind_that_is_deleted_and_defined_again_is_followed_again() -> None:
    with served() as (_, client):
        dynamic = DynamicClientset(client)
        definitions = dynamic.resource(CRDS, kind="CustomResourceDefinition", namespaced=False)
        definition = yaml.safe_load(CRD.read_text())
        definitions.create(definition)
        foos = dynamic.resource(FOOS, "default", kind="Foo")
        first = foos.create(foo("a"))
        informer = SharedInformer(foos)
        with followed(informer) as handler:
            handler.wait_for(1)
            definitions.delete(definition["metadata"]["name"])
            assert handler.wait_for(2, timeout=30)[1] == ("delete", "default/a")
            assert informer.size == 0
            definitions.create(definition)
            second = foos.create(foo("a"))
            assert handler.wait_for(3, timeout=30)[2] == ("add", "default/a")
            known = informer.indexer.get_by_key(ObjectName("default", "a"))
            assert known is not None
            assert known.metadata.uid == second.metadata.uid != first.metadata.uid
            gone = last_known(handler.told[1].new)
            assert gone is not None
            assert gone.metadata.uid == first.metadata.uid


def test_a_stopped_informer_leaves_no_thread_although_its_server_is_gone() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        client = RESTClient(Config(f"http://127.0.0.1:{nobody.getsockname()[1]}"))
        informer, group, tried = (
            SharedInformer(Clientset(client).core_v1.config_maps("default")),
            Group(),
            threading.Event(),
        )
        informer.set_watch_error_handler(lambda _: tried.set())
        informer.start(group)
        assert tried.wait(10)
        group.stop()
        informer.close()
        group.join(10)
        client.close()
    assert group.alive() == []
    assert "refused" in informer.state().last_error
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("informer-", "bookmark-"))]
