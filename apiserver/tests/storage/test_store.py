import pytest

from apiserver.tests.storage.things import KEY, names, thing
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import ExpiredRevision


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


def test_object_is_encoded_once() -> None:
    entry = Store().put(KEY, thing("a"))
    assert entry.raw is entry.raw


def test_fork_has_the_objects_and_revision_and_its_own_writes() -> None:
    store = Store()
    store.put(KEY, thing("a"))
    fork = store.fork()
    assert (fork.revision, fork.list(KEY)) == (store.revision, store.list(KEY))
    fork.put(KEY, thing("a", value=1))
    fork.put(KEY, thing("b"))
    store.remove(KEY, "ns", "a")
    assert (names(store), names(fork)) == ([], ["a", "b"])


def test_fork_does_not_know_its_past() -> None:
    store = Store()
    store.put(KEY, thing("a"))
    with pytest.raises(ExpiredRevision):
        store.fork().events_since(KEY, store.revision - 1)


def test_fork_keeps_an_object_whose_origin_is_replaced_and_shrunk() -> None:
    store = Store()
    store.put(KEY, thing("a"))
    fork = store.fork()
    store.put(KEY, thing("a", value=1))
    assert fork.list(KEY)[0]["value"] == 0


def test_list_is_ordered_by_name_within_its_namespace() -> None:
    store = Store()
    for name, namespace in (("b", "ns"), ("a", "ns"), ("a", "ns2"), ("z", "n")):
        store.put(KEY, thing(name, namespace))
    assert names(store) == ["a", "b"]
    assert store.names(KEY, "ns") == [("ns", "a"), ("ns", "b")]
    assert len(store.list(KEY)) == len(store.names(KEY)) == 4


def test_subscribers_of_some_keys_get_no_others() -> None:
    store, heard = Store(), []
    leave = store.subscribe(lambda kind, key, *_: heard.append((kind, key[1])), [("", "others")])
    store.subscribe(lambda kind, key, *_: heard.append((kind, "all")))
    store.put(KEY, thing("a"))
    store.put(("", "others"), thing("a"))
    leave()
    store.put(("", "others"), thing("a"))
    assert heard == [("ADDED", "all"), ("ADDED", "others"), ("ADDED", "all"), ("MODIFIED", "all")]


def test_subscribers_get_old_and_new_until_unsubscribed() -> None:
    store, heard = Store(), []
    leave = store.subscribe(lambda kind, key, old, new: heard.append((kind, key, old is not None, new is not None)))
    store.put(KEY, thing("a"))
    store.put(KEY, thing("a", value=1))
    store.remove(KEY, "ns", "a")
    leave()
    store.put(KEY, thing("b"))
    assert heard == [("ADDED", KEY, False, True), ("MODIFIED", KEY, True, True), ("DELETED", KEY, True, False)]
