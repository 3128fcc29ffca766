"""Notifications after a list that replaces the store."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown, SharedInformer, last_known
from clientgo.cache.sink import InformerSink
from clientgo.cache.watchlist import differences
from clientgo.errors import Expired, InternalError
from clientgo.kubernetes.types.apps_v1 import ControllerRevision
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName, object_name, replace
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import AnyEvent
from clientgo.meta.objects import ListMeta
from clientgo.meta.scheme import api_type
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.watchsource import FakeSource, FakeWatch
from tests.cache.scripted import Script, added, config_map, following, handling, modified, page, watch


class StoreSeen(RecordingHandler[ConfigMap]):
    """Handler that records the version in the store at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.informer: SharedInformer[ConfigMap] | None = None

    def join(self, informer: SharedInformer[ConfigMap]) -> None:
        self.informer = informer
        informer.add_event_handler(
            on_add=self._seeing(self.on_add),
            on_update=lambda old, new: self._seeing(lambda obj: self.on_update(old, obj))(new),
            on_delete=self._seeing(self.on_delete),
        )

    def _seeing(self, call: Callable[..., None]) -> Callable[..., None]:
        def note(obj: ConfigMap | DeletedFinalStateUnknown[ConfigMap]) -> None:
            assert self.informer is not None
            stored = self.informer.indexer.get_by_key(object_name(obj))
            self.seen.append(stored.metadata.resource_version if stored is not None else "gone")
            call(obj)

        return note


PODS = [config_map("pod-1", 1), config_map("pod-2", 2), config_map("pod-3", 3)]
EXPIRED = Expired("too old")


@pytest.mark.behaviour("CT-13")
@pytest.mark.behaviour("CT-14")
def test_first_list_is_stored_before_its_additions_are_delivered() -> None:
    handler = StoreSeen()
    with following(Script(page(PODS[0]), FakeWatch()), handler.join):
        assert handler.wait_for(1) == [("add", "ns/pod-1")]
    assert handler.seen == ["1"]


@pytest.mark.feature("B-FIFO-03", "B-INF-10")
@pytest.mark.behaviour("CT-15")
@pytest.mark.behaviour("CT-16")
def test_empty_list_deletes_all_objects() -> None:
    handler = StoreSeen()
    source = Script(page(config_map("pod-1", 1), config_map("pod-3", 2)), watch(error=EXPIRED), page(), FakeWatch())
    with following(source, handler.join):
        assert sorted(handler.wait_for(4)[2:]) == [("delete", "ns/pod-1"), ("delete", "ns/pod-3")]
    assert handler.seen[2:] == ["gone", "gone"]
    assert all(isinstance(messages.new, DeletedFinalStateUnknown) for messages in handler.recorded[2:])


@pytest.mark.feature("B-FIFO-03", "B-INF-10")
@pytest.mark.behaviour("CT-17")
@pytest.mark.behaviour("CT-18")
def test_list_delivers_deletions_before_updates_and_additions() -> None:
    handler = StoreSeen()
    fresh = page(config_map("pod-1", 4), config_map("pod-2", 5), config_map("pod-4", 6), version="6")
    with following(Script(page(*PODS), watch(error=EXPIRED), fresh, FakeWatch()), handler.join):
        assert handler.wait_for(7)[3:] == [
            ("delete", "ns/pod-3"), ("update", "ns/pod-1"), ("update", "ns/pod-2"), ("add", "ns/pod-4"),
        ]  # fmt: skip
    assert handler.seen[3:] == ["gone", "4", "5", "6"]
    assert handler.recorded[3].new == DeletedFinalStateUnknown(ObjectName("ns", "pod-3"), PODS[2])


def test_object_deleted_by_a_watch_is_not_deleted_again_by_the_next_list() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    gone = FakeWatch[ConfigMap]([added("foo", 2)])
    source = Script(page(), gone, page(), watch(error=EXPIRED), page(), FakeWatch())
    with following(source, handling(handler)):
        handler.wait_for(1)
        gone.fail(EXPIRED)
        assert handler.wait_for(2) == [("add", "ns/foo"), ("delete", "ns/foo")]
        source.wait_for_requests(6)
    assert handler.calls() == [("add", "ns/foo"), ("delete", "ns/foo")]


@pytest.mark.feature("B-INF-11")
@pytest.mark.behaviour("SI-06")
def test_relist_reports_missed_changes_and_unchanged_objects_only_for_a_resync() -> None:
    clock, source = FakeClock(), FakeSource(ConfigMap)
    source.add(pod("pod1"))
    source.add(pod("pod2"))
    plain, resynced = RecordingHandler[ConfigMap](), RecordingHandler[ConfigMap]()

    def join(informer: SharedInformer[ConfigMap]) -> None:
        handling(plain, resync=0.0)(informer)
        handling(resynced, resync=1.0)(informer)

    with following(source, join, resync=1.0, clock=clock):
        assert names(plain.wait_for(2)) == names(resynced.wait_for(2)) == {"pod1", "pod2"}
        source.wait_for_watch()
        source.add(pod("pod3"), silent=True)
        source.modify(pod("pod2"), silent=True)
        clock.wait_for_waiters(2)
        clock.step(1.0)
        resynced.wait_for(4)
        source.break_watches(InternalError("reset"))
        clock.wait_for_sleeps(1)
        clock.step(1.601)
        source.wait_for_watch(2)
        assert sorted(plain.wait_for(4)[2:]) == [("add", "ns/pod3"), ("update", "ns/pod2")]
        assert names(resynced.wait_for(7)[4:]) == {"pod1", "pod2", "pod3"}
    assert len(plain.calls()) == 4


