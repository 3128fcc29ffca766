"""Distributor of an informer: puts each change into the store, then into the inbox of every handler, under one lock.

So a handler receives changes in order, and never before the store has them. To a handler added late, `add` replays the
store: it receives the stored objects and then every later change, each exactly once. (client-go: sharedProcessor, with
the indexer.)
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from clientgo.cache.handlers import DeletedFinalStateUnknown, ResourceEventHandler, ResyncPeriods, warn_of_period
from clientgo.cache.listener import INITIAL_LIST_END, Added, Listener, Notification, Removed, Updated
from clientgo.cache.metrics import InformerIdentity, informer_metrics
from clientgo.cache.state import ObjectFailure
from clientgo.cache.store import NAMESPACE_INDEX, Indexer, IndexFunc, by_namespace
from clientgo.clock import Clock
from clientgo.internal.boundeddict import BoundedDict
from clientgo.log import get_logger
from clientgo.meta.codec import Undecodable, UnexpectedObject
from clientgo.meta.listwatch import ChangeType, at_least
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ObjectMeta
from clientgo.metrics import safe_provider
from clientgo.stop.lifecycle import Group

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

MAX_DEPARTED = 10_000
"""Namespaces that have left, of which that is recorded."""


class UndecodableObjects:
    """Objects of one kind that the server has and that could not be decoded; each state is logged and counted once.

    `errors` has the error of each object that exists now, `total` the number of all errors.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._lock = threading.Lock()
        # Changed under _lock, read without.
        self.errors: dict[ObjectName, Undecodable] = {}
        self._counter = safe_provider().counter(
            "informer_undecodable_objects_total", "Objects received that could not be cached.", {"kind": kind}
        )
        self.total = 0

    def __repr__(self) -> str:
        return f"<UndecodableObjects {len(self.errors)} now, {self.total} in all>"

    def __len__(self) -> int:
        return len(self.errors)

    def add(self, error: Undecodable) -> None:
        """Add an object, or its new state; ignored if that state was added before."""
        meta = error.metadata
        key = ObjectName(meta.namespace, meta.name)
        with self._lock:
            before = self.errors.get(key)
            if before is not None and _state(before) == _state(error):
                return
            self.errors[key] = error
            self.total += 1
        self._counter.inc()
        is_unexpected = isinstance(error, UnexpectedObject)
        log.error(
            "object skipped: it was not requested" if is_unexpected else "object skipped: it cannot be decoded",
            extra={"kind": error.kind, "namespace": meta.namespace, "name_": meta.name, "err": error.cause},
        )

    def keep_only(self, keys: set[ObjectName], namespace: str) -> None:
        """Remove all other objects of a namespace (of all namespaces if it is empty)."""
        with self._lock:
            for key in self.errors.keys() - keys:
                if namespace in ("", key.namespace):
                    del self.errors[key]

    def remove(self, key: ObjectName) -> None:
        """Remove an object that was deleted or can be decoded again."""
        with self._lock:
            self.errors.pop(key, None)


def _state(error: Undecodable) -> tuple[str, str]:
    return error.metadata.uid, error.metadata.resource_version


class Overlay(Protocol[T]):
    """The program's own writes over the store, such as a `MutationCache`; always called with the store's lock held."""

    def stored(self, notification: Notification[T], /) -> None:
        """Follow a change of the store, before the handlers are called."""

    def listed(self, namespace: str, /, *, before: str, now: str) -> None:
        """Follow a list of a namespace (of all, if empty), which replaces the version `before` by `now`."""

    def left(self, namespace: str, /) -> None:
        """Forget a namespace, which is not selected any more."""


