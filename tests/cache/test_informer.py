"""Shared informer: the store follows the source, and each handler receives every change once, in order."""

import threading
from collections.abc import Iterator

import pytest

from clientgo.cache import DeletedFinalStateUnknown, SharedInformer
from clientgo.errors import ConnectionFailed, Forbidden, InternalError
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName, Undecodable
from clientgo.meta.objects import ManagedFieldsEntry
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.transport import FakeStream, FakeTransport, reply
from clientgo.testing.watchsource import FakeSource
from tests.meta.nesting_limit import DEEP

DAY = 86_400.0


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", uid=name), data=data)


class Running:
    """Informer over a fake source, running until the end of the test."""

    def __init__(self, *objects: ConfigMap) -> None:
        self.clock = FakeClock()
        self.source = FakeSource(ConfigMap, *objects)
        # A resync period, so that handlers can have one; long, so that it does not pass by itself.
        self.informer: SharedInformer[ConfigMap] = SharedInformer(self.source, resync=DAY, clock=self.clock)
        self.stop = threading.Event()
        self.group = Group()

    def start(self) -> None:
        self.group.start(self.informer.run, self.stop, name="informer")
        self.source.wait_for_watch()

    def handler(self, *, resync: float = 0.0) -> RecordingHandler[ConfigMap]:
        handler: RecordingHandler[ConfigMap] = RecordingHandler()
        self.informer.add_event_handler(
            on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete, resync=resync
        )
        return handler

    def relist(self) -> None:
        """End the watch in a way that requires a list, and advance the clock by the backoff."""
        watches, sleeps = len(self.source.watches), len(self.clock.slept)
        self.source.compact()
        self.source.break_watches(InternalError("storage is in trouble"))
        self.clock.wait_for_sleeps(sleeps + 1)
        self.clock.step(2.0)
        self.source.wait_for_watch(watches + 1)

    def end(self) -> None:
        self.stop.set()
        self.group.join(10)


@pytest.fixture
def running() -> Iterator[Running]:
    built = Running()
    yield built
    built.end()


@pytest.mark.feature("B-INF-01", "B-INF-07", "A-02")
@pytest.mark.behaviour("CT-13")
def test_every_change_reaches_the_store_before_the_handler(running: Running) -> None:
    handler = running.handler()
    running.start()
    added = running.source.add(config_map("a", x="1"))
    changed = running.source.modify(config_map("a", x="2"))
    running.source.delete(config_map("a"))
    assert handler.wait_for(3) == [("add", "ns/a"), ("update", "ns/a"), ("delete", "ns/a")]
    assert handler.recorded[1].old == added
    assert handler.recorded[1].new == changed
    assert running.informer.indexer.list() == []


@pytest.mark.feature("B-TST-06")
def test_lost_connection_during_a_watch_loses_no_event(running: Running) -> None:
    handler = running.handler()
    running.start()
    running.source.add(config_map("a"))
    handler.wait_for(1)
    running.source.add(config_map("b"), silent=True)
    running.source.break_watches(ConnectionFailed("reset by peer"))
    running.source.wait_for_watch(2)
    running.source.add(config_map("c"))
    assert handler.wait_for(2)[-1] == ("add", "ns/c")


@pytest.mark.feature("B-FIFO-05", "B-REF-17", "A-02", "C-50")
def test_resync_repeats_every_object(running: Running) -> None:
    running.source.add(config_map("a"))
    handler, quiet = running.handler(resync=30.0), running.handler()
    running.start()
    handler.wait_for(1)
    for _ in range(2):
        count = len(handler.calls())
        running.clock.wait_for_waiters(2)
        running.clock.step(30.0)
        handler.wait_for(count + 1)
    assert handler.calls() == [("add", "ns/a"), ("update", "ns/a"), ("update", "ns/a")]
    assert handler.recorded[1].old is handler.recorded[1].new
    assert quiet.wait_for(1) == [("add", "ns/a")]
    assert len(running.source.lists) == 1