def test_relist_before_the_first_check_reports_unchanged_objects_to_all_handlers() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Script(page(PODS[0]), watch(error=EXPIRED), page(PODS[0]), FakeWatch())
    with following(source, handling(handler), resync=0.0):
        assert handler.wait_for(2) == [("add", "ns/pod-1"), ("update", "ns/pod-1")]


@pytest.mark.feature("B-FIFO-09")
@pytest.mark.behaviour("CT-19")
def test_changes_missed_by_a_reset_watch_are_not_initial() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Script(
        page(PODS[0], version="1"), watch(error=EXPIRED), page(config_map("pod-1", 2), config_map("pod-2", 3)),
        FakeWatch(),
    )  # fmt: skip
    with following(source, handling(handler, on_initial_add=handler.on_initial_add)):
        assert handler.wait_for(3) == [("initial add", "ns/pod-1"), ("update", "ns/pod-1"), ("add", "ns/pod-2")]


@pytest.mark.feature("B-FIFO-01", "C-25")
def test_changes_of_a_watch_are_delivered_in_order_and_not_merged() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    events: list[AnyEvent[ConfigMap]] = [
        added("foo", 10), added("bar", 11), modified("foo", 12), modified("foo", 13), added("zab", 30),
    ]  # fmt: skip
    with following(Script(page(), FakeWatch(events)), handling(handler)):
        handler.wait_for(5)
    messages = [(reports.name, reports.new.metadata.resource_version) for reports in handler.recorded]
    assert messages == [("ns/foo", "10"), ("ns/bar", "11"), ("ns/foo", "12"), ("ns/foo", "13"), ("ns/zab", "30")]


def test_deletion_of_an_unknown_object_is_delivered() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = FakeSource(ConfigMap)
    with following(source, handling(handler)):
        source.wait_for_watch()
        source.delete(pod("baz"))
        assert handler.wait_for(1) == [("delete", "ns/baz")]
    assert last_known(handler.recorded[0].new) is handler.recorded[0].new


