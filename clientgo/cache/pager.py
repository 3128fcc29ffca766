"""Lists in pages, and the choice of resourceVersion and page size for the lists of a reflector.

The first page may be requested at any resourceVersion; a continue token determines that of the other pages, and a
server rejects a request with both. A token expires after some minutes. If it expires in the middle of a list, the whole
list is requested again in one response, because progress is more important than pages. Every list ends: a token that
comes again is an error, and so is a list of too many pages.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from msgspec.structs import replace

from clientgo.cache.state import Position
from clientgo.errors import ApiError, BadRequest, ConnectionFailed, Gone, Invalid, InvalidResponse
from clientgo.internal.callbacks import callback_failure
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import ListOptions
from clientgo.rest.bounds import MAX_PAGES
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import INTERRUPTED, StopEvent, on_stop

T = TypeVar("T")

PAGE_SIZE = 500
"""Objects per page (client-go's pager)."""

FetchPage = Callable[[ListOptions], ObjectList[T]]
"""Returns one page of a list; raises `ApiError` or `ConnectionFailed`."""


class Pager(Generic[T]):
    """Requests a list page by page; `page_size` 0 requests all objects at once."""

    def __init__(
        self,
        fetch: FetchPage[T],
        *,
        page_size: int = PAGE_SIZE,
        full_list_if_expired: bool = True,
        buffer: int = 0,
        max_pages: int = MAX_PAGES,
    ) -> None:
        """While `each_item` or `pages` is read, a thread prefetches `buffer` pages; 0 for no prefetching."""
        self._fetch = fetch
        self._page_size = page_size
        self._full_list_if_expired = full_list_if_expired
        self._buffer = buffer
        self._max_pages = max_pages

    def list(self, options: ListOptions) -> tuple[ObjectList[T], bool]:
        """Return the whole list, and True if it consists of several pages.

        A list of one page is returned unchanged; one of several has the first page's resourceVersion.

        Raises:
            Gone: the first page's version has expired, or a later page's and `full_list_if_expired` is False.
            InvalidResponse: the list does not end.
        """
        first = self._fetch(self._first(options))
        if not first.metadata.continue_:
            return first, False
        try:
            return self._completed(first, options), True
        except Gone:
            if not self._full_list_if_expired:
                raise
        full_list = self._fetch(replace(options, limit=0, continue_=""))
        # A server may send pages all the same. An incomplete list would delete the other objects from a cache.
        return (self._completed(full_list, options) if full_list.metadata.continue_ else full_list), True

    def _completed(self, first: ObjectList[T], options: ListOptions) -> ObjectList[T]:
        """Return the list that begins with this page."""
        items = list(first.items)
        undecodable: list[Undecodable] = list(first.undecodable)
        options = replace(self._first(options), resource_version="", resource_version_match="")
        tokens, token = _Tokens(self._max_pages), first.metadata.continue_
        while token:
            page = self._fetch(replace(options, continue_=tokens.checked(token)))
            items += page.items
            undecodable += page.undecodable
            token = page.metadata.continue_
        return ObjectList(replace(first.metadata, continue_=""), items, tuple(undecodable))

    def each_item(self, options: ListOptions) -> Iterator[T]:
        """Yield each object, with one page (and the buffer) in memory; close the iterator to stop early.

        As in client-go, every page is requested with the resourceVersion of `options`: use "" or "0".

        Raises:
            Gone: a page's version has expired; the objects of earlier pages have been yielded.
            InvalidResponse: the list does not end.
        """
        for page in self.pages(options):
            # Popped, so that a reader that keeps one object does not keep its page.
            items = page.items[::-1]
            del page
            while items:
                yield items.pop()

    def pages(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        """Yield each page."""
        return self._prefetched(options) if self._buffer else self._pages(options)

    def _first(self, options: ListOptions) -> ListOptions:
        return options if options.limit else replace(options, limit=self._page_size)

    def _pages(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        options, tokens = self._first(options), _Tokens(self._max_pages)
        while True:
            page = self._fetch(options)
            token = page.metadata.continue_
            yield page
            if not token:
                return
            options = replace(options, continue_=tokens.checked(token))

    def _prefetched(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        prefetch = _Prefetch[T](self._buffer)
        group = Group(stop=prefetch.stop)
        group.start(prefetch.fill, self._pages(options), name="pager")
        try:
            # A stop of this thread ends the other one's request, whose error ends the iteration.
            with on_stop(prefetch.end):
                yield from prefetch
        finally:
            prefetch.end()
            group.join()


class _Tokens:
    """Continue tokens of one list."""

    def __init__(self, max_pages: int) -> None:
        self._max_pages = max_pages
        self._seen: set[str] = set()

    def checked(self, token: str) -> str:
        """Return the token of the next page; raise `InvalidResponse` if the list does not end."""
        if token in self._seen:
            raise InvalidResponse("invalid list: the server sent the same continue token twice")
        if len(self._seen) >= self._max_pages:
            raise InvalidResponse(f"invalid list: it has more than {self._max_pages} pages")
        self._seen.add(token)
        return token


class _Prefetch(Generic[T]):
    """Pages between the thread that requests them and the one that reads them."""

    def __init__(self, size: int) -> None:
        self.stop = StopEvent()
        self._room = threading.Semaphore(size)
        self._fetched: queue.SimpleQueue[ObjectList[T] | Exception | None] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[ObjectList[T]]:
        while (page := self._fetched.get()) is not None:
            if isinstance(page, Exception):
                raise page
            self._room.release()
            yield page

    def fill(self, pages: Iterator[ObjectList[T]]) -> None:
        """Request pages until the last one, or until the reader stops."""
        end: Exception | None = None
        try:
            while self._room.acquire() and not self.stop.is_set():
                self._fetched.put(next(pages))
            end = ConnectionFailed(INTERRUPTED, stopping=True)  # without it, the list would look complete
        except StopIteration:
            pass  # that was the last page
        except BaseException as error:  # noqa: BLE001  # raised again in the reader's thread, which waits for it
            end = error if isinstance(error, Exception) else callback_failure(error)
        self._fetched.put(end)

    def end(self) -> None:
        """Stop requesting pages; a thread that waits for room continues, to its end."""
        self.stop.set()
        self._room.release()


class ReflectorPager(Generic[T]):
    """Lists of one reflector: chooses resourceVersion and page size. For one thread.

    The first list accepts any cached state (version "0"), later ones nothing older than what was received; once the
    server rejects that version, the newest state is requested. A server with a watch cache answers a list at a version
    from memory only without a limit; so pages are requested only where they cost nothing: with version "0", for which
    such a server ignores them, and without a version, which is read from etcd in any case. With `in_parts` the list is
    read while it arrives, and the newest state comes from memory, too (ConsistentListFromCache, Kubernetes 1.31): no
    pages are requested.
    """

    def __init__(self, fetch: FetchPage[T], position: Position, *, page_size: int, in_parts: bool = False) -> None:
        self._fetch = fetch
        self._position = position
        self._page_size = page_size
        self._in_parts = in_parts
        self._paged = False  # the server sent pages for version "0": it has no watch cache

    def __repr__(self) -> str:
        return f"<ReflectorPager{' in pages' if self._paged else ''}>"

    def list(self) -> ObjectList[T]:
        """Return a complete list, no older than the last version.

        Raises:
            ApiError: the server rejected the request, also with an empty resourceVersion if that may help.
            ConnectionFailed: the server cannot be reached.
        """
        version = "" if self._position.newest_required else self._position.version or "0"
        pager = Pager(self._fetch, page_size=self._size(version))
        try:
            objects, paged = pager.list(ListOptions(resource_version=version))
        except ApiError as error:
            # "" is the newest state already. Another server, or another storage, may have versions of another form.
            is_unknown = isinstance(error, BadRequest | Invalid) and version != "0"
            if not version or not (out_of_range(error) or is_unknown):
                raise
            self._position.newest_required = True
            objects, paged = pager.list(ListOptions())
        self._paged |= paged and version == "0"
        return objects

    def _size(self, version: str) -> int:
        return self._page_size or (PAGE_SIZE if (not self._in_parts and version in ("", "0")) or self._paged else 0)


def out_of_range(error: Exception | None) -> bool:
    """Return True if the server rejected a resourceVersion as expired, or as too new."""
    return isinstance(error, Gone) or (isinstance(error, ApiError) and error.is_resource_version_too_large)