@pytest.mark.feature("B-INF-06", "C-59")
@pytest.mark.behaviour("SI-21")
def test_handler_that_raises_for_an_object_syncs_and_is_called_again_for_it(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.source.add(config_map("bad"))
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    broken = True

    def on_add(obj: ConfigMap) -> None:
        if obj.metadata.name == "bad" and broken:
            raise LookupError("no such thing")
        handler.on_add(obj)

    registration = running.informer.add_event_handler(on_add=on_add)
    running.start()
    running.source.add(config_map("good"))
    assert handler.wait_for(1) == [("add", "ns/good")]
    assert registration.synced.wait(10)
    [failure] = running.informer.state().failures
    assert (failure.hook, str(failure.name), failure.error) == (
        "handler listener-configmap-0", "ns/bad", "LookupError: no such thing",
    )  # fmt: skip
    [record] = [vars(record) for record in caplog.records if record.msg == "handler raised; will retry"]
    assert (record["object"], record["exc_info"][0]) == ("ns/bad", LookupError)
    broken = False
    running.clock.wait_for_waiters()
    running.clock.step(1.0)
    assert handler.wait_for(2)[1] == ("add", "ns/bad")
    eventually(lambda: running.informer.state().failing == 0)


@pytest.mark.feature("B-INF-02", "C-57", "C-16")
def test_slow_handler_does_not_delay_other_handlers(running: Running) -> None:
    finished: list[str] = []
    release = threading.Event()

    def block(obj: ConfigMap) -> None:
        release.wait(10)
        finished.append(obj.metadata.name)

    running.informer.add_event_handler(on_add=block)
    quick = running.handler()
    running.start()
    for name in "abc":
        running.source.add(config_map(name))
    assert quick.wait_for(3) == [("add", "ns/a"), ("add", "ns/b"), ("add", "ns/c")]
    assert finished == []
    release.set()


def test_object_that_becomes_undecodable_keeps_its_last_valid_state(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.source.add(config_map("a", x="1"))
    running.source.add(config_map("b"))
    handler = running.handler()
    running.start()
    handler.wait_for(2)
    meta = ObjectMeta(name="a", namespace="ns", uid="a", resource_version="3")
    running.source.make_undecodable(Undecodable("ConfigMap", meta, "data is odd"))
    running.relist()
    running.source.add(config_map("c"))
    assert handler.wait_for(4)[2:] == [("update", "ns/b"), ("add", "ns/c")]
    stored = running.informer.indexer.get_by_key(ObjectName("ns", "a"))
    assert stored is not None
    assert stored.data == {"x": "1"}
    assert running.informer.undecodable.total == 1
    assert caplog.text.count("cannot be decoded") == 1


def test_deletion_of_an_undecodable_object_is_reported_by_a_tombstone(running: Running) -> None:
    running.source.add(config_map("a"))
    handler = running.handler()
    running.start()
    meta = ObjectMeta(name="a", namespace="ns", resource_version="9")
    running.source.make_undecodable(Undecodable("ConfigMap", meta, "odd"), "DELETED")
    assert handler.wait_for(2)[-1] == ("delete", "ns/a")
    assert isinstance(handler.recorded[-1].new, DeletedFinalStateUnknown)
    assert not running.informer.undecodable.errors


def test_managed_fields_are_dropped_by_default(running: Running) -> None:
    meta = ObjectMeta(name="a", namespace="ns", managed_fields=(ManagedFieldsEntry(manager="kubectl"),))
    running.source.add(ConfigMap(metadata=meta))
    handler = running.handler()
    running.start()
    handler.wait_for(1)
    assert handler.recorded[0].new.metadata.managed_fields == ()


@pytest.mark.feature("B-REF-18")
@pytest.mark.behaviour("SI-07")
def test_list_errors_are_passed_to_the_watch_error_handler(running: Running) -> None:
    seen: list[str] = []
    came = threading.Event()

    def on_error(error: Exception) -> None:
        seen.append(str(error))
        came.set()

    running.informer.set_watch_error_handler(on_error)
    running.source.fail_next_lists(Forbidden("Access Denied"))
    running.group.start(running.informer.run, running.stop, name="informer")
    assert came.wait(10)
    assert seen == ["Access Denied"]


@pytest.mark.feature("B-INF-13")
@pytest.mark.behaviour("SI-16")
def test_stopped_informer_rejects_handlers(running: Running) -> None:
    registration = running.informer.add_event_handler()
    running.start()
    before = running.informer.is_stopped
    running.end()
    assert (before, running.informer.is_stopped) == (False, True)
    with pytest.raises(RuntimeError, match=r"was not added to shared informer because it has stopped already$"):
        running.handler()
    registration.remove()


@pytest.mark.feature("B-FIFO-08")
def test_informer_of_two_namespaces_has_synced_after_both_lists() -> None:
    first, two = FakeSource(ConfigMap), FakeSource(ConfigMap)
    two.fail_next_lists(Forbidden("not yet"))
    clock = FakeClock()
    informer: SharedInformer[ConfigMap] = SharedInformer({"one": first, "two": two}, clock=clock)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    registration = informer.add_event_handler(on_add=handler.on_add)
    stop, group = threading.Event(), Group()
    group.start(informer.run, stop, name="informer")
    first.wait_for_watch()
    clock.wait_for_sleeps(1)
    before = (informer.has_synced, registration.has_synced)
    clock.step(2.0)
    two.wait_for_watch()
    assert before == (False, False)
    assert informer.has_synced
    stop.set()
    group.join(10)


def deep(name: str, version: int) -> bytes:
    meta = f'"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"'.encode()
    return b'{"kind":"ConfigMap","metadata":{%s,"managedFields":[{"fieldsV1":%s}]}}' % (meta, DEEP)


def good(name: str, version: int) -> bytes:
    meta = f'{{"name":"{name}","namespace":"ns","resourceVersion":"{version}"}}'
    return f'{{"kind":"ConfigMap","metadata":{meta}}}'.encode()


def page(version: int, *items: bytes) -> bytes:
    head = f'{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":['
    return head.encode() + b",".join(items) + b"]}"


@pytest.fixture
def stream() -> Iterator[FakeStream]:
    stream = FakeStream()
    yield stream
    stream.end()


def test_deeply_nested_object_is_skipped_and_reported(stream: FakeStream) -> None:
    transport = FakeTransport(reply(page(5, good("a", 3), deep("bad", 4), good("b", 5))), stream)
    client = RESTClient(Config("http://fake"), transport=transport)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer: SharedInformer[ConfigMap] = SharedInformer(Clientset(client).core_v1.config_maps(""), watch_list=False)
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
    group = Group()
    informer.start(group)
    try:
        stream.event("MODIFIED", deep("a", 6))  # keeps its last valid state
        stream.event("ADDED", deep("worse", 7))
        stream.event("DELETED", deep("b", 8))  # which needs only the name
        stream.event("ADDED", good("c", 9))
        # Python 3.14 decodes 250,000 levels; an object of half a megabyte takes seconds on a busy machine.
        handler.wait_for(4, 60)
        assert {name.name for name in informer.undecodable.errors} == {"bad", "a", "worse"}
        assert {item.metadata.name: item.metadata.resource_version for item in informer.indexer.list()} == {
            "a": "3",
            "c": "9",
        }
        assert informer.last_sync_resource_version == "9"
    finally:
        group.stop()
        group.join(10)
        client.close()
