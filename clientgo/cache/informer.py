"""A cache of one kind that any number of handlers share: one list, one watch, one store.

Reflectors put changes in (`SharedInformer.apply` and its siblings); each change goes first into the store and then into
the inbox of every handler, both under one lock. So a handler sees changes in order, never one the store does not have
yet, and a handler that joins late gets what is stored and then every later change, nothing lost or repeated between.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from clientgo.cache.feed import Feed
from clientgo.cache.listener import INITIAL_LIST_END, Added, Handler, Listener, Notification, Removed, Updated
from clientgo.cache.reflector import Reflector, Tweak
from clientgo.cache.rejects import Rejects
from clientgo.cache.store import NAMESPACE_INDEX, Indexer, IndexFunc, by_namespace
from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.cache.transform import Transform, drop_managed_fields
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.lifecycle import Group
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.watch import ListerWatcher, WatchEvent

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

MIN_RESYNC = 1.0
"""Handlers can't ask to be resynced more often than each second (client-go)."""


class Registration(Generic[T]):
    """One handler's place at an informer."""

    def __init__(self, informer: "SharedInformer[T]", listener: Listener[T]) -> None:
        self._informer = informer
        self._listener = listener

    def __repr__(self) -> str:
        return f"<Registration of {self._listener!r}>"

    @property
    def has_synced(self) -> bool:
        """Whether this handler was called for every object of the initial list."""
        return self._listener.has_synced

    @property
    def resync(self) -> float:
        """Seconds between resyncs; 0 for never."""
        return self._listener.resync

    @property
    def waiting(self) -> int:
        """How many notifications wait for this handler."""
        return self._listener.waiting

    def remove(self) -> None:
        """Deliver nothing more to this handler; does not wait for a call that is under way. May be called again."""
        self._informer.remove(self._listener)