def pod(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns"))


def names(calls: list[tuple[str, str]]) -> set[str]:
    return {name.removeprefix("ns/") for _, name in calls}


def test_object_with_another_uid_and_the_same_version_is_an_update() -> None:
    # As from a new server that counts versions from the start.
    def page_of(uid: str) -> list[ConfigMap]:
        obj = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", resource_version="5", uid=uid))
        return sink.prepare(ObjectList(ListMeta(), [obj])).items

    clock = FakeClock()
    informer = SharedInformer(FakeSource(ConfigMap), resync=60.0, clock=clock)
    sink = InformerSink(informer.distributor, "", informer.transform)
    # A handler without a resync is not called for unchanged objects of a list.
    handler = informer.add_event_handler(on_update=lambda old, new: None, resync=0.0)
    clock.step(61.0)
    messages = []
    for uid in ("x", "x", "y"):
        informer.distributor.replace("", page_of(uid), set(), "5")
        messages.append(handler.waiting)
    assert messages == [2, 2, 3]  # the addition and the end of the initial list; nothing; an update


@pytest.mark.parametrize("version", ["5", ""], ids=["same version", "version dropped by the transform"])
def test_relist_reports_objects_whose_content_differs_without_their_version(version: str) -> None:
    informer = SharedInformer(FakeSource(ConfigMap), resync=60.0, clock=(clock := FakeClock()))
    sink = InformerSink(informer.distributor, "", informer.transform)
    handler = informer.add_event_handler(on_update=lambda old, new: None, resync=0.0)
    clock.step(61.0)
    messages = []
    for color in ("red", "red", "blue"):
        listed = ObjectList(ListMeta(), [config_map("a", version, color=color)])
        informer.distributor.replace("", sink.prepare(listed).items, set(), "5")
        messages.append(handler.waiting)
    assert messages == [2, 2, 3]  # the addition and the end of the initial list; nothing; an update


@api_type(group="test.example", version="v1")
@dataclass(frozen=True, eq=False)
class Incomparable:
    """Kind whose objects cannot be compared."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    def __hash__(self) -> int:
        raise SystemExit


def test_objects_that_cannot_be_compared_or_hashed_are_cached() -> None:
    source = FakeSource(Incomparable)
    source.add(Incomparable(ObjectMeta(name="a")))
    clock = FakeClock(auto=True)
    handler: RecordingHandler[Incomparable] = RecordingHandler()
    informer: SharedInformer[Incomparable] = SharedInformer(source, clock=clock)
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update)
    with Group() as group:
        informer.start(group)
        source.wait_for_watch()
        source.break_watches(EXPIRED)
        source.wait_for_watch(2)
        source.add(Incomparable(ObjectMeta(name="b")))
        assert handler.wait_for(3) == [("add", "a"), ("update", "a"), ("add", "b")]
        group.stop()


def test_equal_object_of_a_relist_is_replaced_by_the_cached_one() -> None:
    informer = SharedInformer(FakeSource(ConfigMap), clock=FakeClock())
    sink = InformerSink(informer.distributor, "", informer.transform)
    first = [config_map(name, 1) for name in ("same", "newer", "defaulted")]
    informer.distributor.replace("", sink.prepare(ObjectList(ListMeta(), first)).items, set(), "1")
    # A new schema's defaults change an object without its version.
    defaulted = replace(config_map("defaulted", 1), data={"colour": "blue"})
    again = [config_map("same", 1), config_map("newer", 2), defaulted, config_map("added", 3)]
    prepared = sink.prepare(ObjectList(ListMeta(), again)).items
    assert prepared == again
    assert [new is old for new, old in zip(prepared, first, strict=False)] == [True, False, False]
    informer.distributor.replace("", prepared, set(), "3")
    assert informer.indexer.get_by_key(ObjectName("ns", "same")) is first[0]
    assert informer.indexer.get_by_key(ObjectName("ns", "defaulted")) is defaulted


def test_relisted_object_whose_free_form_content_turned_from_true_to_one_is_not_the_cached_one() -> None:
    informer = SharedInformer(FakeSource(ControllerRevision), clock=FakeClock())
    sink = InformerSink(informer.distributor, "", informer.transform)
    meta = ObjectMeta(name="a", namespace="ns", resource_version="1")
    first, again = (
        ControllerRevision(metadata=meta, data={"on": True}),
        ControllerRevision(metadata=meta, data={"on": 1}),
    )
    informer.distributor.replace("", sink.prepare(ObjectList(ListMeta(), [first])).items, set(), "1")
    assert sink.prepare(ObjectList(ListMeta(), [again])).items[0] is again
    assert differences([first], [again]) == "different: ns/a"


def named(namespace: str, name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))


@contextmanager
def watching_each(
    sources: dict[str, FakeSource[ConfigMap]], **options: Any
) -> Iterator[tuple[SharedInformer[ConfigMap], RecordingHandler[ConfigMap]]]:
    informer: SharedInformer[ConfigMap] = SharedInformer(sources, clock=FakeClock(auto=True), **options)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    handling(handler)(informer)
    group = Group()
    informer.start(group)
    try:
        yield informer, handler
    finally:
        group.stop()
        group.join(10)


def test_list_of_a_namespace_replaces_only_its_objects() -> None:
    first, two = (FakeSource(ConfigMap, named(location, "a"), named(location, "b")) for location in ("one", "two"))
    with watching_each({"one": first, "two": two}) as (informer, handler):
        handler.wait_for(4)
        two.wait_for_watch()
        two.delete(named("two", "a"), silent=True)
        two.add(named("two", "c"), silent=True)
        two.break_watches(EXPIRED)
        messages = handler.wait_for(7)[4:]
        assert sorted(map(str, informer.indexer.list_keys())) == ["one/a", "one/b", "two/b", "two/c"]
        assert len(informer.indexer.by_index("namespace", "two")) == 2
    assert messages == [("delete", "two/a"), ("update", "two/b"), ("add", "two/c")]


def test_filling_a_cache_of_many_namespaces_indexes_each_object_once() -> None:
    filed: Counter[str] = Counter()

    def count(obj: ConfigMap) -> list[str]:
        filed[str(object_name(obj))] += 1
        return []

    places = [f"ns-{number}" for number in range(20)]
    sources = {location: FakeSource(ConfigMap, named(location, "a"), named(location, "b")) for location in places}
    with watching_each(sources, indexers={"counted": count}) as (informer, handler):
        handler.wait_for(40)
        assert informer.size == 40
    assert set(filed.values()) == {1}


def test_list_clears_undecodable_objects_that_were_repaired_or_deleted() -> None:
    first, two = FakeSource(ConfigMap), FakeSource(ConfigMap)
    bad = {
        f"{location}/{name}": Undecodable("ConfigMap", ObjectMeta(name=name, namespace=location), "Expected `str`")
        for location, name in (("one", "a"), ("two", "a"), ("two", "b"), ("two", "c"))
    }
    for key, error in bad.items():
        (first if key.startswith("one") else two).make_undecodable(error, "ADDED")
    with watching_each({"one": first, "two": two}) as (informer, handler):
        for source in (first, two):
            source.wait_for_watch()
        before = sorted(map(str, informer.undecodable.errors))
        two.add(named("two", "a"), silent=True)
        two.make_undecodable(bad["two/b"], "DELETED")
        two.break_watches(EXPIRED)
        two.wait_for_watch(2)
        handler.wait_for(1)
        assert sorted(map(str, informer.undecodable.errors)) == ["one/a", "two/c"]
    assert before == sorted(bad)
