"""Journal: what is persisted, when watches and clients hear of it, and what a failure undoes."""

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.tests.storage.things import KEY, Recorder, names, thing
from clientgo_apiserver.api.status import ApiFailure, internal_error
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import ExpiredRevision


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
