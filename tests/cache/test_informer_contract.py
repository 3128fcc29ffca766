"""Guarantees of an informer for any behaviour of the server."""

import gc
import random
import sys
import threading
from typing import Any

import pytest

from clientgo.cache import NAMESPACE_INDEX, DeletedFinalStateUnknown, SharedInformer, wait_for_cache_sync
from clientgo.cache.sink import InformerSink
from clientgo.cache.watchlist import StreamedList
from clientgo.errors import InternalError
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import ObjectMeta, ObjectName, object_name, replace
from clientgo.meta.listwatch import ListOptions, WatchEvent
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.watchsource import FakeSource, FakeWatch
from tests.cache.scripted import Script, added, following, handling, list_end


def pod(name: str, *, generation: int = 1, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", generation=generation, labels=labels))


def label_keys(obj: ConfigMap) -> list[str]:
    return list(obj.metadata.labels)


@pytest.mark.feature("B-INF-14")
@pytest.mark.behaviour("SI-01")
def test_index_can_be_added_while_the_informer_runs() -> None:
    source = FakeSource(ConfigMap)
    source.add(pod("pod1", a="1", b="1"))
    source.add(pod("pod2", b="1"))
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    with following(source, handling(handler), indexers={"labels": label_keys}) as informer:
        handler.wait_for(2)
        indexer = informer.indexer
        assert [str(key) for key in indexer.index_keys("labels", "a")] == ["ns/pod1"]
        source.add(pod("pod3", a="1"))
        handler.wait_for(3)
        informer.add_indexers({"labels-again": label_keys})
        for name in ("labels", "labels-again"):
            assert [str(key) for key in indexer.index_keys(name, "a")] == ["ns/pod1", "ns/pod3"]
            assert sorted(indexer.index_values(name)) == ["a", "b"]
        with pytest.raises(ValueError, match="indexer conflict: labels"):
            informer.add_indexers({"labels": label_keys})
    with pytest.raises(RuntimeError, match="because it has stopped already"):
        informer.add_indexers({"late": label_keys})


@pytest.mark.feature("B-INF-12", "B-INF-13")
@pytest.mark.behaviour("SI-09")
@pytest.mark.behaviour("CT-04")
def test_handlers_and_store_have_transformed_objects_only() -> None:
    source = FakeSource(ConfigMap)
    source.add(pod("pod1", generation=1))
    source.modify(pod("pod1", generation=2))
    handler: RecordingHandler[ConfigMap] = RecordingHandler()

    def marked(obj: ConfigMap) -> ConfigMap:
        return replace(obj, data={"generation": str(obj.metadata.generation)})

    with following(source, handling(handler), transform=marked) as informer:
        assert handler.wait_for(1) == [("add", "ns/pod1")]
        assert handler.recorded[0].new.data == {"generation": "2"}
        source.wait_for_watch()
        source.add(pod("pod2", generation=1))
        source.add(pod("pod3", generation=1))
        source.modify(pod("pod2", generation=2))
        source.delete(pod("pod1", generation=3))
        assert handler.wait_for(5)[1:] == [
            ("add", "ns/pod2"), ("add", "ns/pod3"), ("update", "ns/pod2"), ("delete", "ns/pod1"),
        ]  # fmt: skip
        assert handler.recorded[3].old.data == {"generation": "1"}
        assert handler.recorded[4].new.data == {"generation": "3"}
        assert {obj.data["generation"] for obj in informer.indexer.list()} == {"1", "2"}
        with pytest.raises(RuntimeError, match="informer has already started"):
            informer.set_transform(marked)
        with pytest.raises(RuntimeError, match="informer has already started"):
            informer.set_watch_error_handler(lambda _: None)


@pytest.mark.feature("B-FIFO-10")
@pytest.mark.behaviour("CT-05")
def test_stored_object_is_not_transformed_again() -> None:
    clock, source = FakeClock(), FakeSource(ConfigMap)
    for number in range(5):
        source.add(pod(f"pod{number}"))

    def once(obj: ConfigMap) -> ConfigMap:
        assert obj.data == {}, "transformed twice"
        return replace(obj, data={"transformed": "yes"})

    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    with following(source, handling(handler), transform=once, resync=1.0, clock=clock) as informer:
        handler.wait_for(5)
        for round_ in range(1, 4):
            clock.wait_for_waiters(1)
            clock.step(1.0)
            handler.wait_for(5 + 5 * round_)
        source.break_watches(InternalError("reset"))
        clock.wait_for_sleeps(1)
        clock.step(2.0)
        source.wait_for_watch(2)
        assert {obj.data["transformed"] for obj in informer.indexer.list()} == {"yes"}
        assert informer.undecodable.total == 0


BAD_TRANSFORMS: dict[str, tuple[Any, str]] = {
    "raises": (lambda obj: obj.data["team"], "its transform failed: KeyError: 'team'"),
    "exits": (lambda obj: sys.exit(1), "its transform failed: SystemExit: 1"),
    "None": (lambda obj: None, "its transform failed: returned a NoneType, expected a ConfigMap"),
    "another class": (lambda obj: Secret(metadata=obj.metadata), "returned a Secret, expected a ConfigMap"),
    "another name": (lambda obj: pod("other"), "returned an object named ns/other, expected ns/"),
}


@pytest.mark.feature("B-INF-12")
@pytest.mark.parametrize("streamed", [False, True], ids=["list", "streamed list"])
@pytest.mark.parametrize("case", BAD_TRANSFORMS)
def test_object_whose_transform_fails_is_undecodable_and_keeps_its_last_state(
    case: str, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    source = FakeSource(ConfigMap, supports_watch_list=streamed)
    source.add(pod("bad"))
    source.add(pod("good"))
    bad, message = BAD_TRANSFORMS[case]

    def picky(obj: ConfigMap) -> Any:
        return bad(obj) if obj.metadata.generation == 13 or obj.metadata.name == "bad" else obj

    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    with following(source, handling(handler), transform=picky) as informer:
        assert handler.wait_for(1) == [("add", "ns/good")]
        source.wait_for_watch()
        source.modify(pod("good", generation=13))
        source.add(pod("fine"))
        assert handler.wait_for(2)[-1] == ("add", "ns/fine")
        cached = informer.indexer.get_by_key(ObjectName("ns", "good"))
        assert cached is not None
        assert cached.metadata.generation == 1
        assert informer.undecodable.total == 2
        assert {str(failure.name) for failure in informer.state().failures} == {"ns/bad", "ns/good"}
        source.delete(pod("good", generation=13))
        assert handler.wait_for(3)[-1] == ("delete", "ns/good")
    skipped = [vars(record) for record in caplog.records if "object skipped" in record.msg]
    assert [item["name_"] for item in skipped] == ["bad", "good"]
    assert all(message in entry["err"] for entry in skipped)


def test_index_function_that_raises_for_an_object_does_not_affect_the_informer() -> None:
    source = FakeSource(ConfigMap, pod("bad"), pod("good", team="a"))
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    by_team = {"team": lambda obj: [obj.metadata.labels["team"]]}
    with following(source, handling(handler), indexers=by_team) as informer:
        handler.wait_for(2)
        source.wait_for_watch()
        source.add(pod("worse"))
        source.modify(pod("bad", team="a"))
        assert handler.wait_for(4)[2:] == [("add", "ns/worse"), ("update", "ns/bad")]
        assert {str(key) for key in informer.indexer.index_keys("team", "a")} == {"ns/bad", "ns/good"}
        [failure] = informer.state().failures
        assert (failure.hook, str(failure.name), failure.error) == ("index team", "ns/worse", "KeyError: 'team'")


@pytest.mark.parametrize("streamed", [False, True], ids=["list", "streamed list"])
def test_map_that_a_transform_shares_and_changes_later_does_not_change_the_cache(streamed: bool) -> None:
    shared = {"calls": "0"}

    def transform(obj: ConfigMap) -> ConfigMap:
        shared["calls"] = str(int(shared["calls"]) + 1)
        return replace(obj, data=shared)

    source = FakeSource(ConfigMap, pod("a"), supports_watch_list=streamed)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    with following(source, handling(handler), transform=transform) as informer:
        handler.wait_for(1)
        source.wait_for_watch()
        source.add(pod("b"))
        handler.wait_for(2)
        assert {obj.metadata.name: obj.data["calls"] for obj in informer.indexer.list()} == {"a": "1", "b": "2"}


class Told:
    """Objects as a handler knows them from its calls; `problems` are inconsistent calls."""

    def __init__(self) -> None:
        self.objects: dict[str, int] = {}
        self.problems: list[str] = []
        self.last_came = threading.Event()

    def added(self, obj: ConfigMap) -> None:
        name = obj.metadata.name
        if name in self.objects:
            self.problems.append(f"{name} was added twice")
        self.objects[name] = obj.metadata.generation
        if name == "last":
            self.last_came.set()

    def updated(self, _: ConfigMap, new: ConfigMap) -> None:
        if new.metadata.name not in self.objects:
            self.problems.append(f"{new.metadata.name} was updated before it came")
        self.objects[new.metadata.name] = new.metadata.generation

    def removed(self, obj: ConfigMap | DeletedFinalStateUnknown[ConfigMap]) -> None:
        if self.objects.pop(object_name(obj).name, None) is None:
            self.problems.append(f"{obj} was deleted before it came")


def hammer(source: FakeSource[ConfigMap], number: int) -> None:
    """Make a hundred random changes of objects that no other thread changes."""
    dice = random.Random(number)
    mine: set[str] = set()
    for step in range(100):
        obj = pod(f"{number}-{dice.randrange(10)}", generation=step)
        if obj.metadata.name not in mine:
            source.add(obj)
            mine.add(obj.metadata.name)
        elif dice.random() < 0.5:
            source.modify(obj)
        else:
            source.delete(obj)
            mine.discard(obj.metadata.name)


@pytest.mark.behaviour("CT-01")
def test_informer_equals_the_source_after_concurrent_changes() -> None:
    source, messages, hammers = FakeSource(ConfigMap), Told(), Group()

    def prepare(informer: SharedInformer[ConfigMap]) -> None:
        informer.add_event_handler(on_add=messages.added, on_update=messages.updated, on_delete=messages.removed)
        assert not informer.has_synced

    with following(source, prepare, resync=1.0, clock=FakeClock()) as informer:
        assert wait_for_cache_sync(hammers.stop_event, informer, timeout=10)
        for number in range(3):
            hammers.start(hammer, source, number, name=f"hammer-{number}")
        hammers.join(20)
        source.add(pod("last"))
        assert messages.last_came.wait(10)
        listed = {obj.metadata.name: obj.metadata.generation for obj in source.list_page(ListOptions()).items}
        assert {obj.metadata.name: obj.metadata.generation for obj in informer.indexer.list()} == listed
        assert messages.objects == listed
    assert messages.problems == []


@pytest.mark.feature("B-INF-16")
@pytest.mark.behaviour("SI-20")
@pytest.mark.parametrize("when", ["before the start", "after the sync", "never started"])
def test_no_thread_remains_after_the_informer_stops(when: str) -> None:
    source, group = FakeSource(ConfigMap), Group()
    informer: SharedInformer[ConfigMap] = SharedInformer(source, name=f"leaky-{when}")
    if when == "before the start":
        informer.add_event_handler()
    if when != "never started":
        informer.start(group)
        assert wait_for_cache_sync(group.stop_event, informer, timeout=10)
    informer.add_event_handler()
    group.stop()
    group.join(10)
    assert [t.name for t in threading.enumerate() if "leaky" in t.name] == []


@pytest.mark.feature("B-STO-11", "D-18")
def test_every_informer_has_a_namespace_index() -> None:
    assert SharedInformer(FakeSource(ConfigMap)).indexer.has_index(NAMESPACE_INDEX)


@pytest.mark.feature("B-REF-20")
def test_version_of_several_sources_is_the_oldest() -> None:
    first, two = FakeSource(ConfigMap), FakeSource(ConfigMap)
    for number in range(9):
        first.add(pod(str(number)))
    two.add(pod("only"))
    informer: SharedInformer[ConfigMap] = SharedInformer({"one": first, "two": two})
    assert informer.last_sync_resource_version == ""
    group = Group()
    informer.start(group)
    assert wait_for_cache_sync(group.stop_event, informer, timeout=10)
    assert informer.last_sync_resource_version == "2"
    group.stop()
    group.join(10)


@pytest.mark.feature("B-REF-08", "B-REF-20", "C-15")
def test_bookmarks_update_the_stores_version() -> None:
    source = FakeSource(ConfigMap)
    informer: SharedInformer[ConfigMap] = SharedInformer(source)
    feed = InformerSink(informer.distributor, "", informer.transform)
    feed.apply(source_event := WatchEvent("ADDED", source.add(pod("a"))), "2")
    assert informer.indexer.resource_version == source_event.object.metadata.resource_version == "2"
    feed.bookmark("60")
    assert informer.indexer.resource_version == "60"


@pytest.mark.behaviour("RL-33")
def test_object_of_a_streamed_list_is_transformed_exactly_once() -> None:
    # client-go's transformer runs five times here, twice for the objects of the temporary store; ours three times.
    calls: list[str] = []

    def transform(obj: ConfigMap) -> ConfigMap:
        calls.append(obj.metadata.name)
        return replace(obj, data={"seen": "yes"})

    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Script(FakeWatch([added("a", 1), added("b", 2), list_end(3), added("c", 4)]))
    with following(source, handling(handler), transform=transform, watch_list=True, clock=FakeClock()) as informer:
        handler.wait_for(3)
        assert {obj.data["seen"] for obj in informer.indexer.list()} == {"yes"}
    assert calls == ["a", "b", "c"]


def test_informer_of_a_streaming_source_sends_no_regular_list() -> None:
    source = FakeSource(ConfigMap, supports_watch_list=True)
    source.add(ConfigMap(metadata=ObjectMeta(name="a")))
    handler: RecordingHandler[ConfigMap] = RecordingHandler()

    def prepare(informer: SharedInformer[ConfigMap]) -> None:
        informer.add_event_handler(on_add=handler.on_add, on_initial_add=handler.on_initial_add)

    with following(source, prepare, clock=FakeClock()) as informer:
        handler.wait_for(1)
        source.add(ConfigMap(metadata=ObjectMeta(name="b")))
        assert handler.wait_for(2) == [("initial add", "a"), ("add", "b")]
        assert informer.indexer.resource_version == "3"
    assert source.lists == []


@pytest.mark.feature("C-58")
def test_collected_objects_are_released_after_they_are_stored() -> None:
    def lists() -> list[StreamedList[Any]]:
        gc.collect()
        return [item for item in gc.get_objects() if isinstance(item, StreamedList)]

    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    stream: FakeWatch[ConfigMap] = FakeWatch([added("a", 1), list_end(1)])
    before = lists()  # errors of other tests may keep theirs
    with following(Script(stream), handling(handler), watch_list=True, clock=FakeClock()) as informer:
        handler.wait_for(1)
        assert handler.recorded[0].new is informer.indexer.list()[0]
        stream.send(added("b", 2))
        handler.wait_for(2)  # the list is complete, its watch continues
        assert [entry for entry in lists() if entry not in before] == []
