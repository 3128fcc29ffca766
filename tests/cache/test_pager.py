"""Pager: lists in pages, whole or object by object."""

import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from clientgo.cache.pager import PAGE_SIZE, Pager
from clientgo.errors import CallbackFailed, Expired, InvalidResponse
from clientgo.meta import ListMeta, ObjectList, ObjectMeta
from clientgo.meta.listwatch import ListOptions


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Item:
    metadata: ObjectMeta


class Server:
    """Server with items "0", "1", … in pages at version "rv:20", which rejects what a real one rejects."""

    def __init__(self, total: int, *, page_size: int = 10, expires_on: int = 0) -> None:
        self.calls: list[ListOptions] = []
        self._total = total
        self._page_size = page_size
        self._expires_on = expires_on
        self._token = ""
        self._finished = False

    def page(self, options: ListOptions) -> ObjectList[Item]:
        self.calls.append(options)
        assert not self._finished, "asked again after the last page"
        if len(self.calls) == self._expires_on:
            raise Expired("the token is too old")
        assert options.limit == self._page_size
        assert options.continue_ == self._token
        assert not (options.continue_ and (options.resource_version or options.resource_version_match))
        first = int(options.continue_.removeprefix("rv:20:") or -1) + 1
        return self._items(first, min(first + options.limit, self._total))

    def page_or_all(self, options: ListOptions) -> ObjectList[Item]:
        """Return a page, or the whole list without a limit."""
        if options.limit:
            return self.page(options)
        self.calls.append(options)
        return self._items(0, self._total)

    def _items(self, first: int, end: int) -> ObjectList[Item]:
        self._finished = end >= self._total
        self._token = "" if self._finished else f"rv:20:{end - 1}"
        items = [Item(ObjectMeta(name=str(n))) for n in range(first, end)]
        return ObjectList(ListMeta(resource_version="rv:20", continue_=self._token), items)


def names(items: list[Item]) -> list[str]:
    return [item.metadata.name for item in items]


def numbers(count: int) -> list[str]:
    return [str(n) for n in range(count)]


AT_10 = ListOptions(resource_version="rv:10")


@pytest.mark.feature("B-PAG-01")
@pytest.mark.behaviour("PG-01")
@pytest.mark.parametrize(
    ("total", "options", "paged"),
    [
        (0, ListOptions(), False),
        (9, ListOptions(), False),
        (10, ListOptions(), False),
        (11, ListOptions(), True),
        (21, ListOptions(), True),
        pytest.param(11, AT_10, True, id="at a version"),
        pytest.param(
            11, ListOptions(resource_version="rv:10", resource_version_match="NotOlderThan"), True, id="not older"
        ),
    ],
)
def test_pages_are_combined_to_a_list(total: int, options: ListOptions, paged: bool) -> None:
    server = Server(total)
    result, was_paged = Pager(server.page, page_size=10).list(options)
    assert names(result.items) == numbers(total)
    assert was_paged is paged
    assert (result.metadata.resource_version, result.metadata.continue_) == ("rv:20", "")
    assert server.calls[0].resource_version == options.resource_version


@pytest.mark.feature("B-PAG-01")
@pytest.mark.behaviour("PG-01")
def test_expired_token_causes_a_full_list_at_the_requested_version() -> None:
    server = Server(21, expires_on=2)
    result, paged = Pager(server.page_or_all, page_size=10).list(AT_10)
    assert (names(result.items), paged) == (numbers(21), True)
    assert [(call.limit, call.continue_, call.resource_version) for call in server.calls] == [
        (10, "", "rv:10"), (10, "rv:20:9", ""), (0, "", "rv:10"),
    ]  # fmt: skip


@pytest.mark.feature("B-PAG-01")
@pytest.mark.behaviour("PG-01")
def test_expired_token_is_an_error_without_full_lists() -> None:
    server = Server(21, expires_on=2)
    with pytest.raises(Expired):
        Pager(server.page, page_size=10, full_list_if_expired=False).list(ListOptions())
    assert len(server.calls) == 2


def test_full_list_that_comes_in_pages_is_completed() -> None:
    pages: dict[tuple[int, str], ObjectList[Item] | Exception] = {
        (10, ""): page_of("0", "1", token="x"),
        (10, "x"): Expired("the token is too old"),
        (0, ""): page_of("0", "1", token="y"),
        (10, "y"): page_of("2"),
    }

    def fetch(options: ListOptions) -> ObjectList[Item]:
        page = pages[options.limit, options.continue_]
        if isinstance(page, Exception):
            raise page
        return page

    result, _ = Pager(fetch, page_size=10).list(ListOptions())
    assert (names(result.items), result.metadata.continue_) == (numbers(3), "")


def page_of(*items: str, token: str = "") -> ObjectList[Item]:
    return ObjectList(ListMeta(continue_=token), [Item(ObjectMeta(name=name)) for name in items])


