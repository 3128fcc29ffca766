"""Shared informer: one list, one watch and one store of a kind, for any number of handlers.

Reflectors apply changes; each change is put first into the store and then into the inbox of every handler, both under
one lock. So a handler receives changes in order, and never before the store has them; a handler added late receives
the stored objects and then every later change, each exactly once.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from clientgo.cache.handlers import (
    Accept,
    DeletedFinalStateUnknown,
    OnAdd,
    OnDelete,
    OnUpdate,
    ResourceEventHandler,
    filtered,
)
from clientgo.cache.listener import (
    INITIAL_LIST_END,
    Added,
    Listener,
    Notification,
    Registration,
    Removed,
    ResyncPeriods,
    Updated,
)
from clientgo.cache.metrics import NO_IDENTITY, InformerIdentity, informer_metrics
from clientgo.cache.reflector import Reflector
from clientgo.cache.selection import InformerSelection, selection_of
from clientgo.cache.sink import InformerSink, UndecodableObjects, oldest
from clientgo.cache.state import SHOWN_FAILURES, InformerState, ObjectFailure, combined
from clientgo.cache.store import NAMESPACE_INDEX, Indexer, IndexFunc, Transform, by_namespace, drop_managed_fields
from clientgo.cache.watcher import Tweak, tweaked
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.lifecycle import Group
from clientgo.log import get_logger
from clientgo.meta.listwatch import ListerWatcher, ListOptions, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ObjectMeta
from clientgo.meta.readonly import protect

if TYPE_CHECKING:
    from clientgo.cache.mutation import MutationCache

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)


class SharedInformer(Generic[T]):
    """Cache that keeps `indexer` equal to the server's objects, and calls its handlers for each change."""

    def __init__(
        self,
        source: ListerWatcher[T] | Mapping[str, ListerWatcher[T]],
        *,
        name: str = "",
        resync: float = 0.0,
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        tweak: Tweak | None = None,
        transform: Transform[T] = drop_managed_fields,
        watch_list: bool | None = None,
        identity: InformerIdentity = NO_IDENTITY,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`source` is one for all namespaces, or one per namespace (by name) if only some are watched.

        `watch_list` requests streamed lists (None: from sources that declare them); `identity` enables metrics.
        """
        sources = source if isinstance(source, Mapping) else {"": source}
        cls = next(iter(sources.values())).kind
        protect(cls)  # by its codec already, unless the source is the program's own
        kind = cls.__name__
        self.name = name or kind.lower()
        self.resync = resync
        self.indexer: Indexer[T] = Indexer({**(indexers or {}), NAMESPACE_INDEX: by_namespace}, kind=kind)
        self.undecodable = UndecodableObjects(kind)
        self.transform: Transform[T] = transform
        self.newest_first_list = False
        """Whether the first list is the server's newest state instead of any state in its cache; set before start."""
        self._tweak = tweak
        self._watch_list = watch_list
        self._on_error: Callable[[Exception], None] | None = None
        self._clock = clock
        self._lock = threading.Lock()
        # Below: guarded by _lock.
        metrics = self._metrics = informer_metrics(identity, lambda: self.waiting, clock)
        self._sinks = {space: InformerSink(self, space, one, metrics) for space, one in sources.items()}
        self._periods = ResyncPeriods(resync)
        self._listeners: list[Listener[T]] = []
        self._overlays: tuple[MutationCache[T], ...] = ()
        self._next_listener = 0
        self._group: Group | None = None
        self._started_at = 0.0
        self._reflectors: list[Reflector[T]] = []
        self._unsynced = set(self._sinks.values())

    def __repr__(self) -> str:
        state = "stopped" if self.is_stopped else "synced" if self.has_synced else "not synced"
        return f"<SharedInformer {self.name} {len(self.indexer)} objects, {len(self._listeners)} handlers, {state}>"

    @property
    def has_synced(self) -> bool:
        """True once the first list is in the store; handlers may not have received it yet."""
        return not self._unsynced

    @property
    def is_started(self) -> bool:
        """True once it was started, also after it has stopped."""
        return self._group is not None

    @property
    def is_stopped(self) -> bool:
        """True once it was started and the stop event of its group is set."""
        return self._group is not None and self._group.stop_event.is_set()

    @property
    def last_sync_resource_version(self) -> str:
        """ResourceVersion of the store: with several sources, the oldest of theirs."""
        return oldest([sink.version for sink in self._sinks.values()])

    def last_sync_resource_version_in(self, namespace: str) -> str:
        """Return the version up to which a namespace is stored, without a lock; empty before the first list."""
        sink = self._sinks.get(namespace) or self._sinks.get("")
        return sink.version if sink is not None else ""

    @property
    def resync_check_period(self) -> float:
        """Shortest resync period of a handler in seconds; 0 for none."""
        return self._periods.check_period

    @property
    def size(self) -> int:
        """Number of stored objects."""
        return len(self.indexer)

    @property
    def waiting(self) -> int:
        """Number of notifications that wait for the slowest handler."""
        return max([listener.waiting for listener in self._listeners], default=0)

    def state(self) -> InformerState:
        """Return a snapshot; takes no lock, so that it never blocks."""
        reflectors = combined([one.state() for one in self._reflectors])
        return InformerState(
            name=self.name,
            kind=self.undecodable.kind,
            synced=self.has_synced,
            objects=self.size,
            resource_version=self.last_sync_resource_version,
            undecodable=len(self.undecodable),
            waiting=self.waiting,
            failing=sum([len(self.undecodable), self.indexer.failing, *(one.failing for one in list(self._listeners))]),
            failures=tuple(islice(self._failures(), SHOWN_FAILURES)),
            **reflectors._asdict(),
        )

    def _failures(self) -> Iterator[ObjectFailure]:
        """Yield the failures of single objects: in decoding, indexes and handlers."""
        for key, error in self.undecodable.current().items():
            yield ObjectFailure("decode", key, error.cause)
        yield from self.indexer.failures()
        for listener in list(self._listeners):
            yield from listener.failures()

    def add_event_handler(
        self,
        *,
        on_add: OnAdd[T] | None = None,
        on_update: OnUpdate[T] | None = None,
        on_delete: OnDelete[T] | None = None,
        on_initial_add: OnAdd[T] | None = None,
        accept: Accept[T] | None = None,
        resync: float | None = None,
    ) -> Registration[T]:
        """Call these functions for every change, in order, in a thread of the handler's own.

        A handler added late is first called for the stored objects. The initial objects are passed to `on_initial_add`
        if given, else to `on_add`. With `accept`, only accepted objects are passed: an object that becomes accepted to
        `on_add`, one that ceases to be to `on_delete`. Every `resync` seconds (default: the informer's period; 0 for
        never; at least 1, and after the start at least `resync_check_period`) `on_update` is called for each stored
        object, with the same object twice.

        A function that raises is called again for that object, after 1 s, 2 s and so on up to 5 min, until it returns
        or the object is gone; a deletion is dropped after about an hour. Other objects do not wait for it.

        Raises:
            RuntimeError: the informer has stopped.
        """
        handler = ResourceEventHandler(on_add, on_update, on_delete, on_initial_add)
        with self._lock:
            if self.is_stopped:
                raise RuntimeError(
                    f"handler {handler.name} was not added to shared informer because it has stopped already"
                )
            group = self._group
            period = self._periods.for_handler(self.resync if resync is None else resync, started=group is not None)
            listener = Listener(
                handler if accept is None else filtered(handler, accept),
                name=f"listener-{self.name}-{self._next_listener}",
                kind=self.undecodable.kind,
                resync=period,
                clock=self._clock,
                unregister=self.remove,
                on_idle=self._metrics.show_waiting if self._metrics is not None else None,
            )
            self._next_listener += 1
            for obj in self.indexer.list():
                listener.push(Added(obj, initial=True))
            if self.has_synced:
                listener.push(INITIAL_LIST_END)
            self._listeners.append(listener)
        if group is not None:
            self._start_listener(group, listener)
        return listener

    def remove(self, listener: Listener[T]) -> None:
        """Remove a listener; ignored if it belongs to another informer."""
        with self._lock:
            if listener not in self._listeners:
                return
            self._listeners.remove(listener)
        listener.close()

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes, before or after the start.

        Raises:
            RuntimeError: the informer has stopped.
            ValueError: an index of that name exists.
        """
        with self._lock:
            if self.is_stopped:
                raise RuntimeError(f"indexer was not added to {self.name} because it has stopped already")
        self.indexer.add_indexers(indexers)

    def selection(self) -> InformerSelection:
        """Return the objects that lists and watches select.

        Raises:
            ValueError: a selector is invalid.
            CallbackFailed: `tweak` failed.
        """
        options = tweaked(self._tweak, ListOptions())
        kind = next(iter(self._sinks.values())).source.kind
        return selection_of(kind, self._sinks, options.label_selector, options.field_selector)

    def add_overlay(self, overlay: "MutationCache[T]") -> None:
        """Call `stored` of the overlay for each change of the store, under the informer's lock, before the handlers."""
        with self._lock:
            self._overlays = (*self._overlays, overlay)

    def set_transform(self, transform: Transform[T]) -> None:
        """Transform each object before it is stored; raise RuntimeError after the start."""
        with self._lock:
            self._before_start()
            self.transform = transform

    def set_watch_error_handler(self, handler: Callable[[Exception], None]) -> None:
        """Pass errors of lists and watches to `handler` instead of the log; raise RuntimeError after the start."""
        with self._lock:
            self._before_start()
            self._on_error = handler

    def run(self, stop: threading.Event) -> None:
        """List, watch and call handlers until `stop` is set; return when every thread of the informer has ended.

        Raises:
            BaseException: an exception ended a thread; `stop` is set then.
        """
        group = Group(stop=stop, clock=self._clock)
        self.start(group)
        stop.wait()
        group.join()

    def start(self, group: Group) -> None:
        """Start in threads of `group`, which end with its stop event."""
        with self._lock:
            if self._group is not None:
                log.warning("informer has already started", extra={"informer": self.name})
                return
            self._group = group
            self._started_at = self._clock.now()
            self._reflectors = [self._reflector(sink) for sink in self._sinks.values()]
            listeners = list(self._listeners)
        for listener in listeners:
            self._start_listener(group, listener)
        for reflector in self._reflectors:
            group.start(reflector.run, group.stop_event, name=f"informer-{reflector.name}")

    def replace(self, sink: InformerSink[T], objects: Iterable[T], keep: set[ObjectName], version: str) -> None:
        """Replace the objects of the sink's namespace, except those named in `keep`, by a list of that version."""
        fresh = {object_name(obj): obj for obj in objects}
        with self._lock:
            held = self.indexer.by_index(NAMESPACE_INDEX, sink.namespace) if sink.namespace else self.indexer.list()
            known = {object_name(obj): obj for obj in held}
            gone = [key for key in known if key not in fresh and key not in keep]
            if sink.namespace:  # replacing the whole store per namespace would take quadratic time
                self.indexer.replace_some(gone, fresh.values(), version)
            else:
                stay = {key: known[key] for key in keep if key in known}
                self.indexer.replace({**stay, **fresh}.values(), version)
            for overlay in self._overlays:
                overlay.listed(sink.namespace, before=sink.version, now=version)
            sink.version = version
            # Deletions first: another object of the same list may have the index values of a deleted one.
            for key in gone:
                self._publish(Removed(DeletedFinalStateUnknown(key, known[key])))
            initial = sink in self._unsynced
            for key, obj in fresh.items():
                self._publish_listed(known.get(key), obj, initial=initial)
            if initial:
                self._unsynced.remove(sink)
                if self.has_synced:
                    self._publish(INITIAL_LIST_END)
        self.indexer.report()

    def apply(self, sink: InformerSink[T], event: WatchEvent[T], version: str) -> None:
        """Apply a change of one object, which is transformed already; the sink has reached `version` with it."""
        obj = event.object
        with self._lock:
            if event.type == "DELETED":
                self.indexer.delete(obj)
                sink.version = version
                self._publish(Removed(obj))
                return
            old = self.indexer.put(obj)
            sink.version = version
            self._publish(Added(obj, initial=False) if old is None else Updated(old, obj))
        self.indexer.report()

    def forget(self, sink: InformerSink[T], key: ObjectName, version: str) -> None:
        """Remove an object whose last state is unknown; the sink has reached `version` with it."""
        with self._lock:
            old = self.indexer.pop(key)
            sink.version = version
            if old is not None:
                self._publish(Removed(DeletedFinalStateUnknown(key, old)))

    def _publish_listed(self, old: T | None, obj: T, *, initial: bool) -> None:
        if old is None:
            self._publish(Added(obj, initial=initial))
        elif old is not obj:  # the sink replaces an equal object by the cached one
            self._publish(Updated(old, obj))
        else:  # unchanged: only for handlers whose resync is due
            now = self._clock.now()
            running = now - self._started_at
            for listener in self._listeners:
                if self._periods.shows_unchanged(listener.resync, listener.resynced, running, now):
                    listener.push(Updated(old, obj))

    def _publish(self, notification: Notification[T]) -> None:
        for overlay in self._overlays:
            overlay.stored(notification)
        for listener in self._listeners:
            listener.push(notification)

    def _push_all(self, listener: Listener[T]) -> None:
        with self._lock:
            for obj in self.indexer.list():
                listener.push(Updated(obj, obj))

    def _reflector(self, sink: InformerSink[T]) -> Reflector[T]:
        name = f"{self.name}-{sink.namespace}" if sink.namespace else self.name
        return Reflector(
            sink.source,
            sink,
            name=name,
            tweak=self._tweak,
            on_error=self._on_error,
            watch_list=self._watch_list,
            known=self._last_metadata,
            newest_first_list=self.newest_first_list,
            clock=self._clock,
        )

    def _last_metadata(self, key: ObjectName) -> ObjectMeta | None:
        obj = self.undecodable.get(key) or self.indexer.get_by_key(key)
        return obj.metadata if obj is not None else None

    def _start_listener(self, group: Group, listener: Listener[T]) -> None:
        with self._lock:
            if listener.started:
                return
            listener.started = True
        group.start(listener.run, group.stop_event, self._push_all, name=listener.name)

    def _before_start(self) -> None:
        if self._group is not None:
            raise RuntimeError("informer has already started")
