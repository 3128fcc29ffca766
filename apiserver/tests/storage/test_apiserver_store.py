from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.http.status import ApiFailure, internal_error
from clientgo_apiserver.resources import Resource
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import ExpiredRevision, FutureRevision, StorageEvent

KEY = ("", "things")


def thing(name: str, namespace: str = "ns", value: int = 0) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name, "namespace": namespace}, "value": value}


def names(store: Store, **options: Any) -> list[str]:
    return [entry.object["metadata"]["name"] for entry in store.window(KEY, "ns", **options)]


class Recorder:
    def __init__(self) -> None:
        self.events: list[StorageEvent] = []

    def deliver(self, event: StorageEvent) -> None:
        self.events.append(event)

    def unserved(self, resource: Resource) -> None:
        raise AssertionError(f"{resource.qualified} is no longer served")


def test_every_write_gets_the_next_revision_and_says_so_in_the_object() -> None:
    store = Store()
    first, second = store.put(KEY, thing("a")), store.put(KEY, thing("a", value=1))
    assert second.revision == first.revision + 1 == store.revision
    assert second.object["metadata"]["resourceVersion"] == str(second.revision)


def test_write_does_not_modify_read_objects() -> None:
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
    assert [entry.object["value"] for entry in store.window(KEY, "ns", at=at)] == [0, 0]
    assert names(store, at=at, after=("ns", "a")) == ["b"]


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


def test_subscribers_get_old_and_new_until_unsubscribed() -> None:
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
    past = {e.object["metadata"]["name"] for e in store.window(KEY, at=since)}
    assert past == replayed(before)


def play(store: Store, operations: list[tuple[str, str, int]]) -> None:
    for what, name, value in operations:
        if what == "put":
            store.put(KEY, thing(name, value=value))
        else:
            store.remove(KEY, "ns", name)


def replayed(operations: list[tuple[str, str, int]]) -> set[str]:
    remaining: set[str] = set()
    for what, name, _ in operations:
        (remaining.add if what == "put" else remaining.discard)(name)
    return remaining


class MemoryJournal:
    def __init__(self) -> None:
        self.revision = 1
        self.kept: dict[tuple[Any, Any], bytes] = {}
        self.open: list[tuple[int, tuple[Any, Any], bytes | None]] = []
        self.commits = 0
        self.broken = ""

    def load(self) -> tuple[int, list[tuple[Any, bytes]]]:
        return self.revision, [(key, raw) for (key, _), raw in self.kept.items()]

    def record(self, revision: int, key: Any, name: Any, raw: bytes | None) -> None:
        self.refuse("record")
        self.open.append((revision, (key, name), raw))

    def commit(self) -> None:
        self.refuse("commit")
        self.commits += 1
        for revision, location, raw in self.open:
            self.revision = revision
            self.kept.pop(location, None)
            if raw is not None:
                self.kept[location] = raw
        self.open = []

    def refuse(self, what: str) -> None:
        if self.broken == what:
            self.open = []
            raise internal_error("disk full")


def test_store_restored_from_journal_has_every_write_and_revision() -> None:
    journal = MemoryJournal()
    store = Store(journal=journal)
    store.put(KEY, thing("a"))
    store.put(KEY, thing("b", value=2))
    store.remove(KEY, "ns", "a")
    again = Store(journal=journal)
    assert again.revision == store.revision
    assert again.list(KEY) == store.list(KEY)
    with pytest.raises(ExpiredRevision):
        again.events_since(KEY, store.revision - 1)


@pytest.mark.parametrize("step", ["record", "commit"])
def test_write_rejected_by_the_journal_is_undone(step: str) -> None:
    journal = MemoryJournal()
    store = Store(journal=journal)
    store.put(KEY, thing("a"))
    journal.broken, before = step, store.revision
    with pytest.raises(ApiFailure, match="disk full"):
        store.put(KEY, thing("b"))
    with pytest.raises(ApiFailure, match="disk full"):
        store.remove(KEY, "ns", "a")
    assert (store.revision, names(store)) == (before, ["a"])


class Turn:
    """A store whose writes are committed at the end of each turn of a loop, and its listeners."""

    def __init__(self) -> None:
        self.journal = MemoryJournal()
        self.due: list[Callable[[], None]] = []
        self.store = Store(journal=self.journal, later=self.due.append)
        self.watcher = Recorder()
        self.store.attach(KEY, self.watcher)
        self.listened: list[tuple[str, str, bool, bool]] = []
        self.store.subscribe(
            lambda kind, _, old, new: self.listened.append(
                (kind, (old or new or {})["metadata"]["name"], old is None, new is None)
            )
        )
        self.told: list[ApiFailure | None] = []

    def end(self) -> None:
        due, self.due[:] = self.due[:], []
        for callback in due:
            callback()


def test_writes_of_one_turn_are_committed_together_then_delivered() -> None:
    turn = Turn()
    for name in ("a", "b", "c"):
        turn.store.put(KEY, thing(name))
    turn.store.when_committed(turn.told.append)
    assert (names(turn.store), turn.store.committed) == (["a", "b", "c"], False)
    assert (turn.watcher.events, turn.told, turn.journal.kept) == ([], [], {})
    turn.end()
    assert [event.name[1] for event in turn.watcher.events] == ["a", "b", "c"]
    assert (turn.told, turn.store.committed, turn.journal.commits) == ([None], True, 1)
    assert len(turn.journal.kept) == 3


@pytest.mark.parametrize("step", ["record", "commit"])
def test_rejected_commit_is_undone_and_not_delivered(step: str) -> None:
    turn = Turn()
    turn.store.put(KEY, thing("a"))
    turn.store.put(KEY, thing("b"))
    turn.end()
    before, revision = turn.store.entries(KEY), turn.store.revision
    turn.watcher.events.clear()
    turn.listened.clear()
    turn.store.put(KEY, thing("a", value=2))
    turn.store.remove(KEY, "ns", "b")
    turn.store.put(KEY, thing("c"))
    turn.store.when_committed(turn.told.append)
    turn.journal.broken = step
    if step == "record":
        with pytest.raises(ApiFailure, match="disk full"):
            turn.store.put(KEY, thing("d"))
    turn.end()
    assert [str(failure) for failure in turn.told] == [str(internal_error("disk full"))]
    assert (turn.store.entries(KEY), turn.store.revision, turn.store.committed) == (before, revision, True)
    assert turn.watcher.events == []
    assert turn.listened[3:] == [
        ("DELETED", "c", False, True),
        ("ADDED", "b", True, False),
        ("MODIFIED", "a", False, False),
    ]
    turn.journal.broken = ""
    assert turn.store.put(KEY, thing("e")).revision == revision + 1
    turn.end()
    assert [event.name[1] for event in turn.store.events_since(KEY, revision)] == ["e"]
