from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.envtest.apiserver.store import Event, Expired, FutureRevision, Store

KEY = ("", "things")


def thing(name: str, namespace: str = "ns", value: int = 0) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name, "namespace": namespace}, "value": value}


def names(store: Store, **options: Any) -> list[str]:
    return [entry.object["metadata"]["name"] for entry in store.entries(KEY, "ns", **options)]


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def deliver(self, event: Event) -> None:
        self.events.append(event)


def test_every_write_gets_the_next_revision_and_says_so_in_the_object() -> None:
    store = Store()
    first, second = store.put(KEY, thing("a")), store.put(KEY, thing("a", value=1))
    assert second.revision == first.revision + 1 == store.revision
    assert second.object["metadata"]["resourceVersion"] == str(second.revision)


def test_a_write_leaves_what_was_read_before_as_it_was() -> None:
    store = Store()
    before = store.put(KEY, thing("a")).object
    store.put(KEY, thing("a", value=1))
    assert before["value"] == 0


def test_an_object_is_encoded_once() -> None:
    entry = Store().put(KEY, thing("a"))
    assert entry.raw is entry.raw


def test_a_list_is_ordered_by_name_within_its_namespace() -> None:
    store = Store()
    for name, namespace in (("b", "ns"), ("a", "ns"), ("a", "ns2"), ("z", "n")):
        store.put(KEY, thing(name, namespace))
    assert names(store) == ["a", "b"]
    assert len(store.list(KEY)) == 4


def test_a_past_revision_is_shown_as_it_was() -> None:
    store = Store()
    store.put(KEY, thing("a"))
    at = store.put(KEY, thing("b")).revision
    store.remove(KEY, "ns", "a")
    store.put(KEY, thing("b", value=9))
    store.put(KEY, thing("c"))
    assert names(store, at=at) == ["a", "b"]
    assert [entry.object["value"] for entry in store.entries(KEY, "ns", at=at)] == [0, 0]
    assert names(store, at=at, after=("ns", "a")) == ["b"]


def test_history_outside_the_window_is_expired_and_the_future_is_unknown() -> None:
    store = Store(history=2)
    old = store.put(KEY, thing("a")).revision
    for value in range(3):
        store.put(KEY, thing("a", value=value))
    with pytest.raises(Expired):
        store.events_since(KEY, old)
    with pytest.raises(Expired):
        store.entries(KEY, at=old)
    with pytest.raises(FutureRevision):
        store.events_since(KEY, store.revision + 1)
    assert len(store.events_since(KEY, store.oldest)) == 2


def test_compaction_forgets_all_history_but_not_the_objects() -> None:
    store = Store()
    store.put(KEY, thing("a"))
    store.put(KEY, thing("a", value=1))
    store.compact()
    with pytest.raises(Expired):
        store.events_since(KEY, store.revision - 1)
    assert store.events_since(KEY, store.revision) == []
    assert names(store) == ["a"]


def test_subscribers_hear_old_and_new_until_they_leave() -> None:
    store, heard = Store(), []
    leave = store.subscribe(lambda kind, key, old, new: heard.append((kind, key, old is not None, new is not None)))
    store.put(KEY, thing("a"))
    store.put(KEY, thing("a", value=1))
    store.remove(KEY, "ns", "a")
    leave()
    store.put(KEY, thing("b"))
    assert heard == [("ADDED", KEY, False, True), ("MODIFIED", KEY, True, True), ("DELETED", KEY, True, False)]


OPERATIONS = st.lists(st.tuples(st.sampled_from(["put", "remove"]), st.sampled_from("abc"), st.integers(0, 9)))


@given(OPERATIONS, OPERATIONS)
def test_a_list_and_the_events_after_it_always_give_the_final_list(
    before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]
) -> None:
    store = Store()
    play(store, before)
    seen = {entry.object["metadata"]["name"]: entry.object for entry in store.entries(KEY)}
    since, live = store.revision, Recorder()
    store.attach(KEY, live)
    play(store, after)
    assert [event.revision for event in live.events] == sorted({event.revision for event in live.events})
    assert store.events_since(KEY, since) == live.events
    for event in live.events:
        if event.type == "DELETED":
            del seen[event.name[1]]
        else:
            seen[event.name[1]] = event.new.object
    assert seen == {entry.object["metadata"]["name"]: entry.object for entry in store.entries(KEY)}
    past = {e.object["metadata"]["name"] for e in store.entries(KEY, at=since)}
    assert past == replayed(before)


def play(store: Store, operations: list[tuple[str, str, int]]) -> None:
    for what, name, value in operations:
        if what == "put":
            store.put(KEY, thing(name, value=value))
        else:
            store.remove(KEY, "ns", name)


def replayed(operations: list[tuple[str, str, int]]) -> set[str]:
    left: set[str] = set()
    for what, name, _ in operations:
        (left.add if what == "put" else left.discard)(name)
    return left


class MemoryJournal:
    def __init__(self) -> None:
        self.revision = 1
        self.kept: dict[tuple[Any, Any], bytes] = {}
        self.broken = False

    def load(self) -> tuple[int, list[tuple[Any, bytes]]]:
        return self.revision, [(key, raw) for (key, _), raw in self.kept.items()]

    def record(self, revision: int, key: Any, name: Any, raw: bytes | None) -> None:
        if self.broken:
            raise OSError("disk full")
        self.revision = revision
        if raw is None:
            del self.kept[key, name]
        else:
            self.kept[key, name] = raw


def test_a_store_comes_back_from_its_journal_with_every_write_and_the_same_revision() -> None:
    journal = MemoryJournal()
    store = Store(journal=journal)
    store.put(KEY, thing("a"))
    store.put(KEY, thing("b", value=2))
    store.remove(KEY, "ns", "a")
    again = Store(journal=journal)
    assert again.revision == store.revision
    assert again.list(KEY) == store.list(KEY)
    with pytest.raises(Expired):
        again.events_since(KEY, store.revision - 1)


def test_a_write_the_journal_refuses_has_not_happened() -> None:
    journal = MemoryJournal()
    store = Store(journal=journal)
    store.put(KEY, thing("a"))
    journal.broken, before = True, store.revision
    with pytest.raises(OSError, match="disk full"):
        store.put(KEY, thing("b"))
    with pytest.raises(OSError, match="disk full"):
        store.remove(KEY, "ns", "a")
    assert (store.revision, names(store)) == (before, ["a"])
