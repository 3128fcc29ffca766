"""Own writes are read back until the cache has caught up."""

import pytest

from clientgo.cache import Indexer, MutationCache
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.testing.clock import FakeClock

KEY = ObjectName("ns", "name")


def version(number: int, uid: str = "uid-1") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="name", namespace="ns", uid=uid, resource_version=str(number)))


@pytest.mark.behaviour("MC-01")
@pytest.mark.parametrize(
    ("cached", "seen"),
    [
        pytest.param(1, "2", id="older in the cache: the write is read"),
        pytest.param(2, "2", id="the cache has caught up"),
        pytest.param(3, "3", id="the cache is ahead"),
        pytest.param(10, "10", id="versions are numbers, not text"),
    ],
)
def test_the_newer_of_cache_and_write_is_read(cached: int, seen: str) -> None:
    store: Indexer[ConfigMap] = Indexer()
    store.add(version(cached))
    cache = MutationCache(store)
    cache.mutation(version(2))
    found = cache.get_by_key(KEY)
    assert found is not None
    assert found.metadata.resource_version == seen
    assert len(cache) == (1 if cached < 2 else 0)


def test_an_object_the_cache_has_not_seen_yet_is_found() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer())
    cache.mutation(version(2))
    assert cache.get_by_key(KEY) == version(2)


def test_without_include_adds_only_known_objects_are_found() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), include_adds=False)
    cache.mutation(version(2))
    assert cache.get_by_key(KEY) is None


@pytest.mark.behaviour("MC-04")
@pytest.mark.parametrize(
    ("uid", "deleted_at", "remains"),
    [
        pytest.param("uid-1", 1, False, id="same object, older version"),
        pytest.param("uid-2", 3, False, id="other object, as new"),
        pytest.param("uid-2", 1, True, id="other object, older: ours was made after it"),
    ],
)
def test_a_deletion_ends_what_it_makes_stale(uid: str, deleted_at: int, remains: bool) -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer())
    cache.mutation(version(3))
    cache.on_delete(KEY, version(deleted_at, uid))
    assert (cache.get_by_key(KEY) is not None) is remains


def test_a_write_is_forgotten_after_its_time() -> None:
    clock = FakeClock()
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), ttl=60.0, clock=clock)
    cache.mutation(version(2))
    clock.step(59.0)
    assert cache.get_by_key(KEY) is not None
    clock.step(1.0)
    assert cache.get_by_key(KEY) is None


def test_no_more_writes_are_kept_than_asked_for() -> None:
    cache: MutationCache[ConfigMap] = MutationCache(Indexer(), size=2)
    for number in range(4):
        meta = ObjectMeta(name=f"n{number}", namespace="ns", resource_version="5")
        cache.mutation(ConfigMap(metadata=meta))
    assert [n for n in range(4) if cache.get_by_key(ObjectName("ns", f"n{n}"))] == [2, 3]
