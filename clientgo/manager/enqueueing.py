"""From events to requests: which names an object's change puts into the queue, and how urgent they are.

What gets into a queue is a name, never an event: of any number of changes one reconciliation remains. An update may
concern what the object led to before and what it leads to now; both are asked for, each name once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clientgo.cache.tombstone import DeletedFinalStateUnknown, last_known
from clientgo.manager.predicates import Predicate
from clientgo.manager.priority import LOW, NORMAL
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, GroupVersionKind, OwnerReference
from clientgo.meta.scheme import api_of, kind_of

T = TypeVar("T", bound=ApiObject)

MapFunc = Callable[[T], Iterable[ObjectName]]
"""Which objects are to be reconciled because this one changed. Called on the informer's side: it must be quick."""


@dataclass(frozen=True, kw_only=True)  # with slots, MapFuncs[Secret](...) could not be called
class MapFuncs(Generic[T]):
    """Which objects are to be reconciled, told apart by what happened; what has no function here leads nowhere.

    `update` is given the object before and after; a resync shows the same twice. `generic` is for channels.
    """

    create: MapFunc[T] | None = None
    update: Callable[[T, T], Iterable[ObjectName]] | None = None
    delete: MapFunc[T] | None = None
    generic: MapFunc[T] | None = None

    @classmethod
    def all_by(cls, function: MapFunc[T]) -> "MapFuncs[T]":
        """The same function for all; an update may concern what the object led to before, and what it leads to now."""

        def update(old: T, new: T) -> Iterable[ObjectName]:
            return function(new) if _is_unchanged(old, new) else (*function(old), *function(new))

        return cls(create=function, update=update, delete=function, generic=function)


ToRequests = MapFunc[T] | MapFuncs[T]
"""What leads from an object to the names of those to be reconciled."""

Enqueue = Callable[[ObjectName, int], None]
"""Puts a name with a priority into the queue."""


def itself(obj: ApiObject) -> Iterable[ObjectName]:
    """The object's own name."""
    return (object_name(obj),)


def owners_of(owner: type[Any], *, any_owner: bool = False) -> MapFunc[Any]:
    """The names of an object's owners of a kind: of the one that controls it, or of each with `any_owner`.

    The reference's version may be another: it is the same kind.

    Raises:
        TypeError: the kind is not known.
    """
    kind, api = kind_of(owner), api_of(owner)

    def owners(obj: ApiObject) -> Iterable[ObjectName]:
        namespace = obj.metadata.namespace if api.namespaced else ""
        references = obj.metadata.owner_references
        return [ObjectName(namespace, one.name) for one in references if _leads(one, kind, any_owner=any_owner)]

    return owners


def _leads(reference: OwnerReference, kind: GroupVersionKind, *, any_owner: bool) -> bool:
    group = reference.api_version.rpartition("/")[0]
    return reference.kind == kind.kind and group == kind.group and (any_owner or bool(reference.controller))


class EventHandler(Generic[T]):
    """Puts into the queue what events of one source lead to, if the predicates take the events."""

    def __init__(self, to_requests: ToRequests[T], predicate: Predicate, enqueue: Enqueue) -> None:
        self._map = to_requests if isinstance(to_requests, MapFuncs) else MapFuncs.all_by(to_requests)
        self._predicate = predicate
        self._enqueue = enqueue

    def listed(self, obj: T) -> None:
        """An object was there from the start: whatever happens now is more urgent."""
        if self._map.create is not None and self._predicate.create(obj):
            self._enqueue_all(self._map.create(obj), LOW)

    def created(self, obj: T) -> None:
        """An object came."""
        if self._map.create is not None and self._predicate.create(obj):
            self._enqueue_all(self._map.create(obj), NORMAL)

    def updated(self, old: T, new: T) -> None:
        """An object changed; or did not, and is shown again."""
        if self._map.update is not None and self._predicate.update(old, new):
            self._enqueue_all(self._map.update(old, new), LOW if _is_unchanged(old, new) else NORMAL)

    def deleted(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """An object went, perhaps unseen."""
        last = last_known(deleted)
        # An informer always knows a last state; a tombstone without one is made by hand, and leads nowhere.
        if self._map.delete is not None and last is not None and self._predicate.delete(last):
            self._enqueue_all(self._map.delete(last), NORMAL)

    def happened(self, obj: T) -> None:
        """Something happened that concerns an object."""
        if self._map.generic is not None and self._predicate.generic(obj):
            self._enqueue_all(self._map.generic(obj), NORMAL)

    def _enqueue_all(self, requests: Iterable[ObjectName], priority: int) -> None:
        for request in dict.fromkeys(requests):
            self._enqueue(request, priority)


def _is_unchanged(old: ApiObject, new: ApiObject) -> bool:
    return old.metadata.resource_version == new.metadata.resource_version