class SharedInformer(Generic[T]):
    """Keeps `indexer` equal to what the server has and tells its handlers of each change."""

    def __init__(
        self,
        source: ListerWatcher[T] | Mapping[str, ListerWatcher[T]],
        *,
        name: str = "",
        resync: float = 0.0,
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        tweak: Tweak | None = None,
        transform: Transform[T] = drop_managed_fields,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """A cache over one source, or over one for each namespace (by its name) where only some are to be watched."""
        sources = source if isinstance(source, Mapping) else {"": source}
        kind = next(iter(sources.values())).kind.__name__
        self.name = name or kind.lower()
        self.resync = resync
        self.indexer: Indexer[T] = Indexer({NAMESPACE_INDEX: by_namespace, **(indexers or {})})
        self.rejects = Rejects(kind)
        self._tweak = tweak
        self._transform: Transform[T] = transform
        self._on_error: Callable[[Exception], None] | None = None
        self._clock = clock
        self._lock = threading.Lock()
        # Below: guarded by _lock.
        self._feeds = [Feed(self, namespace, one) for namespace, one in sources.items()]
        self._listeners: list[Listener[T]] = []
        self._made = 0
        self._group: Group | None = None
        self._reflectors: list[Reflector[T]] = []
        self._synced = False
        self._stopped = False

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "synced" if self._synced else "not synced"
        return f"<SharedInformer {self.name} {len(self.indexer)} objects, {len(self._listeners)} handlers, {state}>"

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in the store; handlers may still be busy with it."""
        return self._synced

    @property
    def is_stopped(self) -> bool:
        """Whether it has run and ended."""
        return self._stopped

    @property
    def last_sync_resource_version(self) -> str:
        """The newest version the store reflects; with several sources, the first one's."""
        return self._reflectors[0].last_sync_resource_version if self._reflectors else ""

    def add_event_handler(
        self,
        *,
        on_add: Callable[[T], None] | None = None,
        on_update: Callable[[T, T], None] | None = None,
        on_delete: Callable[[T | DeletedFinalStateUnknown[T]], None] | None = None,
        resync: float | None = None,
    ) -> Registration[T]:
        """Call these for every change, in order, from a thread of the handler's own.

        A handler added late is first called with `on_add` for all that is stored. Every `resync` seconds (by default
        the informer's period, 0 for never) `on_update` is called for each stored object, with the same object twice.

        Raises:
            RuntimeError: the informer has stopped.
        """
        period = self._period(self.resync if resync is None else resync)
        handler = Handler(on_add, on_update, on_delete)
        with self._lock:
            if self._stopped:
                raise RuntimeError(
                    f"handler was not added to shared informer {self.name} because it has stopped already"
                )
            listener = Listener(handler, name=f"listener-{self.name}-{self._made}", resync=period, clock=self._clock)
            self._made += 1
            for obj in self.indexer.list():
                listener.push(Added(obj, initial=True))
            if self._synced:
                listener.push(INITIAL_LIST_END)
            self._listeners.append(listener)
            group = self._group
        if group is not None:
            self._start_listener(group, listener)
        return Registration(self, listener)

    def remove(self, listener: Listener[T]) -> None:
        """Deliver nothing more to that listener."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
        listener.close()

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes, before or while it runs; RuntimeError once stopped, ValueError for a name that is taken."""
        with self._lock:
            if self._stopped:
                raise RuntimeError(f"indexer was not added to {self.name} because it has stopped already")
            self.indexer.add_indexers(indexers)

    def set_transform(self, transform: Transform[T]) -> None:
        """Pass each object through `transform` before it is stored; raises RuntimeError once started."""
        self._before_start()
        self._transform = transform

    def set_watch_error_handler(self, handler: Callable[[Exception], None]) -> None:
        """Give errors of lists and watches to `handler` instead of the log; raises RuntimeError once started."""
        self._before_start()
        self._on_error = handler

    def run(self, stop: threading.Event) -> None:
        """List, watch and deliver until `stop` is set; returns when every thread of the informer has ended.

        Raises:
            BaseException: what a thread of it died of; `stop` is set then.
        """
        group = Group(stop=stop, clock=self._clock)
        self.start(group)
        stop.wait()
        self.close()
        group.join()

    def start(self, group: Group) -> None:
        """Begin in threads of `group`; once its stop event is set, `close` must be called to end what blocks."""
        with self._lock:
            if self._group is not None or self._stopped:
                log.warning("the informer was started already", extra={"informer": self.name})
                return
            self._group = group
            self._reflectors = [self._reflector(feed) for feed in self._feeds]
            listeners = list(self._listeners)
        for listener in listeners:
            self._start_listener(group, listener)
        for reflector in self._reflectors:
            group.start(reflector.run, group.stop_event, name=f"informer-{reflector.name}")

    def close(self) -> None:
        """End for good: open watches are closed, handlers get nothing more. May be called again."""
        with self._lock:
            self._stopped = True
            reflectors, listeners = list(self._reflectors), list(self._listeners)
        for reflector in reflectors:
            reflector.close()
        for listener in listeners:
            listener.close()

    def replace(self, feed: Feed[T], objects: Iterable[T], keep: set[ObjectName]) -> None:
        """These objects of the feed's namespace exist, those named in `keep` too, and no others."""
        fresh = {object_name(obj): obj for obj in map(self._transform, objects)}
        with self._lock:
            known = {object_name(obj): obj for obj in self.indexer.list()}
            gone = [key for key in known if feed.covers(key) and key not in fresh and key not in keep]
            stay = {**known, **fresh}
            for key in gone:
                del stay[key]
            self.indexer.replace(stay.values())
            # Deletions first: a name freed by one may be taken by another object of the same list.
            for key in gone:
                self._publish(Removed(DeletedFinalStateUnknown(key, known[key])))
            initial = not feed.synced
            for key, obj in fresh.items():
                self._publish_listed(known.get(key), obj, initial=initial)
            feed.synced = True
            if not self._synced and all(f.synced for f in self._feeds):
                self._synced = True
                self._publish(INITIAL_LIST_END)

    def apply(self, event: WatchEvent[T]) -> None:
        """One object came, changed or went."""
        obj = self._transform(event.object)
        with self._lock:
            if event.type == "DELETED":
                self.indexer.pop(object_name(obj))
                self._publish(Removed(obj))
                return
            old = self.indexer.put(obj)
            self._publish(Added(obj, initial=False) if old is None else Updated(old, obj))

    def forget(self, key: ObjectName) -> None:
        """The object of that name went, and its last state can't be told."""
        with self._lock:
            old = self.indexer.pop(key)
            if old is not None:
                self._publish(Removed(DeletedFinalStateUnknown(key, old)))

    def _publish_listed(self, old: T | None, obj: T, *, initial: bool) -> None:
        if old is None:
            self._publish(Added(obj, initial=initial))
        elif old.metadata.resource_version != obj.metadata.resource_version:
            self._publish(Updated(old, obj))
        else:  # nothing new: of interest only to handlers that want to see objects again
            for listener in self._listeners:
                if listener.resync > 0:
                    listener.push(Updated(old, obj))

    def _publish(self, notification: Notification[T]) -> None:
        for listener in self._listeners:
            listener.push(notification)

    def _push_all(self, listener: Listener[T]) -> None:
        with self._lock:
            for obj in self.indexer.list():
                listener.push(Updated(obj, obj))

    def _reflector(self, feed: Feed[T]) -> Reflector[T]:
        name = f"{self.name}-{feed.namespace}" if feed.namespace else self.name
        return Reflector(feed.source, feed, name=name, tweak=self._tweak, on_error=self._on_error, clock=self._clock)

    def _start_listener(self, group: Group, listener: Listener[T]) -> None:
        with self._lock:
            if listener.started:
                return
            listener.started = True
        group.start(listener.run, group.stop_event, self._push_all, name=listener.name)

    def _period(self, wanted: float) -> float:
        return 0.0 if wanted <= 0 else max(wanted, MIN_RESYNC)

    def _before_start(self) -> None:
        with self._lock:
            if self._group is not None:
                raise RuntimeError("informer has already started")
