"""A store whose objects are not found any more once they are too old."""

import pytest

from clientgo.cache import ExpirationStore
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.testing.clock import FakeClock


def item(name: str, value: str = "") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data={"value": value})


def names(store: ExpirationStore[ConfigMap]) -> list[str]:
    return sorted(obj.metadata.name for obj in store.list())


class Judged:
    """A store whose objects expire when a test says so."""

    def __init__(self) -> None:
        self.expired: set[str] = set()
        self.dropped: list[str] = []
        self.store: ExpirationStore[ConfigMap] = ExpirationStore(
            is_expired=lambda obj, _: obj.metadata.name in self.expired,
            on_expired=lambda obj: self.dropped.append(obj.metadata.name),
        )


@pytest.mark.behaviour("TTL-01")
def test_what_has_expired_is_not_found_and_its_end_is_told() -> None:
    judged = Judged()
    judged.store.add(item("foo", "bar"))
    judged.expired = {"foo"}
    assert judged.store.get(item("foo")) is None
    assert judged.dropped == ["foo"]
    assert judged.store.get_by_key(ObjectName("", "foo")) is None
    assert judged.dropped == ["foo"]


@pytest.mark.behaviour("TTL-02")
def test_what_is_added_again_after_it_expired_is_found() -> None:
    clock = FakeClock()
    store: ExpirationStore[ConfigMap] = ExpirationStore(30.0, clock=clock)
    store.add(item("foo", "bar"))
    clock.step(31.0)
    assert store.get(item("foo")) is None
    store.add(item("foo", "different_bar"))
    assert store.get(item("foo")) == item("foo", "different_bar")


@pytest.mark.feature("B-STO-17")
@pytest.mark.behaviour("TTL-03")
def test_a_list_leaves_out_what_has_expired() -> None:
    judged = Judged()
    for name in ("foo", "foo1", "foo2"):
        judged.store.add(item(name))
    judged.expired = {"foo1", "foo2"}
    assert names(judged.store) == ["foo"]
    assert sorted(judged.dropped) == ["foo1", "foo2"]


@pytest.mark.feature("B-STO-17")
@pytest.mark.behaviour("TTL-04")
@pytest.mark.parametrize(
    ("ttl", "age", "found"),
    [(30.0, 30.0, True), (30.0, 30.0 + 1e-9, False), (0.0, 1e9, True), (-1.0, 1e9, True)],
)
def test_an_object_expires_beyond_its_time_and_without_one_never(ttl: float, age: float, found: bool) -> None:
    clock = FakeClock()
    store: ExpirationStore[ConfigMap] = ExpirationStore(ttl, clock=clock)
    store.add(item("foo"))
    clock.step(age)
    assert (store.get(item("foo")) is not None) is found


@pytest.mark.feature("B-STO-17")
def test_an_update_and_a_replacement_begin_its_time_anew() -> None:
    clock = FakeClock()
    store: ExpirationStore[ConfigMap] = ExpirationStore(30.0, clock=clock)
    store.add(item("old"))
    store.add(item("foo"))
    clock.step(20.0)
    store.update(item("foo", "2"))
    clock.step(20.0)
    assert names(store) == ["foo"]
    store.replace([item("a"), item("b")])
    clock.step(30.0)
    assert sorted(str(key) for key in store.list_keys()) == ["a", "b"]
    store.delete(item("a"))
    assert names(store) == ["b"]
