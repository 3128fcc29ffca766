"""Writes that wait until their objects are read, and the order of the callbacks of controllers."""

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.tests.storage.things import Recorder
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

MAPS: Key = ("", "configmaps")
OTHERS: Key = ("", "secrets")


def put(store: Store) -> object:
    return store.put(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})


READS: dict[str, Callable[[Store], Any]] = {
    "get": lambda store: store.get(MAPS, "n", "a"),
    "list": lambda store: store.list(MAPS),
    "names": lambda store: store.names(MAPS),
    "count": lambda store: store.count(MAPS),
    "window": lambda store: len(store.window(MAPS)),
    "events": lambda store: store.events_since(MAPS, 1),
    "keys": lambda store: MAPS in store.stored_keys(),
}


@pytest.mark.parametrize("read", READS)
def test_delayed_write_precedes_the_first_read_of_its_key(read: str) -> None:
    store = Store()
    store.delay(MAPS, lambda: put(store))
    assert not store.list(OTHERS)
    assert store.revision == 1
    assert READS[read](store)
    assert (store.revision, bool(READS[read](store))) == (2, True)


def test_write_of_a_watched_key_is_not_delayed() -> None:
    store, watcher = Store(), Recorder()
    store.attach(MAPS, watcher)
    store.delay(MAPS, lambda: put(store))
    assert [event.type for event in watcher.events] == ["ADDED"]


def test_callbacks_run_by_rank_and_those_of_one_rank_in_order() -> None:
    scheduler = ManualScheduler(FakeClock())
    state, called = State(scheduler, FakeClock()), list[str]()
    for name, rank in (("last", 2), ("counts", 1), ("acts", 0), ("acts too", 0)):
        state.call_soon(called.append, name, rank=rank)
    state.call_soon(lambda: state.call_soon(called.append, "follows"))
    scheduler.run()
    assert called == ["acts", "acts too", "follows", "counts", "last"]
