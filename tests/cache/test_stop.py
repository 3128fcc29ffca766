"""Stops of informers, watchers and pagers in each state of the server."""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from clientgo.cache import SharedInformer
from clientgo.cache.handlers import ResourceEventHandler
from clientgo.cache.listener import Added, Listener
from clientgo.cache.pager import Pager
from clientgo.cache.watchtools import RetryWatcher, WatchClosed, until, until_with_sync
from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.clients.core_v1 import ConfigMapClient
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ListMeta, ObjectList, ObjectMeta
from clientgo.meta.listwatch import ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.watchsource import FakeSource
from tests.rest.loopback import chunked, http, loopback

LIST = http(b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}')
WATCH = chunked(b'{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"6"}}}\n', end=False)


@pytest.mark.feature("B-REF-24")
@pytest.mark.behaviour("RL-02")
@pytest.mark.integration
@pytest.mark.parametrize("watch_list", [True, False], ids=["streamed list", "list"])
@pytest.mark.parametrize(
    "script",
    [
        pytest.param((b"",), id="no answer to a list"),
        pytest.param((b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{",), id="part of a list"),
        pytest.param((LIST, b""), id="no answer to a watch"),
        pytest.param((LIST, WATCH), id="an open watch"),
    ],
)
def test_factory_ends_with_the_stop_whatever_the_server_does(script: tuple[bytes, ...], watch_list: bool) -> None:
    stop = threading.Event()
    with loopback(script) as server, closing(Clientset(Config(server.address))) as clientset:
        factory = SharedInformerFactory(clientset, watch_list=watch_list)
        informer = factory.core.v1.config_maps.informer
        informer.add_event_handler(on_add=lambda _: None)
        factory.start(stop)
        assert server.silent.wait(10)
        stop.set()
        factory.shutdown(timeout=10)
        assert informer.is_stopped
        assert server.connections == 1


def test_handler_whose_thread_starts_after_the_stop_ends_at_once() -> None:
    stop, called = threading.Event(), threading.Event()
    listener: Listener[ConfigMap] = Listener(
        ResourceEventHandler(on_add=lambda _: called.set()),
        name="late",
        kind="ConfigMap",
        resync=0.0,
        clock=SYSTEM_CLOCK,
        unregister=lambda _: None,
    )
    listener.push(Added(ConfigMap(metadata=ObjectMeta(name="a")), initial=True))
    stop.set()
    group = Group(stop=stop)
    group.start(listener.run, stop, lambda _: None, name=listener.name)
    group.join(10)
    assert not called.is_set()


def test_handlers_added_while_the_informer_stops_end() -> None:
    for _ in range(30):
        informer: SharedInformer[ConfigMap] = SharedInformer(FakeSource(ConfigMap))
        group, begun, refused = Group(), threading.Barrier(2), threading.Event()
        informer.start(group)

        def add(informer: SharedInformer[ConfigMap] = informer, begun: Any = begun, refused: Any = refused) -> None:
            begun.wait(10)
            try:
                while True:
                    informer.add_event_handler(on_add=lambda _: None)
            except RuntimeError:
                refused.set()

        adding = Group()
        adding.start(add, name="adding")
        begun.wait(10)
        group.stop()
        adding.join(10)
        group.join(10)
        assert refused.is_set()


def _conditions() -> list[Callable[[Any], bool]]:
    return [lambda _: False]


@pytest.mark.integration
@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(lambda maps: list(RetryWatcher(maps, "5")), id="RetryWatcher"),
        pytest.param(lambda maps: until(_conditions(), maps, "5"), id="until"),
        pytest.param(lambda maps: until_with_sync(_conditions(), SharedInformer(maps)), id="until_with_sync"),
    ],
)
@pytest.mark.parametrize("script", [(b"",), (WATCH,)], ids=["no answer", "an open watch"])
def test_wait_for_a_condition_ends_with_the_stop_of_its_thread(
    wait: Callable[[ConfigMapClient], object], script: tuple[bytes, ...]
) -> None:
    with loopback(script) as server, closing(RESTClient(Config(server.address))) as client:
        group, ends = Group(), list[str]()

        def run() -> None:
            try:
                wait(ConfigMapClient(client, "ns"))
                ends.append("the iteration ended")
            except WatchClosed as error:
                ends.append(str(error))

        group.start(run, name="waiting")
        assert server.silent.wait(10)
        group.stop()
        group.join(10)
        assert ends in (["the iteration ended"], ["stopping before the condition held"])


@pytest.mark.integration
def test_list_whose_pages_are_prefetched_ends_with_an_error_at_the_stop() -> None:
    page = http(b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"2"},"items":[]}')
    with loopback((page, b"")) as server, closing(RESTClient(Config(server.address))) as client:
        pager = Pager(ConfigMapClient(client, "ns").list_page, buffer=2)
        group, errors = Group(), list[ConnectionFailed]()

        def run() -> None:
            try:
                list(pager.each_item(ListOptions()))
            except ConnectionFailed as error:
                errors.append(error)

        group.start(run, name="reading")
        assert server.silent.wait(10)
        group.stop()
        group.join(10)
        assert [error.stopping for error in errors] == [True]


def test_prefetched_list_that_is_stopped_between_two_pages_does_not_look_complete() -> None:
    group, reading = Group(), threading.Event()

    def fetch(_: ListOptions) -> ObjectList[ConfigMap]:
        return ObjectList(ListMeta(continue_=str(next(tokens))), [ConfigMap(metadata=ObjectMeta(name="a"))])

    tokens = iter(range(1000))
    errors: list[ConnectionFailed] = []

    def run() -> None:
        try:
            for _ in Pager(fetch, buffer=1).pages(ListOptions()):
                reading.set()
                group.stop_event.wait(10)
        except ConnectionFailed as error:
            errors.append(error)

    group.start(run, name="reading")
    assert reading.wait(10)
    group.stop()
    group.join(10)
    assert [error.stopping for error in errors] == [True]
