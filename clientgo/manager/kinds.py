"""From a class to what reads and writes its objects: nothing has to be registered, `@api_type` says it all."""

import threading
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from clientgo.cache.pager import PAGE_SIZE, Pager
from clientgo.dynamic.client import DynamicClient, MetadataClient
from clientgo.dynamic.metadata import PartialObjectMetadata
from clientgo.dynamic.unstructured import Unstructured
from clientgo.errors import NotFound
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import ApiType, Scheme, api_of
from clientgo.meta.selectors import Selector, everything
from clientgo.rest.request import Requester
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.scale import ScaleClient

T = TypeVar("T", bound=ApiObject)


def shape_of(cls: type) -> type:
    """Which of the ways to hold objects a class is; each has caches of its own, because they hold different things."""
    return next((shape for shape in (Unstructured, PartialObjectMetadata) if issubclass(cls, shape)), object)


class Kinds:
    """The kinds a program uses, each by one class; safe for any number of threads."""

    def __init__(self, scheme: Scheme | None = None) -> None:
        self.scheme = scheme if scheme is not None else Scheme()
        self._lock = threading.Lock()
        self._clients: dict[type, type[Any]] = {}

    def client_class(self, cls: type[T]) -> type[ScaleClient[T]]:
        """The client of a class's kind; one of metadata has none of the methods that need a status.

        Raises:
            TypeError: the class is no API kind.
            ValueError: another class stands for that kind.
        """
        with self._lock:
            found = self._clients.get(cls)
            if found is None:
                found = self._clients[cls] = self._make(cls)
        return cast(type[ScaleClient[T]], found)

    def client(self, cls: type[T], requester: Requester, namespace: str = "") -> ScaleClient[T]:
        """A client of a class's kind over that requester."""
        return self.client_class(cls)(requester, namespace)

    def _make(self, cls: type[Any]) -> type[TypedClient[Any]]:
        api = api_of(cls)
        base: type[TypedClient[Any]] = ScaleClient
        match shape_of(cls):
            case shape if shape is Unstructured:
                base = cast(type[StatusClient[Any]], DynamicClient)
            case shape if shape is PartialObjectMetadata:
                base = cast(type[TypedClient[Any]], MetadataClient)
            case _:
                # Two classes of one kind would share an informer, which can hold only one of them.
                self.scheme.add(cls)
        return type(f"{api.kind}Client", (base,), {"kind": cls})


def check_scope(api: ApiType, name: ObjectName) -> None:
    """Raise ValueError if a name has a namespace where its kind has none, or none where it has one."""
    if bool(name.namespace) != api.namespaced:
        where = "needs a namespace" if api.namespaced else "is in no namespace"
        raise ValueError(f'{api.kind} "{name}": a {api.kind} {where}')


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
