"""Informers, listers and pagers over HTTP, with the bundled API server."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.cache import DeletedFinalStateUnknown, InformerFactory, Pager, RetryWatcher, SharedInformer, last_known
from clientgo.dynamic import DynamicClientset, DynamicInformerFactory, Unstructured
from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.informers import SharedInformerFactory
from clientgo.kubernetes.informers.core_v1 import ConfigMapInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.meta import GroupVersionResource, ObjectMeta, ObjectName, replace
from clientgo.meta.listwatch import ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo.testing.handler import RecordingHandler
from clientgo_apiserver.server import ApiServer

CRDS = Path(__file__).parent.parent.parent / "artifacts" / "crd"
FOOS = GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "foos")
DEFINITIONS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[RESTClient]:
    environment = Environment(crd_paths=[CRDS], server=BundledServer(simulate=False))
    client = RESTClient(environment.start())
    yield client
    client.close()
    environment.stop()


@pytest.fixture
def namespace(server: RESTClient, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.replace("_", "-")[:60].strip("-")
    Clientset(server).core_v1.namespaces().create(Namespace(metadata=ObjectMeta(name=name)))
    return name


def config_map(namespace: str, name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


@pytest.mark.feature("C-50")
def test_streamed_list_fills_the_cache_and_its_watch_continues(server: RESTClient, namespace: str) -> None:
    maps = Clientset(server).core_v1.config_maps(namespace)
    for number in range(20):
        maps.create(config_map(namespace, f"m{number}"))
    factory = InformerFactory(Clientset(server), namespace=namespace, watch_list=True)
    informer, stop = ConfigMapInformer(factory).informer, threading.Event()
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer.add_event_handler(
        on_add=handler.on_add, on_initial_add=handler.on_initial_add, on_delete=handler.on_delete
    )
    factory.start(stop)
    messages = handler.wait_for(20)
    assert {what for what, _ in messages} == {"initial add"}
    maps.delete("m7")
    maps.create(config_map(namespace, "late"))
    assert handler.wait_for(22)[20:] == [("delete", f"{namespace}/m7"), ("add", f"{namespace}/late")]
    assert informer.size == 20
    factory.shutdown(timeout=10)


def test_list_in_pages_is_complete(server: RESTClient, namespace: str) -> None:
    maps = Clientset(server).core_v1.config_maps(namespace)
    for number in range(25):
        maps.create(config_map(namespace, f"m{number:02}"))
    full, paged = Pager(maps.list_page, page_size=10).list(ListOptions())
    assert paged
    assert [item.metadata.name for item in full.items] == [f"m{number:02}" for number in range(25)]
    ahead = Pager(maps.list_page, page_size=10, buffer=2).each_item(ListOptions())
    assert [item.metadata.name for item in ahead] == [f"m{number:02}" for number in range(25)]


def test_watch_resumes_where_the_last_one_ended(server: RESTClient, namespace: str) -> None:
    maps = Clientset(server).core_v1.config_maps(namespace)
    first = maps.create(config_map(namespace, "a"))
    # Each watch lasts a second at most, so that there are several.
    watcher = RetryWatcher(
        maps, first.metadata.resource_version, options=ListOptions(timeout_seconds=1), restart_delay=0.0
    )
    seen = []
    maps.create(config_map(namespace, "b"))
    for event in watcher:
        seen.append((event.type, event.object.metadata.name))  # type: ignore[union-attr]  # all can be decoded
        if len(seen) == 1:
            maps.update(config_map(namespace, "a", k="v"))
        elif len(seen) == 2:
            maps.delete("b")
        else:
            watcher.close()
    assert seen == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_custom_resource_is_written_and_cached_without_its_type(server: RESTClient, namespace: str) -> None:
    dynamic = DynamicClientset(server)
    factory = DynamicInformerFactory(dynamic, namespace=namespace)
    informer, stop = factory.for_resource(FOOS, kind="Foo"), threading.Event()
    handler: RecordingHandler[Unstructured] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update)
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    foos = dynamic.resource(FOOS, namespace, kind="Foo")
    foos.create(Unstructured(metadata=ObjectMeta(name="x"), content={"spec": {"deploymentName": "x", "replicas": 2}}))
    foos.patch("x", {"spec": {"replicas": 3}})
    assert handler.wait_for(2) == [("add", f"{namespace}/x"), ("update", f"{namespace}/x")]
    assert [messages.new.get("spec", "replicas") for messages in handler.recorded] == [2, 3]
    assert handler.recorded[0].new.kind == "Foo"
    factory.shutdown(timeout=10)


@contextmanager
def served(port: int = 0) -> Iterator[tuple[int, RESTClient]]:
    """Run a bundled server without data; yield its port and a client."""
    server = ApiServer(port=port, simulate=False)
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
        group.join(10)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed lists", "plain lists"])
def test_restored_server_with_older_data_is_followed_again(streamed: bool) -> None:
    with served() as (port, before):
        maps = Clientset(before).core_v1.config_maps("default")
        for number in range(20):
            maps.create(config_map("default", f"m{number}", state="newer"))
        follower = RESTClient(Config(before.config.host))
        informer = SharedInformer(Clientset(follower).core_v1.config_maps("default"), watch_list=streamed)
        following = followed(informer)
        handler = following.__enter__()
        handler.wait_for(20)
        newest = int(informer.last_sync_resource_version)
    with served(port) as (_, after):
        maps = Clientset(after).core_v1.config_maps("default")
        maps.create(config_map("default", "m0", state="older"))
        # Of the twenty objects one changed and nineteen were deleted. It takes a second or two, although the server
        # asks clients to retry requests for a version that it has not reached.
        handler.wait_for(40, timeout=8)
        assert int(informer.last_sync_resource_version) < newest
        assert [(obj.metadata.name, obj.data) for obj in informer.indexer.list()] == [("m0", {"state": "older"})]
        maps.create(config_map("default", "m21"))
        assert handler.wait_for(41)[-1] == ("add", "default/m21")
        following.__exit__(None, None, None)
        follower.close()
    gone = [messages.new for messages in handler.recorded if messages.what == "delete"]
    assert len(gone) == 19
    assert all(isinstance(item, DeletedFinalStateUnknown) for item in gone)


def foo(name: str) -> Unstructured:
    return Unstructured(metadata=ObjectMeta(name=name), content={"spec": {"deploymentName": name, "replicas": 1}})


def test_deleted_and_recreated_kind_is_followed_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="clientgo.cache")
    with served() as (_, client):
        dynamic = DynamicClientset(client)
        definitions = dynamic.resource(DEFINITIONS, kind="CustomResourceDefinition", namespaced=False)
        definition = yaml.safe_load((CRDS / "samplecontroller.k8s.io_foos.yaml").read_text())
        definitions.create(definition)
        foos = dynamic.resource(FOOS, "default", kind="Foo")
        first = foos.create(foo("a"))
        informer = SharedInformer(foos)
        with followed(informer) as handler:
            handler.wait_for(1)
            eventually(lambda: informer.state().watching_since is not None)  # the deletion is an event of the watch
            definitions.delete(definition["metadata"]["name"])
            assert handler.wait_for(2, timeout=30)[1] == ("delete", "default/a")
            assert informer.size == 0
            before = informer.state().lists
            eventually(lambda: informer.state().lists > before + 1, seconds=30)  # with a random backoff
            definitions.create(definition)
            second = foos.create(foo("a"))
            assert handler.wait_for(3, timeout=30)[2] == ("add", "default/a")
            stored = informer.indexer.get_by_key(ObjectName("default", "a"))
            assert stored is not None
            assert stored.metadata.uid == second.metadata.uid != first.metadata.uid
            gone = last_known(handler.recorded[1].new)
            assert gone is not None
            assert gone.metadata.uid == first.metadata.uid
    lines = [record.getMessage().partition("  ")[0].partition(":")[0] for record in caplog.records]
    assert lines == ["failed to list or watch; will keep trying", "list and watch recovered"]


def test_namespaces_are_followed_by_their_labels(server: RESTClient) -> None:
    clientset = Clientset(server)

    def labelled(options: ListOptions) -> ListOptions:
        return replace(options, label_selector="followed=yes")

    def label(name: str, value: str) -> None:
        clientset.core_v1.namespaces().patch(name, {"metadata": {"labels": {"followed": value}}})

    namespaces = SharedInformerFactory(clientset, tweak_list_options=labelled)
    factory = SharedInformerFactory(clientset, namespace=namespaces.core.v1.namespaces.informer)
    informer, stop = factory.core.v1.config_maps.informer, threading.Event()
    for name in ("follow-a", "follow-b"):
        clientset.core_v1.namespaces().create(Namespace(metadata=ObjectMeta(name=name)))
        clientset.core_v1.config_maps(name).create(config_map(name, "m"))
    for each in (factory, namespaces):
        each.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert informer.indexer.list_keys() == []
    label("follow-a", "yes")
    eventually(lambda: informer.indexer.list_keys() == [ObjectName("follow-a", "m")])
    label("follow-b", "yes")
    label("follow-a", "no")
    eventually(lambda: informer.indexer.list_keys() == [ObjectName("follow-b", "m")])
    clientset.core_v1.namespaces().delete("follow-b")
    eventually(lambda: informer.state().objects == 0)
    for each in (factory, namespaces):
        each.shutdown(timeout=10)
