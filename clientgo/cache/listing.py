"""The list half of a reflector: which version to ask for, and whether in pages.

The first list asks for any cached state (version "0"), later ones for nothing older than what was seen, and once the
server no longer has that, or not yet, for the newest. A server with a watch cache answers a list at a version from
memory only if no page size is asked for; so pages are asked for only where they cost it nothing: with version "0", for
which it ignores them, and with none, which goes to etcd anyway.
"""

from typing import Generic, TypeVar

from clientgo.cache.pager import PAGE_SIZE, FetchPage, Pager
from clientgo.errors import ApiError, Gone
from clientgo.meta.codec import ObjectList
from clientgo.meta.listwatch import ListOptions

T = TypeVar("T")


class Listing(Generic[T]):
    """Lists one source again and again by the rules of versions; for one thread."""

    def __init__(self, fetch: FetchPage[T], *, page_size: int) -> None:
        self._fetch = fetch
        self._page_size = page_size
        self._paged = False  # the server paged although any cached state would have done: it has no cache
        self._newest_needed = False

    def __repr__(self) -> str:
        return f"<Listing{', the newest' if self._newest_needed else ''}{', in pages' if self._paged else ''}>"

    @property
    def newest_needed(self) -> bool:
        """Whether the server no longer has, or has not yet, what was seen, so that only the newest state will do."""
        return self._newest_needed

    def need_newest(self) -> None:
        """The server refused the version that was seen."""
        self._newest_needed = True

    def done(self) -> None:
        """A complete list is in the sink, however it came."""
        self._newest_needed = False

    def fetch(self, seen: str) -> ObjectList[T]:
        """A complete list, no older than `seen`.

        Raises:
            ApiError: the server refused, also with an empty resourceVersion where that makes sense.
            ConnectionFailed: the server can't be reached.
        """
        version = "" if self._newest_needed else seen or "0"
        pager = Pager(self._fetch, page_size=self._size(version))
        try:
            objects, paged = pager.list(ListOptions(resource_version=version))
        except ApiError as error:
            if not out_of_range(error) or not version:  # the newest state has been asked for already
                raise
            self.need_newest()
            objects, paged = pager.list(ListOptions())
        self._paged |= paged and version == "0"
        return objects

    def _size(self, version: str) -> int:
        return self._page_size or (PAGE_SIZE if version in ("", "0") or self._paged else 0)


def out_of_range(error: Exception) -> bool:
    """Whether the server refused a version because it is too old for it, or too new."""
    return isinstance(error, Gone) or (isinstance(error, ApiError) and too_large(error))


def too_large(error: ApiError) -> bool:
    """Return whether the requested version is newer than the server's, as one that lags behind another answers."""
    if error.has_cause("ResourceVersionTooLarge"):
        return True
    # Servers before 1.18.6 send no such reason: a cause's message tells it, and before 1.17 only the error's own.
    messages = (error.message, *(cause.message or "" for cause in error.details.causes))
    return any("Too large resource version" in message for message in messages)