@pytest.mark.parametrize("tokens", [("a", "a"), ("a", "b", "c", "b")], ids=["same token", "cycle"])
@pytest.mark.parametrize("read", [lambda pager: pager.list(AT_10), lambda pager: [*pager.each_item(AT_10)]])
def test_list_that_returns_to_a_page_is_an_error(
    read: Callable[[Pager[Item]], object], tokens: tuple[str, ...]
) -> None:
    calls = iter(tokens)
    with pytest.raises(InvalidResponse, match="the server sent the same continue token twice"):
        read(Pager(lambda _: page_of("a", token=next(calls)), page_size=10))


def test_list_of_pages_without_end_is_an_error() -> None:
    calls = 0

    def fetch(_: ListOptions) -> ObjectList[Item]:
        nonlocal calls
        calls += 1
        return page_of(token=str(calls))

    with pytest.raises(InvalidResponse, match="it has more than 20 pages"):
        Pager(fetch, page_size=10, max_pages=20).list(AT_10)
    assert calls == 21


@pytest.mark.feature("B-PAG-01")
def test_expired_first_page_is_an_error() -> None:
    with pytest.raises(Expired):
        Pager(Server(21, expires_on=1).page_or_all, page_size=10).list(ListOptions())


def visit(pager: Pager[Item], act: Callable[[Item], None] = lambda _: None) -> tuple[list[str], str]:
    visited: list[str] = []
    try:
        for item in pager.each_item(ListOptions()):
            visited.append(item.metadata.name)
            act(item)
    except (Expired, ArithmeticError) as error:
        return visited, type(error).__name__
    return visited, ""


BUFFERS = pytest.mark.parametrize("buffer", [pytest.param(0, id="as read"), pytest.param(10, id="ahead")])


@pytest.mark.feature("B-PAG-02")
@pytest.mark.behaviour("PG-02")
@BUFFERS
@pytest.mark.parametrize("total", [0, 9, 10, 11, 21])
def test_each_item_yields_objects_in_order(total: int, buffer: int) -> None:
    assert visit(Pager(Server(total).page, page_size=10, buffer=buffer)) == (numbers(total), "")


@pytest.mark.behaviour("PG-02")
@BUFFERS
def test_items_before_an_expired_page_are_yielded(buffer: int) -> None:
    pager = Pager(Server(21, expires_on=2).page, page_size=10, buffer=buffer)
    assert visit(pager) == (numbers(10), "Expired")


@pytest.mark.behaviour("PG-02")
@BUFFERS
def test_reader_that_raises_ends_prefetching(buffer: int) -> None:
    def fail_on_third(item: Item) -> None:
        if item.metadata.name == "2":
            raise ArithmeticError

    pager = Pager(Server(51).page, page_size=10, buffer=buffer)
    assert visit(pager, fail_on_third) == (numbers(3), "ArithmeticError")
    gc.collect()
    assert "pager" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.behaviour("PG-02")
def test_reader_that_stops_requests_no_further_page() -> None:
    server = Server(51)
    items = Pager(server.page, page_size=10).each_item(ListOptions())
    assert next(items).metadata.name == "0"
    items.close()  # type: ignore[attr-defined]  # a generator
    assert len(server.calls) == 1
    assert list(items) == []


def test_prefetching_is_limited_by_the_buffer() -> None:
    server, semaphore = Server(1000), threading.Semaphore(0)

    def page(options: ListOptions) -> ObjectList[Item]:
        semaphore.release()
        return server.page(options)

    items = Pager(page, page_size=10, buffer=3).each_item(ListOptions())
    next(items)
    for _ in range(4):  # three in the buffer, and one more for the one that was taken
        assert semaphore.acquire(timeout=10)
    assert not semaphore.acquire(timeout=0.05)
    items.close()  # type: ignore[attr-defined]  # a generator


@pytest.mark.feature("B-PAG-02")
@pytest.mark.behaviour("RL-31")
def test_reference_to_one_object_keeps_no_other_alive() -> None:
    result, _ = Pager(Server(500, page_size=100).page, page_size=100).list(ListOptions())
    stored, other_items = (
        result.items[250],
        [weakref.ref(item) for item in result.items if item is not result.items[250]],
    )
    del result
    gc.collect()
    assert stored.metadata.name == "250"
    assert [ref for ref in other_items if ref() is not None] == []


@pytest.mark.feature("B-PAG-01")
def test_page_size_is_client_gos() -> None:
    assert PAGE_SIZE == 500


@pytest.mark.parametrize("error", [LookupError("no"), SystemExit(1)], ids=repr)
def test_exception_of_a_prefetched_page_is_raised_to_the_reader(error: BaseException) -> None:
    def fetch(options: ListOptions) -> ObjectList[Item]:
        if options.continue_:
            raise error
        return page_of("a", token="x")

    items = Pager(fetch, buffer=1).each_item(AT_10)
    assert next(items).metadata.name == "a"
    with pytest.raises((LookupError, CallbackFailed), match=r"no|SystemExit: 1"):
        next(items)
