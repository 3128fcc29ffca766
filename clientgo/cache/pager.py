"""Lists in pages: one request for each page, put together or handed out as they come.

The first page may be asked for at any version; a continue token pins the version of the others, and a server refuses
the two together. A token lives some minutes. When one expires in mid-list the whole list is asked for once more, in one
piece, because making progress is worth more than the pages.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from msgspec.structs import replace

from clientgo.errors import Gone
from clientgo.lifecycle import Group
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import ListOptions

T = TypeVar("T")

PAGE_SIZE = 500
"""Objects a page (client-go's pager)."""

PAGE_BUFFER = 10
"""Pages fetched ahead of the reader by `each_item`, if any are (client-go's pager)."""

FetchPage = Callable[[ListOptions], ObjectList[T]]
"""One page of a list; raises `ApiError` or `ConnectionFailed`."""


class Pager(Generic[T]):
    """Fetches a list page by page; `page_size` 0 asks for all at once."""

    def __init__(
        self, fetch: FetchPage[T], *, page_size: int = PAGE_SIZE, full_list_if_expired: bool = True, buffer: int = 0
    ) -> None:
        """`buffer` pages are fetched ahead of the reader by a thread while `each_item` is read; 0 for none."""
        self._fetch = fetch
        self._page_size = page_size
        self._full_list_if_expired = full_list_if_expired
        self._buffer = buffer

    def list(self, options: ListOptions) -> tuple[ObjectList[T], bool]:
        """The whole list, and whether it came in several pages.

        A list of one page is returned as the server gave it; one of several carries the first page's version.

        Raises:
            Gone: the first page's version is not kept any more, or a later page's and full lists are not wanted.
        """
        first = self._fetch(self._first(options))
        if not first.metadata.continue_:
            return first, False
        items = list(first.items)
        undecodable: list[Undecodable] = list(first.undecodable)
        page = first
        while page.metadata.continue_:
            # The version goes with the first page alone; the server refuses it together with a token.
            again = replace(
                self._first(options),
                continue_=page.metadata.continue_,
                resource_version="",
                resource_version_match="",
            )
            try:
                page = self._fetch(again)
            except Gone:
                if not self._full_list_if_expired:
                    raise
                return self._fetch(replace(options, limit=0, continue_="")), True
            items += page.items
            undecodable += page.undecodable
        return ObjectList(replace(first.metadata, continue_=""), items, tuple(undecodable)), True

    def each_item(self, options: ListOptions) -> Iterator[T]:
        """Each object in turn, holding one page (and the buffer) in memory; close the iterator to stop early.

        The version asked for goes with every page, as client-go's item-wise path has it: use it with none, or with "0".

        Raises:
            Gone: a page's version is not kept any more; objects of the pages before it have been handed out.
        """
        for page in self.pages(options):
            # Popped, so that a reader that keeps one object does not keep its page.
            items = page.items[::-1]
            del page
            while items:
                yield items.pop()

    def pages(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        """Each page in turn."""
        return self._pages_ahead(options) if self._buffer else self._pages(options)

    def _first(self, options: ListOptions) -> ListOptions:
        return options if options.limit else replace(options, limit=self._page_size)

    def _pages(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        options = self._first(options)
        while True:
            page = self._fetch(options)
            options = replace(options, continue_=page.metadata.continue_)
            yield page
            if not options.continue_:
                return

    def _pages_ahead(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        ahead = _Ahead[T](self._buffer)
        group = Group(stop=ahead.stop)
        group.start(ahead.fill, self._pages(options), name="pager")
        try:
            yield from ahead
        finally:
            ahead.end()
            group.join()


class _Ahead(Generic[T]):
    """Pages between the thread that fetches them and the one that reads them."""

    def __init__(self, size: int) -> None:
        self.stop = threading.Event()
        self._room = threading.Semaphore(size)
        self._fetched: queue.SimpleQueue[ObjectList[T] | Exception | None] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[ObjectList[T]]:
        while (page := self._fetched.get()) is not None:
            if isinstance(page, Exception):
                raise page
            self._room.release()
            yield page

    def fill(self, pages: Iterator[ObjectList[T]]) -> None:
        """Fetch until the pages or the reader's wish for them end."""
        end: Exception | None = None
        try:
            while self._room.acquire() and not self.stop.is_set():
                self._fetched.put(next(pages))
        except StopIteration:
            pass  # the pages are at their end
        except Exception as error:  # noqa: BLE001  # raised again in the reader's thread, whatever it is
            end = error
        self._fetched.put(end)

    def end(self) -> None:
        """The reader wants no more; a fetcher that waits for room goes on, to its end."""
        self.stop.set()
        self._room.release()
