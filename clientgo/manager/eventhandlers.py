"""Handlers of events: the mapping from an object to the names to reconcile, after the predicates."""

import operator
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from clientgo.cache.handlers import DeletedFinalStateUnknown, last_known
from clientgo.errors import CallbackFailed
from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.callbacks import run_callback
from clientgo.manager.predicates import Predicate
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, GroupVersionKind, OwnerReference
from clientgo.meta.scheme import api_of, kind_of
from clientgo.workqueue import LOW, NORMAL

T = TypeVar("T", bound=ApiObject)

MapFunc = Callable[[T], Iterable[ObjectName]]
"""Returns the names to reconcile after a change of this object. Called by the informer's listener: it must be quick.

If it raises, or returns anything else, it is called again with backoff, and other objects do not wait for it. The names
for the other state of an update are enqueued all the same.
"""


@dataclass(frozen=True, kw_only=True)  # with slots, MapFuncs[Secret](...) could not be called
class MapFuncs(Generic[T]):
    """Map functions for each type of event; events without a function are ignored.

    `update` receives the old and the new object, which are the same in a resync. `generic` is for channels.
    """

    create: MapFunc[T] | None = None
    update: Callable[[T, T], Iterable[ObjectName]] | None = None
    delete: MapFunc[T] | None = None
    generic: MapFunc[T] | None = None


def checked_request(request: object) -> ObjectName:
    """Return the request; TypeError unless it is an `ObjectName` of two strings."""
    if isinstance(request, ObjectName) and isinstance(request.namespace, str) and isinstance(request.name, str):
        return request
    raise TypeError(f"expected an ObjectName of two strings, got {request!r}")


ToRequests = MapFunc[T] | MapFuncs[T]
"""Mapping from an object to the names to reconcile."""

EventType = Literal["create", "update", "delete", "generic"]

MAX_FAILED = 1_000
"""Maximum number of failed events of a source whose requests are remembered."""

Enqueue = Callable[[ObjectName, int], None]
"""Adds a name to the queue with a priority."""


def itself(obj: ApiObject) -> Iterable[ObjectName]:
    """Return the object's own name."""
    return (object_name(obj),)


def owners_of(owner: type[Any], *, any_owner: bool = False) -> MapFunc[Any]:
    """Return a function that maps an object to its controlling owner of a kind, or to each owner with `any_owner`.

    Owner references may have any version of the kind.

    Raises:
        TypeError: the class is not an API type.
    """
    kind, api = kind_of(owner), api_of(owner)

    def owners(obj: ApiObject) -> Iterable[ObjectName]:
        namespace = obj.metadata.namespace if api.namespaced else ""
        references = obj.metadata.owner_references
        return [
            ObjectName(namespace, reference.name)
            for reference in references
            if _leads(reference, kind, any_owner=any_owner)
        ]

    return owners


def _leads(reference: OwnerReference, kind: GroupVersionKind, *, any_owner: bool) -> bool:
    group = reference.api_version.rpartition("/")[0]
    return reference.kind == kind.kind and group == kind.group and (any_owner or bool(reference.controller))


class EventHandler(Generic[T]):
    """Enqueues the requests of events from one source, in the order of its mappings, unless a predicate rejects them.

    Objects of the initial list, and those that a resync repeats unchanged, have low priority (controller-runtime's
    LowPriority, in WithLowPriorityWhenUnchanged).

    An event whose predicate raises is handled as if it were accepted: a reconciliation too many does no harm. One whose
    map function raises for the old or the new object is handled for the other. Each method raises the first exception
    afterwards, so that the caller logs and counts it, and calls again; the same requests are then not enqueued again.
    """

    def __init__(self, enqueue: Enqueue, *mappings: tuple[ToRequests[T], Predicate]) -> None:
        self._enqueue = enqueue
        self._mappings = mappings
        names = ", ".join(_name_of(to_requests) for to_requests, _ in mappings)
        self.name = f"map function {names}"
        """Name of what fails if a map function or a predicate does."""
        self._lock = threading.Lock()
        # Guarded by _lock: of the last events that failed, their objects and the requests that were enqueued.
        self._failed: BoundedDict[tuple[str, ObjectName], tuple[tuple[T, ...], set[ObjectName]]]
        self._failed = BoundedDict(MAX_FAILED)

    def listed(self, obj: T) -> None:
        """Handle an object of the initial list, with low priority."""
        self._handle("create", LOW, obj)

    def created(self, obj: T) -> None:
        """Handle a created object."""
        self._handle("create", NORMAL, obj)

    def updated(self, old: T, new: T) -> None:
        """Handle a changed object, or with low priority one that a resync repeats."""
        self._handle("update", LOW if _is_unchanged(old, new) else NORMAL, old, new)

    def deleted(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """Handle a deleted object, also if the deletion itself was missed."""
        last = last_known(deleted)
        # Informers always know the last state; only tombstones created by hand lack it.
        if last is not None:
            self._handle("delete", NORMAL, last)

    def happened(self, obj: T) -> None:
        """Handle a generic event of an object."""
        self._handle("generic", NORMAL, obj)

    def _handle(self, event: EventType, priority: int, *objects: T) -> None:
        failures: list[CallbackFailed] = []
        enqueued = self._enqueued_before(event, objects)
        for to_requests, predicate in self._mappings:
            calls = _calls(to_requests, event, objects)
            try:
                if not calls or not run_callback(getattr(predicate, event), *objects):
                    continue
            except CallbackFailed as failed:
                failures.append(failed)
            for function, arguments in calls:
                try:
                    requests = run_callback(_requests_of, function, arguments)
                except CallbackFailed as failed:
                    failures.append(failed)
                    continue
                for request in requests:
                    if request not in enqueued:
                        enqueued.add(request)
                        self._enqueue(request, priority)
        if failures:
            with self._lock:
                self._failed[event, object_name(objects[-1])] = objects, enqueued
            raise failures[0].__cause__ or failures[0]

    def _enqueued_before(self, event: EventType, objects: tuple[T, ...]) -> set[ObjectName]:
        """Return the requests that were enqueued when handling these very objects failed."""
        if not self._failed:
            return set()
        with self._lock:
            before, enqueued = self._failed.pop((event, object_name(objects[-1])), ((), set()))
        is_retry = len(before) == len(objects) and all(map(operator.is_, before, objects))
        return enqueued if is_retry else set()


def _calls(
    to_requests: ToRequests[T], event: EventType, objects: tuple[T, ...]
) -> list[tuple[Callable[..., Any], tuple[T, ...]]]:
    """Return the functions to call for an event, with their arguments: one for both states, or each state."""
    if isinstance(to_requests, MapFuncs):
        function = getattr(to_requests, event)
        return [] if function is None else [(function, objects)]
    is_change = event == "update" and not _is_unchanged(*objects)
    return [(to_requests, (state,)) for state in (objects if is_change else objects[-1:])]


def _requests_of(function: Callable[..., Iterable[ObjectName]], objects: tuple[object, ...]) -> list[ObjectName]:
    # All of them are checked before the first is enqueued.
    names = function(*objects)
    if isinstance(cast(object, names), str | ObjectName):  # both are iterable
        raise TypeError(f"expected a list of names, such as [object_name(obj)], got {names!r}")
    return [checked_request(mapped) for mapped in names]


def _name_of(to_requests: object) -> str:
    name = run_callback(getattr, to_requests, "__qualname__", None)
    return name if isinstance(name, str) else type(to_requests).__name__


def _is_unchanged(old: ApiObject, new: ApiObject) -> bool:
    return old.metadata.resource_version == new.metadata.resource_version
