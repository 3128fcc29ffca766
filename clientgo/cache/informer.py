"""A cache of one kind that any number of handlers share: one list, one watch, one store.

Reflectors put changes in (`SharedInformer.apply` and its siblings); each change goes first into the store and then into
the inbox of every handler, both under one lock. So a handler sees changes in order, never one the store does not have
yet, and a handler that joins late gets what is stored and then every later change, nothing lost or repeated between.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from clientgo.cache.feed import Feed, oldest
from clientgo.cache.handlers import Accept, Handler, OnAdd, OnDelete, OnUpdate, filtered
from clientgo.cache.identity import NOBODY, InformerIdentity
from clientgo.cache.informermetrics import informer_metrics
from clientgo.cache.listener import INITIAL_LIST_END, Added, Listener, Notification, Removed, Updated
from clientgo.cache.reflector import Reflector
from clientgo.cache.registration import Registration
from clientgo.cache.rejects import Rejects
from clientgo.cache.resync import ResyncPeriods
from clientgo.cache.state import InformerState, summary_of
from clientgo.cache.store import NAMESPACE_INDEX, Indexer, IndexFunc, by_namespace
from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.cache.transform import Transform, drop_managed_fields
from clientgo.cache.watching import Tweak
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.lifecycle import Group
from clientgo.meta.listwatch import ListerWatcher, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ObjectMeta

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)


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
        watch_list: bool | None = None,
        identity: InformerIdentity = NOBODY,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """A cache over one source, or over one for each namespace (by its name) where only some are to be watched.

        `watch_list` asks for streamed lists (None: of sources that declare them); `identity` is what metrics call it.
        """
        sources = source if isinstance(source, Mapping) else {"": source}
        kind = next(iter(sources.values())).kind.__name__
        self.name = name or kind.lower()
        self.resync = resync
        self.indexer: Indexer[T] = Indexer({**(indexers or {}), NAMESPACE_INDEX: by_namespace})
        self.rejects = Rejects(kind)
        self.transform: Transform[T] = transform
        self._tweak = tweak
        self._watch_list = watch_list
        self._on_error: Callable[[Exception], None] | None = None
        self._clock = clock
        self._lock = threading.Lock()
        # Below: guarded by _lock.
        metrics = self._metrics = informer_metrics(identity, lambda: self.waiting, clock)
        self._feeds = [Feed(self, namespace, one, metrics) for namespace, one in sources.items()]
        self._periods = ResyncPeriods(resync)
        self._listeners: list[Listener[T]] = []
        self._made = 0
        self._group: Group | None = None
        self._started_at = 0.0
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
    def is_started(self) -> bool:
        """Whether it runs or has run."""
        return self._group is not None

    @property
    def is_stopped(self) -> bool:
        """Whether it has run and ended."""
        return self._stopped

    @property
    def last_sync_resource_version(self) -> str:
        """The newest version all of the store reflects: with several sources, the oldest of theirs."""
        return oldest([reflector.last_sync_resource_version for reflector in self._reflectors])

    def last_sync_resource_version_in(self, namespace: str) -> str:
        """Return the newest version that the stored objects of a namespace reflect; empty before the first list."""
        pairs = zip(self._feeds, self._reflectors, strict=False)  # no reflectors before the start
        return oldest([one.last_sync_resource_version for feed, one in pairs if feed.namespace in ("", namespace)])

    @property
    def resync_check_period(self) -> float:
        """The shortest period handlers are resynced at, in seconds; 0 for never."""
        return self._periods.check_period

    @property
    def size(self) -> int:
        """How many objects are stored."""
        return len(self.indexer)

    @property
    def waiting(self) -> int:
        """How many notifications the slowest handler has before it."""
        return max([listener.waiting for listener in self._listeners], default=0)

    def state(self) -> InformerState:
        """How it stands at this moment; takes no lock, so that it can be asked at any time, from any thread."""
        reflectors = summary_of(self._reflectors)
        return InformerState(
            name=self.name,
            kind=self.rejects.kind,
            synced=self._synced,
            objects=self.size,
            resource_version=self.last_sync_resource_version,
            lists=reflectors.lists,
            watches=reflectors.watches,
            undecodable=len(self.rejects.current()),
            last_event=reflectors.last_event,
            watching_since=reflectors.watching_since,
            last_error=reflectors.last_error,
            waiting=self.waiting,
            last_active=reflectors.last_active,
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
    ) -> Registration[T]:
        """Call these for every change, in order, from a thread of the handler's own.

        A handler added late is first called for all that is stored. What was there from the start is told by
        `on_initial_add` if given, else by `on_add`. With `accept`, only objects it takes are told of; one that changes
        into such is told by `on_add`, one that ceases to be by `on_delete`. Every `resync` seconds (by default the
        informer's period, 0 for never, 1 at least, never less than `resync_check_period` once started) `on_update` is
        called for each stored object, with the same object twice.

        Raises:
            RuntimeError: the informer has stopped.
        """
        handler = Handler(on_add, on_update, on_delete, on_initial_add)
        shown = handler if accept is None else filtered(handler, accept)
        with self._lock:
            if self._stopped:
                raise RuntimeError(
                    f"handler {handler.name} was not added to shared informer because it has stopped already"
                )
            group = self._group
            period = self._periods.for_handler(self.resync if resync is None else resync, started=group is not None)
            listener = Listener(
                shown,
                name=f"listener-{self.name}-{self._made}",
                resync=period,
                clock=self._clock,
                on_idle=self._metrics.show_waiting if self._metrics is not None else None,
            )
            self._made += 1
            for obj in self.indexer.list():
                listener.push(Added(obj, initial=True))
            if self._synced:
                listener.push(INITIAL_LIST_END)
            self._listeners.append(listener)
        if group is not None:
            self._start_listener(group, listener)
        return Registration(listener, self.remove)

    def remove(self, listener: Listener[T]) -> None:
        """Deliver nothing more to that listener; one of another informer is left alone."""
        with self._lock:
            if listener not in self._listeners:
                return
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
        self.transform = transform

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
            self._started_at = self._clock.now()
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

    def replace(self, feed: Feed[T], objects: Iterable[T], keep: set[ObjectName], version: str) -> None:
        """These objects of the feed's namespace exist at that version, those named in `keep` too, and no others."""
        fresh = {object_name(obj): obj for obj in objects}
        with self._lock:
            held = self.indexer.by_index(NAMESPACE_INDEX, feed.namespace) if feed.namespace else self.indexer.list()
            known = {object_name(obj): obj for obj in held}
            gone = [key for key in known if key not in fresh and key not in keep]
            if feed.namespace:  # a replacement of everything for each namespace would cost the square of their number
                self.indexer.replace_some(gone, fresh.values(), version)
            else:
                stay = {key: known[key] for key in keep if key in known}
                self.indexer.replace({**stay, **fresh}.values(), version)
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
        """One object, transformed already, came, changed or went."""
        obj = event.object
        with self._lock:
            if event.type == "DELETED":
                self.indexer.delete(obj)
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

    def bookmark(self, version: str) -> None:
        """Everything up to that version has been told."""
        self.indexer.bookmark(version)

    def _publish_listed(self, old: T | None, obj: T, *, initial: bool) -> None:
        if old is None:
            self._publish(Added(obj, initial=initial))
        elif _state(old) != _state(obj):
            self._publish(Updated(old, obj))
        else:  # nothing new: of interest only to handlers that are due to see objects again
            now = self._clock.now()
            running = now - self._started_at
            for listener in self._listeners:
                if self._periods.shows_unchanged(listener.resync, listener.resynced, running, now):
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
        return Reflector(
            feed.source,
            feed,
            name=name,
            tweak=self._tweak,
            on_error=self._on_error,
            watch_list=self._watch_list,
            known=self._last_metadata,
            clock=self._clock,
        )

    def _last_metadata(self, key: ObjectName) -> ObjectMeta | None:
        rejected = self.rejects.get(key)
        obj = rejected or self.indexer.get_by_key(key)
        return obj.metadata if obj is not None else None

    def _start_listener(self, group: Group, listener: Listener[T]) -> None:
        with self._lock:
            if listener.started:
                return
            listener.started = True
        group.start(listener.run, group.stop_event, self._push_all, name=listener.name)

    def _before_start(self) -> None:
        with self._lock:
            if self._group is not None:
                raise RuntimeError("informer has already started")


def _state(obj: ApiObject) -> tuple[str, str]:
    # The uid too: a server that begins anew may give another object of that name the same version.
    return obj.metadata.resource_version, obj.metadata.uid
