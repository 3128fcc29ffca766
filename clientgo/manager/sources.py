"""Where events come from: the objects of a kind, an informer of one's own, a channel, a function.

A source is started once, by its controller, and puts names into the controller's queue from then on.
"""

import functools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from clientgo.cache import SharedInformer
from clientgo.cache.handlers import DeletedFinalStateUnknown, last_known
from clientgo.cache.state import Synced
from clientgo.manager.cache import Cache
from clientgo.manager.predicates import And, Predicate
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


class Source(Protocol):
    """Where events come from."""

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced | None:
        """Put into the queue what events lead to, until `stop` is set; returns at once.

        `predicates` are the controller's, beside the source's own. The result, if any, tells whether all that was there
        from the start has been put in.
        """

    def __str__(self) -> str:
        """What the log calls it."""


class KindSource(Generic[T]):
    """The objects of a kind, as the manager's cache sees them."""

    def __init__(
        self, cache: Cache, cls: type[T], to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = ()
    ) -> None:
        self._cache = cache
        self._cls = cls
        self._to_requests = to_requests
        self._predicates = predicates

    def __str__(self) -> str:
        return f"kind source: {api_of(self._cls).gvr.group_resource}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced:
        """Add a handler to the kind's informer, which starts if it does not run yet."""
        known = self._cache.known(self._cls)
        handler = EventHandler(self._to_requests, And(*predicates, *self._predicates), enqueue)
        known.heard_by_handler()
        return known.informer.add_event_handler(
            on_initial_add=_after(known.memory.on_add_or_update, handler.listed),
            on_add=_after(known.memory.on_add_or_update, handler.created),
            on_update=_after(known.memory.on_update, handler.updated),
            on_delete=_after(known.forget, handler.deleted),
            resync=known.resync,
        )


class InformerSource(Generic[T]):
    """The objects of an informer that is not the cache's; whoever made it runs it."""

    def __init__(
        self, informer: SharedInformer[T], to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = ()
    ) -> None:
        self._informer = informer
        self._to_requests = to_requests
        self._predicates = predicates

    def __str__(self) -> str:
        return f"informer source: {self._informer.name}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced:
        """Add a handler to the informer."""
        handler = EventHandler(self._to_requests, And(*predicates, *self._predicates), enqueue)
        return self._informer.add_event_handler(
            on_initial_add=handler.listed,
            on_add=handler.created,
            on_update=handler.updated,
            on_delete=handler.deleted,
        )


class Channel(Generic[T]):
    """Events that the program itself sends, about objects of whatever kind.

    Nothing waits in it once it is started: a queue of names is buffer enough, and holds each name once.
    """

    def __init__(
        self, to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = (), *, name: str = "channel"
    ) -> None:
        self._to_requests = to_requests
        self._predicates = predicates
        self._name = name
        self._lock = threading.Lock()
        # Guarded by _lock: what was sent before the controller was there to hear of it.
        self._early: list[T] = []
        self._handlers: list[EventHandler[T]] = []

    def __str__(self) -> str:
        return f"channel source: {self._name}"

    def send(self, obj: T) -> None:
        """Have reconciled what `obj` leads to; never waits."""
        with self._lock:
            handlers = list(self._handlers)
            if not handlers:
                self._early.append(obj)
        for handler in handlers:
            handler.happened(obj)

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> None:
        """Pass on what was sent, and what will be."""
        handler = EventHandler(self._to_requests, And(*predicates, *self._predicates), enqueue)
        with self._lock:
            self._handlers.append(handler)
            early, self._early = self._early, []
        for obj in early:
            handler.happened(obj)


class FuncSource:
    """Whatever a function starts: it is called once, with what puts names into the queue."""

    def __init__(self, function: Callable[[Enqueue, threading.Event], object]) -> None:
        self._function = function

    def __str__(self) -> str:
        return f"func source: {getattr(self._function, '__qualname__', self._function)}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> None:
        """Call the function, which must return soon; predicates are not asked, as there are no objects."""
        self._function(enqueue, stop)


def _after(forget: Callable[..., object], handle: Callable[..., object]) -> Callable[..., None]:
    @functools.wraps(handle)
    def both(*objects: Any) -> None:
        # In this order, or the reconciliation that the event leads to would still read what was written.
        forget(*objects)
        handle(*objects)

    return both
