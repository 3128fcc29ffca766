"""Reads from the server: for what must not be old, for what is not cached, and for what is too much to cache."""

from collections.abc import Iterator
from typing import TypeVar

from clientgo.cache.pager import PAGE_SIZE, Pager
from clientgo.errors import NotFound
from clientgo.manager.kinds import Kinds
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.options import ListOptions
from clientgo.meta.selectors import Selector, everything
from clientgo.rest.request import Requester

T = TypeVar("T", bound=ApiObject)

List = list  # inside a class that has a method of that name, the type needs another


class ApiReader:
    """Reads from the server, whatever is cached; safe for any number of threads."""

    def __init__(self, requester: Requester, kinds: Kinds) -> None:
        self._requester = requester
        self._kinds = kinds

    def get(self, cls: type[T], name: ObjectName) -> T:
        """The object of that name; raises `NotFound`, other `ApiError`s and `ConnectionFailed`."""
        return self._kinds.client(cls, self._requester, name.namespace).get(name.name)

    def find(self, cls: type[T], name: ObjectName) -> T | None:
        """The object of that name, or None; raises `ApiError`s but `NotFound`, and `ConnectionFailed`."""
        try:
            return self.get(cls, name)
        except NotFound:
            return None

    def list(
        self,
        cls: type[T],
        *,
        namespace: str = "",
        labels: str | Selector = everything(),
        field_selector: str = "",
        limit: int = 0,
    ) -> List[T]:
        """The objects that match, of one namespace or of all; `limit` of them at most, 0 for all.

        `field_selector` is the server's, which knows few fields besides `metadata.name`.
        """
        client = self._kinds.client(cls, self._requester, namespace)
        return List(client.list(label_selector=str(labels), field_selector=field_selector, limit=limit).items)

    def each(
        self,
        cls: type[T],
        *,
        namespace: str = "",
        labels: str | Selector = everything(),
        field_selector: str = "",
        page: int = PAGE_SIZE,
    ) -> Iterator[T]:
        """Each object that matches, asked for `page` at a time when it is wanted: all as they were at the beginning.

        Raises:
            Gone: the server has forgotten how it was then; what has been handed out can't be gone on from.
        """
        client = self._kinds.client(cls, self._requester, namespace)
        options = ListOptions(label_selector=str(labels), field_selector=field_selector)
        return Pager(client.list_page, page_size=page).each_item(options)
