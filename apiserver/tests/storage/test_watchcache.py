"""Watch cache: the window of past events that watches and pages read."""

import pytest

from apiserver.tests.storage.things import KEY, Recorder, names, thing
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import ExpiredRevision, FutureRevision


def test_history_outside_the_window_is_expired_and_the_future_is_unknown() -> None:
    store = Store(history=2)
    old = store.put(KEY, thing("a")).revision
    for value in range(3):
        store.put(KEY, thing("a", value=value))
    with pytest.raises(ExpiredRevision):
        store.events_since(KEY, old)
    with pytest.raises(ExpiredRevision):
        store.window(KEY, at=old)
    with pytest.raises(FutureRevision):
        store.events_since(KEY, store.revision + 1)
    assert len(store.events_since(KEY, store.oldest)) == 2


def test_compaction_drops_history_and_keeps_objects() -> None:
    store = Store()
    store.put(KEY, thing("a"))
    store.put(KEY, thing("a", value=1))
    store.compact()
    with pytest.raises(ExpiredRevision):
        store.events_since(KEY, store.revision - 1)
    assert store.events_since(KEY, store.revision) == []
    assert names(store) == ["a"]


def test_window_is_limited_by_the_bytes_of_its_objects_as_well() -> None:
    size = len(Store().put(KEY, thing("a")).raw)
    store = Store(history_bytes=3 * size + 3)
    for name in "abcde":
        store.put(KEY, thing(name))
    assert [event.name[1] for event in store.events_since(KEY, store.oldest)] == ["c", "d", "e"]
    assert names(store) == ["a", "b", "c", "d", "e"]


def test_deletion_takes_the_bytes_of_the_object_it_removed() -> None:
    size = len(Store().put(KEY, thing("a")).raw)
    store = Store(history_bytes=2 * size + 2)
    store.put(KEY, thing("a"))
    store.put(KEY, thing("b"))
    store.remove(KEY, "ns", "a")
    assert [(event.type, event.name[1]) for event in store.events_since(KEY, store.oldest)] == [
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]


def test_events_of_a_quiet_kind_expire_with_those_of_a_busy_one() -> None:
    quiet, store = ("", "quiet"), Store(history=2)
    before = store.revision
    store.put(quiet, thing("a"))
    for value in range(2):
        store.put(KEY, thing("b", value=value))
    with pytest.raises(ExpiredRevision):
        store.events_since(quiet, before)
    assert store.events_since(quiet, store.oldest) == []
    assert names(store) == ["b"]


def test_past_states_stay_readable_after_their_objects_are_forgotten() -> None:
    store = Store()
    at = store.put(KEY, thing("a", value=1)).revision
    store.put(KEY, thing("a", value=2))
    store.remove(KEY, "ns", "a")
    assert [entry.object["value"] for entry in store.window(KEY, "ns", at=at)] == [1]
    assert [event.old.object["value"] for event in store.events_since(KEY, at) if event.old is not None] == [1, 2]


def test_detached_watcher_gets_nothing_more() -> None:
    store, watcher = Store(), Recorder()
    store.attach(KEY, watcher)
    store.put(KEY, thing("a"))
    store.detach(KEY, watcher)
    store.detach(KEY, watcher)
    store.put(KEY, thing("b"))
    assert [event.name[1] for event in watcher.events] == ["a"]
    assert store.watchers(KEY) == []