class Distributor(Generic[T]):
    """Store of one informer and the listeners of its handlers; its sinks change it, each for one namespace or for all.

    `versions` has the resourceVersion up to which each namespace is stored. It is set after the store changes, and
    before handlers are called. Unless they are `fixed`, namespaces may come and go, and handlers wait for `complete`.
    """

    def __init__(
        self,
        kind: str,
        namespaces: Iterable[str],
        *,
        fixed: bool = True,
        name: str,
        resync: float,
        indexers: Mapping[str, IndexFunc[T]],
        identity: InformerIdentity,
        clock: Clock,
    ) -> None:
        self.kind = kind
        self.indexer: Indexer[T] = Indexer({**indexers, NAMESPACE_INDEX: by_namespace}, kind=kind)
        self.undecodable = UndecodableObjects(kind)
        self.versions = dict.fromkeys(namespaces, "")
        self.periods = ResyncPeriods(resync)
        self.metrics = informer_metrics(identity, lambda: self.waiting, clock)
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        # Below: guarded by _lock.
        self._listeners: list[Listener[T]] = []
        self._next_listener = 0
        self._overlays: tuple[Overlay[T], ...] = ()
        self._unsynced = set(self.versions)
        self._is_complete = fixed
        self.has_synced = False
        """True once the first list of every namespace is in the store."""
        self._departed: BoundedDict[str, None] = BoundedDict(MAX_DEPARTED)
        self._group: Group | None = None
        self._started_at = 0.0

    def __repr__(self) -> str:
        return f"<Distributor {self._name} {len(self.indexer)} objects, {len(self._listeners)} listeners>"

    @property
    def listeners(self) -> list[Listener[T]]:
        """Listeners of the handlers, in the order in which these were added."""
        return list(self._listeners)

    @property
    def version(self) -> str:
        """ResourceVersion of the store: with several namespaces, the oldest of theirs."""
        return oldest([*self.versions.values()])

    @property
    def waiting(self) -> int:
        """Number of notifications that wait for the slowest handler."""
        return max([listener.waiting for listener in self._listeners], default=0)

    @property
    def failing(self) -> int:
        """Number of failures of single objects: in decoding, indexes and handlers."""
        return len(self.undecodable) + self.indexer.failing + sum(listener.failing for listener in self.listeners)

    def failures(self) -> Iterator[ObjectFailure]:
        """Yield the failures of single objects."""
        for key, error in self.undecodable.errors.copy().items():
            yield ObjectFailure("decode", key, error.cause)
        yield from self.indexer.failures()
        for listener in self.listeners:
            yield from listener.failures()

    def last_metadata(self, key: ObjectName) -> ObjectMeta | None:
        """Return the metadata of an object as last received, including objects that could not be decoded."""
        obj = self.undecodable.errors.get(key) or self.indexer.get_by_key(key)
        return obj.metadata if obj is not None else None

    def start(self, group: Group) -> None:
        """Run the listeners, also those added later, in threads of `group`."""
        with self._lock:
            self._group = group
            self._started_at = self._clock.now()
            listeners = self.listeners
        for listener in listeners:
            self._run(group, listener)

    def add(self, handler: ResourceEventHandler[T], resync: float) -> Listener[T]:
        """Add a listener, which first receives the stored objects; `resync` is the requested period in seconds."""
        with self._lock:
            group = self._group
            listener = Listener(
                handler,
                name=f"listener-{self._name}-{self._next_listener}",
                kind=self.kind,
                resync=self.periods.for_handler(resync, started=group is not None),
                clock=self._clock,
                unregister=self.remove,
                on_idle=self.metrics.show_waiting if self.metrics is not None else None,
            )
            self._next_listener += 1
            for obj in self.indexer.list():
                listener.push(Added(obj, initial=True))
            if self.has_synced:
                listener.push(INITIAL_LIST_END)
            self._listeners.append(listener)
        warn_of_period(resync, listener.resync)
        if group is not None:
            self._run(group, listener)
        return listener

    def remove(self, listener: Listener[T]) -> None:
        """Remove a listener; ignored if it belongs to another informer."""
        with self._lock:
            if listener not in self._listeners:
                return
            self._listeners.remove(listener)
        listener.close()

    def close(self) -> None:
        """End all listeners after their current calls."""
        for listener in self.listeners:
            self.remove(listener)

    def has_synced_in(self, namespace: str) -> bool:
        """Return whether there is nothing to wait for: the namespace is in the store, or not selected."""
        return namespace not in self._unsynced

    def selects(self, namespace: str) -> bool:
        """Return whether objects of the namespace are stored, or were until it left."""
        return namespace in self.versions or namespace in self._departed

    def add_namespace(self, namespace: str) -> None:
        """Begin with a namespace, whose objects a sink will list."""
        with self._lock:
            self._departed.pop(namespace, None)
            self._unsynced.add(namespace)
            self.versions[namespace] = ""

    def remove_namespace(self, namespace: str) -> None:
        """Remove a namespace with its objects; its sink is not used any more."""
        with self._lock:
            self._departed[namespace] = None
            self.versions.pop(namespace, None)
            for obj in self.indexer.by_index(NAMESPACE_INDEX, namespace):
                self.indexer.pop(object_name(obj))
                self._publish(Removed(DeletedFinalStateUnknown(object_name(obj), obj)))
            self.undecodable.keep_only(set(), namespace)
            for overlay in self._overlays:
                overlay.left(namespace)
            self._unsynced.discard(namespace)
            self._report_sync()

    def complete(self) -> None:
        """Sync with the namespaces added so far."""
        with self._lock:
            self._is_complete = True
            self._report_sync()

    def add_overlay(self, overlay: Overlay[T]) -> None:
        """Notify the overlay of each change of the store, under the lock, before the handlers."""
        with self._lock:
            self._overlays = (*self._overlays, overlay)

    def replace(self, namespace: str, objects: Iterable[T], keep: set[ObjectName], version: str) -> None:
        """Replace the objects of a namespace (all, if empty), except those named in `keep`, by a list of a version."""
        fresh = {object_name(obj): obj for obj in objects}
        with self._lock:
            held = self.indexer.by_index(NAMESPACE_INDEX, namespace) if namespace else self.indexer.list()
            objects_by_name = {object_name(obj): obj for obj in held}
            gone = [key for key in objects_by_name if key not in fresh and key not in keep]
            if namespace:  # replacing the whole store per namespace would take quadratic time
                self.indexer.replace_some(gone, fresh.values(), version)
            else:
                stay = {key: objects_by_name[key] for key in keep if key in objects_by_name}
                self.indexer.replace({**stay, **fresh}.values(), version)
            for overlay in self._overlays:
                overlay.listed(namespace, before=self.versions[namespace], now=version)
            self.versions[namespace] = version
            # Deletions first: another object of the same list may have the index values of a deleted one.
            for key in gone:
                self._publish(Removed(DeletedFinalStateUnknown(key, objects_by_name[key])))
            initial = namespace in self._unsynced
            for key, obj in fresh.items():
                self._publish_listed(objects_by_name.get(key), obj, initial=initial)
            if initial:
                self._unsynced.remove(namespace)
                self._report_sync()
        self._report()

    def apply(self, namespace: str, change: ChangeType, obj: T, version: str) -> None:
        """Apply a change of one object, which is transformed already; the namespace has reached `version` with it."""
        with self._lock:
            notification: Notification[T] = Removed(obj)
            if change == "DELETED":
                self.indexer.delete(obj)
            else:
                old = self.indexer.put(obj)
                notification = Added(obj, initial=False) if old is None else Updated(old, obj)
            self.versions[namespace] = version
            self._publish(notification)
        self._report()

    def forget(self, namespace: str, key: ObjectName, version: str) -> None:
        """Remove an object whose last state is unknown; the namespace has reached `version` with it."""
        with self._lock:
            old = self.indexer.pop(key)
            self.versions[namespace] = version
            if old is not None:
                self._publish(Removed(DeletedFinalStateUnknown(key, old)))
        self._report()

    def reached(self, namespace: str, version: str, *, stored: str | None = None) -> None:
        """Record that all changes of a namespace up to `version` were received; the store may be at `stored`."""
        self.indexer.bookmark(version if stored is None else stored)
        self.versions[namespace] = version

    def _report(self) -> None:
        # Without the lock: log and metrics are the program's.
        self.indexer.report()
        for listener in self.listeners:
            listener.report_stuck()

    def _report_sync(self) -> None:
        if self._is_complete and not self._unsynced and not self.has_synced:
            self.has_synced = True
            self._publish(INITIAL_LIST_END)

    def _publish_listed(self, old: T | None, obj: T, *, initial: bool) -> None:
        if old is None:
            self._publish(Added(obj, initial=initial))
        elif old is not obj:  # the sink replaces an equal object by the cached one
            self._publish(Updated(old, obj))
        else:  # unchanged: only for handlers whose resync is due
            now = self._clock.now()
            running = now - self._started_at
            for listener in self._listeners:
                if self.periods.delivers_unchanged(listener.resync, listener.resynced, running, now):
                    listener.push(Updated(old, obj))

    def _publish(self, notification: Notification[T]) -> None:
        for overlay in self._overlays:
            overlay.stored(notification)
        for listener in self._listeners:
            listener.push(notification)

    def _run(self, group: Group, listener: Listener[T]) -> None:
        listener.started = True
        group.start(listener.run, group.stop_event, self._push_all, name=listener.name)

    def _push_all(self, listener: Listener[T]) -> None:
        with self._lock:
            for obj in self.indexer.list():
                listener.push(Updated(obj, obj))


def oldest(versions: Sequence[str]) -> str:
    """Return the oldest of several resourceVersions; empty if one of them is."""
    minimum, *remaining = versions or [""]
    for version in remaining:
        if not version or (minimum and at_least(minimum, version)):
            minimum = version
    return minimum
