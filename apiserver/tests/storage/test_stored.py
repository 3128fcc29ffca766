"""Pages of lists: one snapshot to the end, at the cost of the entries shown."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.storage.things import KEY, thing
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Entry, Name, Range, Window

NAMESPACES = st.sampled_from(["", "n", "ns", "ns2"])
WRITES = st.lists(st.tuples(st.booleans(), NAMESPACES.filter(bool), st.sampled_from("abcd")), max_size=12)


def write(store: Store, writes: list[tuple[bool, str, str]]) -> None:
    for put, namespace, name in writes:
        if put:
            store.put(KEY, thing(name, namespace))
        else:
            store.remove(KEY, namespace, name)


@given(WRITES, WRITES, NAMESPACES, st.none() | st.tuples(NAMESPACES, st.sampled_from("abcd")))
def test_window_of_the_past_is_what_the_list_was(
    before: list[tuple[bool, str, str]], since: list[tuple[bool, str, str]], namespace: str, after: Name | None
) -> None:
    store = Store()
    write(store, before)
    at = store.revision
    then = [*store.window(KEY, namespace, after=after)]
    assert then == [entry for entry in store.entries(KEY, namespace) if after is None or name_of(entry) > after]
    write(store, since)
    window = store.window(KEY, namespace, after=after, at=at)
    assert [*window] == then
    assert len(window) == len(then)


def name_of(entry: Entry) -> Name:
    meta = entry.object["metadata"]
    return meta["namespace"], meta["name"]


class Counted(dict[Name, Entry]):
    """Entries that count lookups."""

    looked_up = 0

    def __getitem__(self, name: Name) -> Entry:
        self.looked_up += 1
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[Name]:
        raise AssertionError("every entry was looked at")


class CountedNames(list[Name]):
    """Names that count those that are read."""

    read = 0

    def __getitem__(self, at: Any) -> Any:
        selected = super().__getitem__(at)
        self.read += len(selected) if isinstance(at, slice) else 1
        return selected


def test_page_looks_up_what_it_shows_and_no_more_of_many() -> None:
    names = [("ns", f"{number:05}") for number in range(10_000)]
    entries = Counted((name, Entry(thing(name[1]), 1)) for name in names)
    gone = {("ns", "00500a"): Entry(thing("00500a"), 1), names[501]: None}
    page = Window(entries, names, Range("ns", names[499]), gone)
    used = iter(page)
    assert [name_of(next(used))[1] for _ in range(3)] == ["00500", "00500a", "00502"]
    assert (len(page), entries.looked_up) == (9_500, 2)


def test_page_of_the_present_reads_the_names_it_shows_and_no_more_of_many() -> None:
    names = CountedNames(("ns", f"{number:05}") for number in range(10_000))
    entries = Counted((name, Entry(thing(name[1]), 1)) for name in [*names])
    page = Window(entries, names, Range("ns", ("ns", "00499")))
    first = [name_of(entry)[1] for entry in islice(page, 3)]
    assert (first, len(page), entries.looked_up) == (["00500", "00501", "00502"], 9_500, 3)
    assert names.read < 100
