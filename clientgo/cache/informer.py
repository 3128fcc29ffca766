"""Shared informer: one list, one watch and one store of a kind, for any number of handlers.

Reflectors list and watch; a `Distributor` puts each change into the store and into the inbox of every handler, and
replays the store to a handler that is added late (client-go's sharedProcessor).
"""

import threading
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from clientgo.cache.distributor import Distributor, Overlay
from clientgo.cache.handlers import (
    Accept,
    DeletedFinalStateUnknown,
    OnAdd,
    OnDelete,
    OnUpdate,
    ResourceEventHandler,
    filtered,
)
from clientgo.cache.listener import Listener, Registration
from clientgo.cache.metrics import NO_IDENTITY, InformerIdentity
from clientgo.cache.reflector import Reflector, ReflectorOptions
from clientgo.cache.selection import InformerSelection, selection_of
from clientgo.cache.sink import InformerSink
from clientgo.cache.state import SHOWN_FAILURES, InformerState, combined
from clientgo.cache.store import IndexFunc, Transform, drop_managed_fields
from clientgo.cache.watcher import Tweak, tweaked
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import get_logger
from clientgo.meta.listwatch import ListerWatcher, ListOptions
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.readonly import protect
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import TaskScope, scope_of

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)


class NamespaceSources(NamedTuple, Generic[T]):
    """Sources of the namespaces in the store of an informer of Namespaces, each while its namespace is there."""

    namespaces: "SharedInformer[Any]"
    source: Callable[[str], ListerWatcher[T]]


Sources = Mapping[str, ListerWatcher[T]] | NamespaceSources[T]


class _Running(msgspec.Struct, frozen=True):
    """Reflector of one namespace, its own stop, and whether it has ended."""

    reflector: Reflector[Any]
    scope: TaskScope
    ended: threading.Event

    def run(self) -> None:
        try:
            self.reflector.run(self.scope.event)
        finally:
            self.ended.set()


