"""Mutation cache: read-your-writes."""

import pytest

from clientgo.cache import Indexer, MutationCache, SharedInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName, replace
from clientgo.meta.objects import ManagedFieldsEntry
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeSource
from tests.cache.overlaid import KEY, by_uid, seen, version


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(2, "1", id="the write itself", marks=pytest.mark.behaviour("MC-01")),
        pytest.param(3, "1", id="something newer", marks=pytest.mark.behaviour("MC-02")),
        pytest.param(1, "2", id="something older", marks=pytest.mark.behaviour("MC-03")),
    ],
)
def test_write_is_removed_once_the_informer_reports_it(messages: int, expected: str) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store, ttl=60.0, include_adds=False)
    cache.mutation(version(2))
    cache.on_add_or_update(version(messages))
    assert seen(cache) == expected
    cache.on_add_or_update(ConfigMap(metadata=ObjectMeta(name="never written", resource_version="9")))


@pytest.mark.feature("B-STO-18", "C-52")
@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        pytest.param(1, "2", id="older in the cache: the write is read"),
        pytest.param(2, "2", id="the cache has caught up"),
        pytest.param(3, "3", id="the cache is ahead"),
        pytest.param(10, "10", id="versions are numbers, not text"),
    ],
)
def test_newer_of_cache_and_write_is_returned(cached: int, expected: str) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(cached))
    cache = MutationCache(store)
    cache.mutation(version(2))
    assert seen(cache) == expected
    assert len(cache) == (1 if cached < 2 else 0)


def test_kept_write_is_read_only() -> None:
    cache = MutationCache[ConfigMap](Indexer())
    cache.mutation(ConfigMap(metadata=ObjectMeta(name="name", namespace="ns"), data={"a": "b"}))
    stored = cache.get_by_key(KEY)
    assert stored is not None
    with pytest.raises(TypeError, match="read-only"):
        stored.data["a"] = "c"  # type: ignore[index]


@pytest.mark.parametrize(("reached", "result"), [("", True), ("1", True), ("2", False), ("3", False), ("odd", True)])
def test_response_after_the_deletion_of_its_object_is_ignored(reached: str, result: bool) -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), reached=lambda _: reached)
    cache.mutation(version(2))
    assert (seen(cache) == "2") is result
    assert len(cache) == int(result)


def test_object_stored_between_two_reads_is_found() -> None:
    store: Indexer[ConfigMap] = Indexer()

    def reached(_: str) -> str:
        store.add(version(2))  # as an informer does: the object first, the version then
        return "2"

    cache = MutationCache(store, reached=reached)
    cache.mutation(version(2))
    assert seen(cache) == "2"


def test_object_that_the_store_does_not_have_yet_is_found() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer())
    cache.mutation(version(2))
    assert cache.get_by_key(KEY) == version(2)


@pytest.mark.feature("B-STO-18")
def test_without_include_adds_only_known_objects_are_found() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), include_adds=False)
    cache.mutation(version(2))
    assert cache.get_by_key(KEY) is None


@pytest.mark.feature("C-03")
@pytest.mark.parametrize(
    ("uid", "deleted_at", "remains"),
    [
        pytest.param("uid-1", 1, False, id="same object, older version", marks=pytest.mark.behaviour("MC-04")),
        pytest.param("uid-2", 3, False, id="other object, as new", marks=pytest.mark.behaviour("MC-05")),
        pytest.param(
            "uid-2", 1, True, id="other object, older: ours was made after it", marks=pytest.mark.behaviour("MC-06")
        ),
    ],
)
def test_deletion_removes_stale_writes(uid: str, deleted_at: int, remains: bool) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(2))
    cache = MutationCache(store, ttl=60.0, include_adds=True)
    cache.mutation(version(3))
    store.delete(version(2))
    cache.on_delete(KEY, version(deleted_at, uid))
    assert (cache.get_by_key(KEY) is not None) is remains


@pytest.mark.behaviour("MC-08")
def test_replacement_of_the_same_name_supersedes_an_old_write() -> None:
    store: Indexer[ConfigMap] = Indexer()
    cache = MutationCache(store, ttl=60.0, include_adds=True)
    cache.mutation(version(3))
    store.add(version(3, "uid-2"))
    cache.on_delete(KEY, version(3, "uid-1"))
    assert cache.get_by_key(KEY) == version(3, "uid-2")
    assert len(cache) == 0


@pytest.mark.behaviour("MC-09")
def test_deletion_removes_a_write_from_every_index() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer({"uid": by_uid}), ttl=60.0)
    cache.mutation(version(2))
    assert len(cache.by_index("uid", "uid-1")) == 1
    cache.on_delete(KEY, version(1))
    assert cache.by_index("uid", "uid-1") == []


