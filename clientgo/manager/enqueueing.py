"""From events to requests: which names an object's change puts into the queue, and how urgent they are.

What gets into a queue is a name, never an event: of any number of changes one reconciliation remains. An update may
concern what the object led to before and what it leads to now; both are asked for, each name once.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from clientgo.cache.tombstone import DeletedFinalStateUnknown, last_known
from clientgo.manager.predicates import Predicate
from clientgo.manager.priority import LOW, NORMAL
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, OwnerReference
from clientgo.meta.scheme import ApiType, api_of

T = TypeVar("T", bound=ApiObject)

MapFunc = Callable[[T], Iterable[ObjectName]]
"""Which objects are to be reconciled because this one changed. Called on the informer's side: it must be quick."""

Enqueue = Callable[[ObjectName, int], None]
"""Puts a name with a priority into the queue."""


def itself(obj: ApiObject) -> Iterable[ObjectName]:
    """The object's own name."""
    return (object_name(obj),)


def owners_of(owner: type[Any], *, any_owner: bool = False) -> MapFunc[Any]:
    """The names of an object's owners of a kind: of the one that controls it, or of each with `any_owner`.

    The reference's version may be another: it is the same kind.
    """
    api = api_of(owner)

    def owners(obj: ApiObject) -> Iterable[ObjectName]:
        namespace = obj.metadata.namespace if api.namespaced else ""
        references = obj.metadata.owner_references
        return [ObjectName(namespace, one.name) for one in references if _leads(one, api, any_owner=any_owner)]

    return owners


def _leads(reference: OwnerReference, api: ApiType, *, any_owner: bool) -> bool:
    group = reference.api_version.rpartition("/")[0]
    return reference.kind == api.kind and group == api.group and (any_owner or bool(reference.controller))


class EventHandler(Generic[T]):
    """Puts into the queue what events of one source lead to, if the predicates take the events."""

    def __init__(self, to_requests: MapFunc[T], predicate: Predicate, enqueue: Enqueue) -> None:
        self._to_requests = to_requests
        self._predicate = predicate
        self._enqueue = enqueue

    def listed(self, obj: T) -> None:
        """An object was there from the start: whatever happens now is more urgent."""
        if self._predicate.create(obj):
            self._enqueue_all(self._to_requests(obj), LOW)

    def created(self, obj: T) -> None:
        """An object came."""
        if self._predicate.create(obj):
            self._enqueue_all(self._to_requests(obj), NORMAL)

    def updated(self, old: T, new: T) -> None:
        """An object changed; or did not, and is shown again."""
        if self._predicate.update(old, new):
            unchanged = old.metadata.resource_version == new.metadata.resource_version
            requests = self._to_requests(new) if unchanged else (*self._to_requests(old), *self._to_requests(new))
            self._enqueue_all(requests, LOW if unchanged else NORMAL)

    def deleted(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """An object went, perhaps unseen."""
        last = last_known(deleted)
        # An informer always knows a last state; a tombstone without one is made by hand, and leads nowhere.
        if last is not None and self._predicate.delete(last):
            self._enqueue_all(self._to_requests(last), NORMAL)

    def happened(self, obj: T) -> None:
        """Something happened that concerns an object."""
        if self._predicate.generic(obj):
            self._enqueue_all(self._to_requests(obj), NORMAL)

    def _enqueue_all(self, requests: Iterable[ObjectName], priority: int) -> None:
        for request in dict.fromkeys(requests):
            self._enqueue(request, priority)