class SharedInformer(Generic[T]):
    """Cache that keeps `indexer` equal to the server's objects, and calls its handlers for each change."""

    def __init__(
        self,
        source: ListerWatcher[T] | Sources[T],
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

        With `NamespaceSources` the namespaces come and go; their informer is run by the caller.
        `watch_list` requests streamed lists (None: as `ReflectorOptions`); `identity` enables metrics.
        """
        self._following, self._sources = _split(source)
        self._kind = (self._following.source("") if self._following else next(iter(self._sources.values()))).kind
        protect(self._kind)  # by its codec already, unless the source is the program's own
        self.name = name or self._kind.__name__.lower()
        self.resync = resync
        self.distributor: Distributor[T] = Distributor(
            self._kind.__name__,
            self._sources,
            fixed=self._following is None,
            name=self.name,
            resync=resync,
            indexers=indexers or {},
            identity=identity,
            clock=clock,
        )
        self.indexer = self.distributor.indexer
        self.undecodable = self.distributor.undecodable
        self.transform: Transform[T] = transform
        self.newest_first_list = False
        """Whether the first list is the server's newest state instead of any state in its cache; set before start."""
        self._tweak = tweak
        self._watch_list = watch_list
        self._on_error: Callable[[Exception], None] | None = None
        self._clock = clock
        self._lock = threading.Lock()
        # Below: guarded by _lock.
        self._group: Group | None = None
        self._scope = TaskScope()
        # Below: used by `start`, and then by the handler of Namespaces only.
        self._registration: Listener[Any] | None = None
        self._running: dict[str, _Running] = {}

    def __repr__(self) -> str:
        state = "stopped" if self.is_stopped else "synced" if self.has_synced else "not synced"
        handlers = len(self.distributor.listeners)
        return f"<SharedInformer {self.name} {len(self.indexer)} objects, {handlers} handlers, {state}>"

    @property
    def has_synced(self) -> bool:
        """True once the first list is in the store; handlers may not have received it yet."""
        return self.distributor.has_synced

    @property
    def is_started(self) -> bool:
        """True once it was started, also after it has stopped."""
        return self._group is not None

    @property
    def is_stopped(self) -> bool:
        """True after `stop`, or once it was started and the stop event of its group is set."""
        return self._scope.event.is_set()

    @property
    def last_sync_resource_version(self) -> str:
        """ResourceVersion of the store: with several sources, the oldest of theirs."""
        return self.distributor.version

    def last_sync_resource_version_in(self, namespace: str) -> str:
        """Return the version up to which a namespace is stored, without a lock; empty before the first list."""
        versions = self.distributor.versions
        return versions.get(namespace) or versions.get("", "")

    @property
    def resync_check_period(self) -> float:
        """Shortest resync period of a handler in seconds; 0 for none."""
        return self.distributor.periods.check_period

    @property
    def size(self) -> int:
        """Number of stored objects."""
        return len(self.indexer)

    @property
    def waiting(self) -> int:
        """Number of notifications that wait for the slowest handler."""
        return self.distributor.waiting

    def state(self) -> InformerState:
        """Return a snapshot; takes no lock, so that it never blocks."""
        reflectors = combined([running.reflector.state() for running in list(self._running.values())])
        return InformerState(
            name=self.name,
            kind=self._kind.__name__,
            synced=self.has_synced,
            objects=self.size,
            resource_version=self.last_sync_resource_version,
            undecodable=len(self.undecodable),
            waiting=self.waiting,
            failing=self.distributor.failing,
            failures=tuple(islice(self.distributor.failures(), SHOWN_FAILURES)),
            **reflectors._asdict(),
        )

    def add_event_handler(
        self,
        *,
        on_add: OnAdd[T] | None = None,
        on_update: OnUpdate[T] | None = None,
        on_delete: OnDelete[T] | None = None,
        on_initial_add: OnAdd[T] | None = None,
        accept: Accept[T] | None = None,
        resync: float | None = None,
        label: str = "",
    ) -> Registration[T]:
        """Call these functions for every change, in order, in a thread of the handler's own.

        A handler added late is first called for the stored objects. The initial objects are passed to `on_initial_add`
        if given, else to `on_add`. With `accept`, only accepted objects are passed: an object that becomes accepted to
        `on_add`, one that ceases to be to `on_delete`. Every `resync` seconds (default: the informer's period; 0 for
        never; at least 1, and after the start at least `resync_check_period`) `on_update` is called for each stored
        object, with the same object twice.

        A function that raises is called again for that object, after 1 s, 2 s and so on up to 5 min, until it returns
        or the object is gone; a later change is merged with the one that failed, and a deletion is dropped after about
        an hour. Other objects do not wait for it. The `label` names the handler in logs and states.

        Raises:
            RuntimeError: the informer has stopped.
        """
        handler = ResourceEventHandler(on_add, on_update, on_delete, on_initial_add, label=label)
        if self.is_stopped:
            raise RuntimeError(
                f"handler {handler.name} was not added to shared informer because it has stopped already"
            )
        period = self.resync if resync is None else resync
        return self.distributor.add(handler if accept is None else filtered(handler, accept), period)

    def remove(self, listener: Listener[T]) -> None:
        """Remove a listener; ignored if it belongs to another informer."""
        self.distributor.remove(listener)

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes, before or after the start.

        Raises:
            RuntimeError: the informer has stopped.
            ValueError: an index of that name exists.
        """
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
        selection = selection_of(self._kind, self._sources, options.label_selector, options.field_selector)
        return selection if self._following is None else replace(selection, namespaces=self.distributor.versions)

    def add_overlay(self, overlay: Overlay[T]) -> None:
        """Notify the overlay of each change of the store, under its lock, before the handlers."""
        self.distributor.add_overlay(overlay)

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
        """Start in threads of `group`, which end with its stop event, or after `stop`."""
        with self._lock:
            is_first = self._group is None
            if is_first and not self._scope.event.is_set():
                self._scope = TaskScope(group.stop_event)
            self._group, scope = self._group or group, self._scope
        if not is_first:
            log.warning("informer has already started", extra={"informer": self.name})
            return
        scope_of(group.stop_event).add(self, scope.stop)
        self.distributor.start(group)
        for namespace, source in self._sources.items():
            self._begin(namespace, source, scope, group)
        if self._following is not None:
            handler = ResourceEventHandler(self._enter, None, self._leave, None, self.distributor.complete)
            self._registration = self._following.namespaces.distributor.add(handler, 0.0)
            if scope.event.is_set():  # stopped meanwhile
                self._registration.remove()

    def stop(self) -> None:
        """Stop this informer alone: end its watches, and its handlers after their current calls.

        Its threads end soon; its store remains readable, and becomes stale. May be called repeatedly.
        """
        with self._lock:
            group, scope = self._group, self._scope
        scope.stop()
        if group is not None:
            scope_of(group.stop_event).remove(self)
        if self._registration is not None:
            self._registration.remove()
        self.distributor.close()
        if self.distributor.metrics is not None:
            self.distributor.metrics.ended()

    def _enter(self, namespace: ApiObject) -> None:
        """Begin with a namespace, for the handler of Namespaces."""
        name = namespace.metadata.name
        if self._following is None or self._group is None or name in self._running:
            return
        scope = TaskScope(self._scope.event)
        self._scope.add(scope, scope.stop)
        self.distributor.add_namespace(name)
        self._begin(name, self._following.source(name), scope, self._group)

    def _leave(self, namespace: ApiObject | DeletedFinalStateUnknown[Any]) -> None:
        """End with a namespace, for the handler of Namespaces."""
        name = object_name(namespace).name
        running = self._running.pop(name, None)
        if running is not None:
            running.scope.stop()
            self._scope.remove(running.scope)
            running.ended.wait()  # what its sink still gets must not follow the removal
            self.distributor.remove_namespace(name)

    def _begin(self, namespace: str, source: ListerWatcher[T], scope: TaskScope, group: Group) -> None:
        running = self._running[namespace] = _Running(self._reflector(namespace, source), scope, threading.Event())
        group.start(running.run, name=f"informer-{running.reflector.name}")

    def _reflector(self, namespace: str, source: ListerWatcher[T]) -> Reflector[T]:
        options = ReflectorOptions(
            name=f"{self.name}-{namespace}" if namespace else self.name,
            tweak=self._tweak,
            on_error=self._on_error,
            watch_list=self._watch_list,
            last_metadata=self.distributor.last_metadata,
            # Writes to a namespace that was not selected are not recorded.
            newest_first_list=self.newest_first_list or self._following is not None,
        )
        sink = InformerSink(self.distributor, namespace, self.transform)
        return Reflector(source, sink, options, clock=self._clock)

    def _before_start(self) -> None:
        if self._group is not None:
            raise RuntimeError("informer has already started")


def _split(
    source: ListerWatcher[T] | Sources[T],
) -> tuple[NamespaceSources[T] | None, Mapping[str, ListerWatcher[T]]]:
    if isinstance(source, NamespaceSources):
        return source, {}
    return None, source if isinstance(source, Mapping) else {"": source}
