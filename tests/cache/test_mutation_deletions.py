"""Mutation cache: deleted objects, objects outside the selection, and servers that were restored."""

from datetime import UTC, datetime

import pytest

from clientgo.cache import Indexer, MutationCache, SharedInformer
from clientgo.cache.selection import selection_of
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import replace
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeSource
from tests.cache.overlaid import KEY, by_uid, seen, version


def deleted(cache: MutationCache[ConfigMap], uid: str = "uid-1") -> None:
    """Delete the object, as a client does whose response names its uid."""
    before = cache.before_write(KEY)
    cache.deletion(KEY, uid, before=before)


def test_deleted_object_is_hidden_until_the_store_has_deleted_it() -> None:
    store: Indexer[ConfigMap] = Indexer({"uid": by_uid})
    store.add(version(1))
    cache = MutationCache(store)
    deleted(cache)
    assert (seen(cache), cache.list(), cache.by_index("uid", "uid-1")) == (None, [], [])
    store.add(version(2))  # changed by another client before the deletion
    cache.on_update(version(1), version(2))
    assert seen(cache) is None
    store.delete(version(3))
    cache.on_delete(KEY, version(3))
    assert len(cache) == 0


@pytest.mark.parametrize("stored", [True, False], ids=["in the store", "deleted there"])
def test_tombstone_is_kept_only_while_the_store_may_have_the_object(stored: bool) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    before = cache.before_write(KEY)
    if not stored:
        store.delete(version(2))
    cache.deletion(KEY, "uid-1", before=before)
    assert len(cache) == int(stored)


def test_object_that_the_store_never_had_is_hidden_when_it_arrives() -> None:
    store: Indexer[ConfigMap] = Indexer()
    cache = MutationCache(store)
    cache.mutation(version(2))
    deleted(cache)
    store.add(version(2))
    assert seen(cache) is None


def test_deleted_object_is_hidden_for_the_time_to_live() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store, ttl=60.0, clock=(clock := FakeClock()))
    deleted(cache)
    clock.step(59.0)
    assert seen(cache) is None
    clock.step(1.0)
    assert seen(cache) == "1"


def test_object_recreated_under_a_deleted_name_is_read() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    deleted(cache)
    store.add(version(5, "uid-2"))
    assert seen(cache) == "5"


def test_late_response_for_a_deleted_object_is_ignored() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    deleted(cache)
    cache.mutation(version(2))
    assert seen(cache) is None


def test_object_deleted_under_another_uid_than_the_cached_one_hides_both() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    deleted(cache, "uid-2")
    assert seen(cache) is None
    store.add(version(3, "uid-2"))
    assert seen(cache) is None


def test_terminating_object_is_read_if_only_its_deletion_began() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1))
    cache = MutationCache(store)
    cache.deletion(KEY, "uid-1", shows_terminating=True)
    assert seen(cache) is None
    leaving = replace(version(2).metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    store.add(ConfigMap(metadata=leaving))
    assert seen(cache) == "2"
    deleted(cache)
    assert seen(cache) is None


def test_objects_whose_transform_drops_the_uid_are_hidden_by_name() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(1, uid=""))
    cache = MutationCache(store)
    deleted(cache)
    assert seen(cache) is None
    cache.on_delete(KEY, version(2, uid=""))
    assert len(cache) == 0


def test_list_of_a_server_that_was_restored_removes_all_writes() -> None:
    informer: SharedInformer[ConfigMap] = SharedInformer(FakeSource(ConfigMap))
    cache = MutationCache.over(informer)
    informer.distributor.replace("", [version(90)], set(), "95")
    cache.mutation(version(99))
    other = replace(version(98).metadata, name="other")
    cache.mutation(ConfigMap(metadata=other))
    informer.distributor.replace("", [version(40)], set(), "50")
    assert (seen(cache), len(cache)) == ("40", 0)


LABELLED = selection_of(ConfigMap, ("ns",), "keep=yes")


def kept(number: int, keep: str = "yes") -> ConfigMap:
    return ConfigMap(metadata=replace(version(number).metadata, labels={"keep": keep}))


def test_state_outside_the_selection_hides_older_ones() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(kept(1))
    cache = MutationCache(store, selection=LABELLED)
    cache.mutation(kept(3, "no"))
    assert (seen(cache), cache.list()) == (None, [])
    store.add(kept(2))
    assert seen(cache) is None
    store.add(kept(4))  # another client moved it back
    assert seen(cache) == "4"


def test_writes_count_after_an_older_event_moved_the_object_out_of_the_selection() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(kept(1))
    cache = MutationCache(store, selection=LABELLED)
    cache.mutation(kept(5))
    store.delete(kept(3))
    cache.on_delete(KEY, kept(3))
    assert seen(cache) == "5"
    store.delete(kept(6))
    cache.on_delete(KEY, kept(6))
    assert seen(cache) is None


def test_deleted_object_that_enters_the_selection_again_is_hidden() -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(kept(1))
    cache = MutationCache(store, selection=LABELLED)
    deleted(cache)
    store.delete(kept(2))
    cache.on_delete(KEY, kept(2))
    store.add(kept(3))
    assert seen(cache) is None


def test_objects_of_other_namespaces_are_not_kept() -> None:
    cache = MutationCache[ConfigMap](Indexer(), selection=selection_of(ConfigMap, ("one", "two")))
    cache.mutation(version(1))
    deleted(cache)
    assert len(cache) == 0
