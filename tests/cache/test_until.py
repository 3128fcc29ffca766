"""Waiting for conditions on the events of a watch or an informer."""

import threading
from typing import Any

import pytest

from clientgo.cache import (
    Indexer,
    Interrupted,
    SharedInformer,
    WatchClosed,
    until,
    until_with_sync,
    until_without_retry,
)
from clientgo.errors import Forbidden
from clientgo.kubernetes.types.core_v1 import Secret
from clientgo.meta import ObjectList, ObjectMeta, ObjectName
from clientgo.meta.listwatch import AnyEvent, Bookmark, ChangeType, ListOptions, WatchEvent
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeSource, FakeWatch

FIRST = Secret(metadata=ObjectMeta(name="first", namespace="ns", resource_version="2"))


def event(change: ChangeType) -> WatchEvent[Secret]:
    return WatchEvent(change, FIRST)


def told(*events: AnyEvent[Secret]) -> FakeWatch[Secret]:
    return FakeWatch(list(events))


def is_added(seen: WatchEvent[Secret]) -> bool:
    return seen.type == "ADDED"


def is_modified(seen: WatchEvent[Secret]) -> bool:
    return seen.type == "MODIFIED"


def is_deleted(seen: WatchEvent[Secret]) -> bool:
    return seen.type == "DELETED"


@pytest.mark.feature("B-WAT-02")
@pytest.mark.behaviour("UN-01")
def test_conditions_are_tried_one_after_the_other() -> None:
    watch = told(event("ADDED"), Bookmark("3"), event("MODIFIED"))
    last = until_without_retry([is_added, is_modified], watch, timeout=60.0)
    assert last == event("MODIFIED")
    assert watch.closed


@pytest.mark.behaviour("UN-02")
def test_next_condition_is_first_tried_on_the_last_event() -> None:
    assert until_without_retry([is_added, is_added], told(event("ADDED")), timeout=60.0) == event("ADDED")


@pytest.mark.behaviour("UN-03")
def test_timeout_before_the_last_condition_is_interrupted() -> None:
    clock, stepping, tried = FakeClock(), Group(), threading.Event()

    def never(seen: WatchEvent[Secret]) -> bool:
        tried.set()
        return is_deleted(seen)

    def let_ten_seconds_pass() -> None:
        assert tried.wait(10)
        clock.wait_for_sleeps(1)
        clock.step(10.0)

    stepping.start(let_ten_seconds_pass, name="steps")
    with pytest.raises(Interrupted, match="timed out waiting for the condition") as caught:
        until_without_retry([is_added, is_added, never], told(event("ADDED")), timeout=10.0, clock=clock)
    stepping.join(10)
    assert caught.value.last == event("ADDED")
    assert clock.slept == [10.0]


def test_automatic_clock_does_not_pass_the_deadline() -> None:
    clock, watch, sending = FakeClock(auto=True), FakeWatch[Secret](), Group()

    def send() -> None:
        clock.wait_for_sleeps(1)
        watch.send(event("ADDED"))

    sending.start(send, name="sends")
    assert until_without_retry([is_added], watch, timeout=10.0, clock=clock) == event("ADDED")
    sending.join(10)


@pytest.mark.behaviour("UN-04")
def test_timeout_is_optional() -> None:
    watch = told(event("ADDED"), event("MODIFIED"))
    assert until_without_retry([is_added, is_modified], watch) == event("MODIFIED")


@pytest.mark.behaviour("UN-05")
def test_condition_that_raises_ends_the_wait() -> None:
    def fail(_: WatchEvent[Secret]) -> bool:
        raise LookupError("something bad")

    watch = told(event("ADDED"))
    with pytest.raises(LookupError, match="something bad"):
        until_without_retry([fail], watch, timeout=60.0)
    assert watch.closed


@pytest.mark.feature("B-WAT-02")
def test_watch_that_ends_first_is_watch_closed() -> None:
    watch = told(event("ADDED"))
    watch.end()
    with pytest.raises(WatchClosed):
        until_without_retry([is_added, is_deleted], watch)


def test_wait_without_conditions_returns_none() -> None:
    assert until_without_retry([], told()) is None


@pytest.mark.feature("B-WAT-02")
def test_until_continues_across_several_watches() -> None:
    source = FakeSource(Secret)
    source.add(FIRST)
    source.modify(FIRST)
    watches = Group()

    def break_and_change() -> None:
        source.wait_for_watch(1)
        source.break_watches()
        source.wait_for_watch(2)
        source.delete(FIRST)

    watches.start(break_and_change, name="breaks")
    last = until([is_added, is_modified, is_deleted], source, "1", restart_delay=0.0)
    watches.join(10)
    assert last is not None
    assert last.type == "DELETED"


class Blocked:
    """Source whose lists block until released, and then fail."""

    kind = Secret

    def __init__(self) -> None:
        self.release = threading.Event()

    def list_page(self, options: ListOptions) -> ObjectList[Secret]:
        self.release.wait(10)
        raise Forbidden("no")

    def watch_from(self, options: ListOptions) -> FakeWatch[Secret]:
        raise AssertionError("nothing was listed")


@pytest.mark.behaviour("UN-06")
@pytest.mark.parametrize(
    ("precondition", "message"),
    [
        pytest.param(None, "timed out waiting for the condition", id="nothing comes"),
        pytest.param(lambda store: True, "UntilWithSync: unable to sync caches: deadline exceeded", id="no store"),
    ],
)
def test_cache_that_never_syncs_ends_with_the_timeout(precondition: Any, message: str) -> None:
    source, clock, stepping = Blocked(), FakeClock(), Group()

    def let_half_a_second_pass() -> None:
        clock.wait_for_sleeps()
        clock.step(0.5)
        source.release.set()

    stepping.start(let_half_a_second_pass, name="steps")
    with pytest.raises(Interrupted, match=message):
        until_with_sync([is_added], SharedInformer(source), precondition=precondition, timeout=0.5, clock=clock)
    stepping.join(10)


@pytest.mark.feature("B-WAT-02")
@pytest.mark.behaviour("UN-06")
def test_precondition_that_holds_skips_the_conditions() -> None:
    def never(_: WatchEvent[Secret]) -> bool:
        raise AssertionError("a condition was tried")

    def is_there(store: Indexer[Secret]) -> bool:
        return store.get_by_key(ObjectName("ns", "first")) is not None

    informer: SharedInformer[Secret] = SharedInformer(FakeSource(Secret, FIRST))
    assert until_with_sync([never], informer, precondition=is_there, timeout=10.0) is None
    assert informer.is_stopped


@pytest.mark.behaviour("UN-06")
def test_existing_objects_are_added_events() -> None:
    informer: SharedInformer[Secret] = SharedInformer(FakeSource(Secret, FIRST))
    last = until_with_sync([is_added], informer, precondition=lambda _: False, timeout=10.0)
    assert last is not None
    assert (last.type, last.object.metadata.name) == ("ADDED", "first")


def test_changes_and_deletions_of_a_cache_are_events() -> None:
    source, changes = FakeSource(Secret, FIRST), Group()

    def change() -> None:
        source.wait_for_watch()
        source.modify(FIRST)
        source.delete(FIRST)

    changes.start(change, name="changes")
    last = until_with_sync([is_added, is_modified, is_deleted], SharedInformer(source), timeout=10.0)
    changes.join(10)
    assert last is not None
    assert last.type == "DELETED"


def test_crash_of_the_informer_ends_the_wait() -> None:
    class Broken(Blocked):
        def list_page(self, options: ListOptions) -> ObjectList[Secret]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        until_with_sync([is_added], SharedInformer(Broken()))
