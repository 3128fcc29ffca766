"""Listers: read-only access to a cache by name or label selector, without requests to the server."""

from typing import Any, ClassVar, Generic, TypeVar

from clientgo.cache.store import NAMESPACE_INDEX, Indexer, List
from clientgo.errors import NotFound, StatusDetails
from clientgo.log import get_logger
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.meta.selectors import Selector, everything

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)


class Lister(Generic[T]):
    """Lister of an informer's objects, in one namespace or in all."""

    kind: ClassVar[type[Any]]

    def __init__(self, indexer: Indexer[T], namespace: str = "", *, kind: type[T] | None = None) -> None:
        self._indexer = indexer
        self._namespace = namespace
        self._kind: type[T] = kind if kind is not None else self.kind

    def __repr__(self) -> str:
        return f"<Lister {self._kind.__name__}{' in ' + self._namespace if self._namespace else ''}>"

    def list(self, selector: Selector = everything()) -> List[T]:  # a selector is a value
        """Return the objects whose labels match; all of them by default."""
        if selector.impossible:
            return []
        objects = self._in_namespace()
        return objects if selector.empty else [o for o in objects if selector.matches(o.metadata.labels)]

    def get(self, name: str) -> T:
        """Return the object of that name.

        Raises:
            NotFound: the object is not in the cache; it may exist on the server, if it was just created.
        """
        obj = self._indexer.get_by_key(ObjectName(self._namespace, name))
        if obj is None:
            raise not_found(self._kind, name)
        return obj

    def in_namespace(self, namespace: str) -> "Lister[T]":
        """Return a lister of one namespace."""
        return Lister(self._indexer, namespace, kind=self._kind)

    def _in_namespace(self) -> List[T]:
        if not self._namespace:
            return self._indexer.list()
        if self._indexer.has_index(NAMESPACE_INDEX):
            return self._indexer.by_index(NAMESPACE_INDEX, self._namespace)
        log.warning("no namespace index: all objects are searched", extra={"lister": repr(self)})
        return [o for o in self._indexer.list() if o.metadata.namespace == self._namespace]


def not_found(kind: type, name: str) -> NotFound:
    """Return the error for an object that is not in a cache, in the words of a server."""
    api = api_of(kind)
    details = StatusDetails(name=name, group=api.group, kind=api.plural)
    return NotFound(f'{api.gvr.group_resource} "{name}" not found', details=details)