def test_deletion_of_unknown_state_removes_the_write_of_that_name() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer())
    cache.mutation(version(2))
    cache.on_delete(ObjectName("ns", "other"), None)
    assert len(cache) == 1
    cache.on_delete(KEY, None)
    assert len(cache) == 0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(1, 2, "1", id="up to the write"),
        pytest.param(1, 1, "5", id="nowhere yet"),
        pytest.param(3, 1, "1", id="back, on a server restored from a backup"),
    ],
)
def test_write_is_removed_when_the_store_caught_up_or_regressed(old: int, new: int, expected: str) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    cache.mutation(version(2 if new == 2 else 5))
    cache.on_update(version(old), version(new))
    assert seen(cache) == expected


@pytest.mark.feature("B-STO-18")
def test_index_returns_newest_states_for_their_newest_values() -> None:
    store: Indexer[ConfigMap] = Indexer({"uid": by_uid})
    store.add(version(1, "old"))
    other = ConfigMap(metadata=ObjectMeta(name="other", namespace="ns", uid="old", resource_version="1"))
    store.add(other)
    cache = MutationCache(store)
    cache.mutation(version(2, "new"))
    assert cache.by_index("uid", "old") == [other]
    assert cache.by_index("uid", "new") == [version(2, "new")]
    with pytest.raises(KeyError):
        cache.by_index("nope", "x")


@pytest.mark.parametrize(
    ("config_map", "result"),
    [
        pytest.param(version(2), False, id="written before the deletion"),
        pytest.param(version(3, "uid-2"), False, id="other object, older than the deletion"),
        pytest.param(version(5, "uid-2"), True, id="created after the deletion"),
    ],
)
def test_response_after_a_deletion_in_the_store_is_ignored(config_map: ConfigMap, result: bool) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    store.delete(version(4))
    cache.on_delete(KEY, version(4))
    cache.mutation(config_map)
    assert (seen(cache) is not None) is result


def test_write_that_the_store_already_includes_is_not_kept() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(3))
    cache = MutationCache(store)
    cache.mutation(version(2))
    assert len(cache) == 0


@pytest.mark.parametrize("how", ["mutation", "update", "delete"])
def test_expired_writes_are_dropped_without_a_read(how: str) -> None:
    clock = FakeClock()
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), ttl=60.0, clock=clock)
    cache.mutation(version(2))
    clock.step(60.0)
    other = ConfigMap(metadata=ObjectMeta(name="other", namespace="ns", resource_version="7"))
    match how:
        case "mutation":
            cache.mutation(other)
        case "update":
            cache.on_update(other, other)
        case _:
            cache.on_delete(ObjectName("ns", "other"), other)
    assert len(cache) == int(how == "mutation")


def test_all_newest_states_are_listed() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    assert cache.list() == [version(1)]
    cache.mutation(version(2))
    new = ConfigMap(metadata=ObjectMeta(name="new", namespace="elsewhere", resource_version="3"))
    cache.mutation(new)
    assert cache.list() == [version(2), new]


def test_writes_are_transformed_by_the_informers_transform() -> None:
    informer: SharedInformer[ConfigMap] = SharedInformer(FakeSource(ConfigMap))
    cache = MutationCache.over(informer)
    managed = replace(version(2).metadata, managed_fields=(ManagedFieldsEntry(manager="kubectl"),))
    cache.mutation(ConfigMap(metadata=managed))
    assert cache.get_by_key(KEY) == version(2)


def test_write_whose_transform_raises_is_not_kept() -> None:
    def transform(_: ConfigMap) -> ConfigMap:
        raise ValueError("odd")

    cache = MutationCache(Indexer(), transform=transform)
    cache.mutation(version(2))
    assert cache.get_by_key(KEY) is None


def test_response_after_a_deletion_is_ignored_while_another_namespace_is_behind() -> None:
    first, two = FakeSource(ConfigMap), FakeSource(ConfigMap)
    informer: SharedInformer[ConfigMap] = SharedInformer({"one": first, "two": two}, watch_list=False)
    cache = MutationCache.over(informer)
    written = two.add(ConfigMap(metadata=ObjectMeta(name="a", namespace="two")))
    two.delete(written)
    group = Group()
    informer.start(group)
    for source in (first, two):
        source.wait_for_watch()
    cache.mutation(written)
    held = (cache.get_by_key(ObjectName("two", "a")), informer.last_sync_resource_version)
    group.stop()
    group.join(10)
    assert held == (None, "1")  # of all namespaces, the cache reflects only an older version


@pytest.mark.feature("B-STO-18")
def test_write_expires() -> None:
    clock = FakeClock()
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), ttl=60.0, clock=clock)
    cache.mutation(version(2))
    clock.step(59.0)
    assert cache.get_by_key(KEY) is not None
    clock.step(1.0)
    assert cache.get_by_key(KEY) is None


@pytest.mark.feature("B-STO-18", "C-03")
def test_number_of_kept_writes_is_limited() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), size=2)
    for number in range(4):
        meta = ObjectMeta(name=f"n{number}", namespace="ns", resource_version="5")
        cache.mutation(ConfigMap(metadata=meta))
    assert [n for n in range(4) if cache.get_by_key(ObjectName("ns", f"n{n}"))] == [2, 3]
