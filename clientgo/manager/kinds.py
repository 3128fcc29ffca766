"""Typed clients by class, without registration, and uncached reads with them."""

import threading
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from clientgo.cache.pager import PAGE_SIZE, Pager
from clientgo.dynamic.client import DynamicClient, MetadataClient
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured
from clientgo.errors import NotFound
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import Scheme, api_of, check_scope
from clientgo.meta.selectors import SelectorLike, everything, selector_text
from clientgo.rest.request import Requester
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.scale import ScaleClient

T = TypeVar("T", bound=ApiObject)


def shape_of(cls: type) -> type:
    """Return the representation of a class: typed, unstructured or metadata only. Each has caches of its own."""
    return next((shape for shape in (Unstructured, PartialObjectMetadata) if issubclass(cls, shape)), object)


def is_view(cls: type) -> bool:
    """Return whether a class is derived from another one of its kind: then it has caches of its own.

    Their options in `by_object` select other objects: one kind may have several selectors, each with a class.
    """
    resource = api_of(cls).gvr
    return any(getattr(vars(base).get("__api_type__"), "gvr", None) == resource for base in cls.__mro__[1:])


class Kinds:
    """Kinds of a program, each with one class, besides views of it. Thread-safe."""

    def __init__(self, scheme: Scheme | None = None) -> None:
        self.scheme = scheme if scheme is not None else Scheme()
        self._lock = threading.Lock()
        self._clients: dict[type, type[Any]] = {}

    def client_class(self, cls: type[T]) -> type[ScaleClient[T]]:
        """Return the client class of a kind; that of metadata lacks the methods for a status.

        Raises:
            TypeError: the class is not an API type.
            ValueError: another class already represents the kind.
        """
        with self._lock:
            client_class = self._clients.get(cls)
            if client_class is None:
                client_class = self._clients[cls] = self._make(cls)
        return cast(type[ScaleClient[T]], client_class)

    def client(self, cls: type[T], requester: Requester, namespace: str = "") -> ScaleClient[T]:
        """Return a client of a class's kind."""
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
                if not is_view(cls):
                    # They would share an informer, which can hold objects of one class only.
                    self.scheme.add(cls)
        return type(f"{api.kind}Client", (base,), {"kind": cls})


List = list  # the class below has a method named list


class ApiReader:
    """Reads from the server, past the cache. Thread-safe."""

    def __init__(self, requester: Requester, kinds: Kinds) -> None:
        self._requester = requester
        self._kinds = kinds

    def get(self, cls: type[T], name: ObjectName) -> T:
        """Return the object of that name; raises `NotFound`, other `ApiError`s and `ConnectionFailed`."""
        check_scope(api_of(cls), name)
        return self._kinds.client(cls, self._requester, name.namespace).get(name.name)

    def find(self, cls: type[T], name: ObjectName) -> T | None:
        """Return the object of that name, or None; raises `ApiError`s except `NotFound`, and `ConnectionFailed`."""
        try:
            return self.get(cls, name)
        except NotFound:
            return None

    def list(
        self,
        cls: type[T],
        *,
        namespace: str = "",
        label_selector: SelectorLike = everything(),
        field_selector: str = "",
        limit: int = 0,
    ) -> List[T]:
        """Return the objects that match, of one namespace or all; at most `limit` of them, 0 for all.

        The server evaluates `field_selector`; it supports few fields besides `metadata.name`.
        """
        client = self._kinds.client(cls, self._requester, namespace)
        items = client.list(label_selector=label_selector, field_selector=field_selector, limit=limit).items
        return List(items[: limit or None])  # a server may ignore the limit

    def each(
        self,
        cls: type[T],
        *,
        namespace: str = "",
        label_selector: SelectorLike = everything(),
        field_selector: str = "",
        page: int = PAGE_SIZE,
    ) -> Iterator[T]:
        """Yield the objects that match, `page` of them per request, all as of the first request.

        Raises:
            Gone: the server no longer has that version; the iteration cannot continue.
        """
        client = self._kinds.client(cls, self._requester, namespace)
        options = ListOptions(label_selector=selector_text(label_selector), field_selector=field_selector)
        return Pager(client.list_page, page_size=page).each_item(options)
