from apiserver.tests.storage.things import KEY, names, thing
from clientgo_apiserver.storage.store import Store


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


def test_list_is_ordered_by_name_within_its_namespace() -> None:
    store = Store()
    for name, namespace in (("b", "ns"), ("a", "ns"), ("a", "ns2"), ("z", "n")):
        store.put(KEY, thing(name, namespace))
    assert names(store) == ["a", "b"]
    assert store.names(KEY, "ns") == [("ns", "a"), ("ns", "b")]
    assert len(store.list(KEY)) == len(store.names(KEY)) == 4


def test_store_that_begins_with_a_snapshot_has_its_objects_and_revision_and_changes_only_itself() -> None:
    first = Store()
    first.put(KEY, thing("a"))
    snapshot = first.snapshot()
    second = Store(snapshot=snapshot)
    assert (names(second), second.revision, second.oldest) == (["a"], first.revision, first.revision)
    second.put(KEY, thing("b"))
    second.remove(KEY, "", "a")
    assert (names(first), names(Store(snapshot=snapshot))) == (["a"], ["a"])


def test_snapshot_has_what_was_to_be_written_before_the_next_read() -> None:
    store = Store()
    store.delay(KEY, lambda: store.put(KEY, thing("late")))
    assert names(Store(snapshot=store.snapshot())) == ["late"]


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
