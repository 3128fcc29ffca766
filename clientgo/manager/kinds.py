"""From a class to what reads and writes its objects: nothing has to be registered, `@api_type` says it all."""

import threading
from typing import Any, TypeVar, cast

from clientgo.dynamic.client import DynamicClient, MetadataClient
from clientgo.dynamic.metadata import PartialObjectMetadata
from clientgo.dynamic.unstructured import Unstructured
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import ApiType, Scheme, api_of
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
