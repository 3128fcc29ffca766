"""Shared informer factory: one informer per kind, started and stopped together."""

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from clientgo.cache.informer import NamespaceSources, SharedInformer, Sources
from clientgo.cache.metrics import NO_IDENTITY, InformerName
from clientgo.cache.state import SyncResult, wait_for, wait_for_cache_sync
from clientgo.cache.store import Transform, drop_managed_fields
from clientgo.cache.watcher import Tweak
from clientgo.cache.watchlist import streams_lists
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.meta.listwatch import ListerWatcher
from clientgo.meta.objects import ApiObject, GroupVersionResource
from clientgo.meta.scheme import api_of
from clientgo.rest.request import Requester
from clientgo.stop.lifecycle import Group

T = TypeVar("T", bound=ApiObject)
L = TypeVar("L")


class HasRequester(Protocol):
    """Clientset, or another object with a requester."""

    requester: Requester


class InformerFactory:
    """Base class of generated factories; creates each informer once.

    `resync` is in seconds (0 for never), `custom_resync` that of single kinds by any of their classes. `namespace` is
    one namespace, several, or all if empty; or an informer of Namespaces, run by another factory, to follow those that
    it selects. `tweak_list_options` changes the options of lists and watches, `transform`
    the stored objects. `watch_list` requests streamed lists (None: as `ReflectorOptions`). A `name` enables
    metrics.
    """

    resources: ClassVar[Mapping[GroupVersionResource, str]] = {}
    """Kinds of `for_resource`: `module:class` of a `KindInformer`, imported on first use."""

    def __init__(
        self,
        clientset: HasRequester,
        *,
        resync: float = 0.0,
        custom_resync: Mapping[type[Any], float] | None = None,
        namespace: str | Sequence[str] | SharedInformer[Any] = "",
        tweak_list_options: Tweak | None = None,
        transform: Transform[Any] = drop_managed_fields,
        watch_list: bool | None = None,
        name: InformerName | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._requester = clientset.requester
        self._resync = resync
        self._custom_resync = {api_of(kind).gvr: seconds for kind, seconds in (custom_resync or {}).items()}
        # What the requester declares about streamed lists holds for every client of it.
        self._watch_list = streams_lists(clientset.requester, watch_list)
        self._name = name
        self._followed = namespace if isinstance(namespace, SharedInformer) else None
        self._namespaces: Sequence[str] = ("",)
        if not isinstance(namespace, SharedInformer):
            self._namespaces = (namespace,) if isinstance(namespace, str) else tuple(namespace) or ("",)
        self._tweak = tweak_list_options
        self._transform = transform
        self._clock = clock
        self._lock = threading.Lock()
        # Below: guarded by _lock.
        self._informers: dict[GroupVersionResource, SharedInformer[Any]] = {}
        self._started: set[GroupVersionResource] = set()
        self._group: Group | None = None
        self._shut_down = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._informers)} informers, {len(self._started)} started>"

    def informer_for(self, client: Callable[..., ListerWatcher[T]], kind: type[T]) -> SharedInformer[T]:
        """Return the informer of a client's kind; create it on first use."""
        api = api_of(kind)
        with self._lock:
            informer = self._informers.get(api.gvr)
            if informer is None:
                informer = self._informers[api.gvr] = SharedInformer(
                    self._sources(client, namespaced=api.namespaced),
                    name=api.plural,
                    resync=self._custom_resync.get(api.gvr, self._resync),
                    tweak=self._tweak,
                    transform=self._transform,
                    watch_list=self._watch_list,
                    identity=self._name.with_resource(api.gvr) if self._name is not None else NO_IDENTITY,
                    clock=self._clock,
                )
        return informer

    def _sources(self, client: Callable[..., ListerWatcher[T]], *, namespaced: bool) -> Sources[T]:
        if self._followed is not None and namespaced:
            return NamespaceSources(self._followed, partial(client, self._requester))
        namespaces = self._namespaces if namespaced else ("",)
        return {namespace: client(self._requester, namespace) for namespace in namespaces}

    def for_resource(self, resource: GroupVersionResource) -> SharedInformer[Any]:
        """Return the informer of a resource that was requested before, or whose kind this factory knows.

        Raises:
            LookupError: unknown resource.
        """
        with self._lock:
            informer = self._informers.get(resource)
        if informer is not None:
            return informer
        path = self.resources.get(resource)
        if path is None:
            raise LookupError(f"no informer found for {resource}")
        module, _, name = path.partition(":")
        created: KindInformer[Any, Any] = getattr(importlib.import_module(module), name)(self)
        return created.informer

    def remove(self, resource: GroupVersionResource) -> bool:
        """Stop the informer of a resource and drop it, so that the next request for it creates another one.

        Return False if there is none. Its handlers are called no more, its store becomes stale.
        """
        with self._lock:
            informer = self._informers.pop(resource, None)
            self._started.discard(resource)
        if informer is None:
            return False
        informer.stop()
        if self._name is not None:
            self._name.release_resource(resource)
        return True

    def start(self, stop: threading.Event) -> None:
        """Start the requested informers that have not started yet; they stop when `stop` is set."""
        with self._lock:
            if self._shut_down:
                return
            group = self._group = self._group or Group(stop=stop, clock=self._clock)
            new = [gvr for gvr in self._informers if gvr not in self._started]
            self._started.update(new)
            informers = [self._informers[gvr] for gvr in new]
        for informer in informers:
            informer.start(group)

    def wait_for_cache_sync(self, stop: threading.Event, timeout: float | None = None) -> bool:
        """Wait until all started informers have synced; return False if `stop` is set or the timeout passes first."""
        with self._lock:
            informers = [self._informers[gvr] for gvr in self._started]
        return wait_for_cache_sync(stop, *informers, timeout=timeout, clock=self._clock)

    def wait_for_sync_result(self, stop: threading.Event, timeout: float | None = None) -> SyncResult:
        """Wait until all started informers have synced; return the missing resources and the reason."""
        with self._lock:
            informers = {gvr.group_resource: self._informers[gvr] for gvr in self._started}
        return wait_for(stop, "", informers, timeout=timeout, clock=self._clock)

    def shutdown(self, timeout: float | None = None) -> None:
        """Stop every informer and wait until their threads have ended. May be called repeatedly.

        Raises:
            StillRunning: some threads have not ended after `timeout` seconds.
            BaseException: an exception ended a thread.
        """
        with self._lock:
            self._shut_down = True
            group = self._group
        if group is not None:
            group.stop()
            group.join(timeout)


class InformerGroup:
    """Base class of generated accessors for the informers of an API group, or of one of its versions."""

    def __init__(self, factory: InformerFactory) -> None:
        self._factory = factory


class KindInformer(Generic[T, L]):
    """Base class of generated accessors for the informer and the lister of one kind."""

    kind: ClassVar[type[Any]]
    client: ClassVar[Callable[..., ListerWatcher[Any]]]
    lister_type: ClassVar[Callable[..., Any]]

    def __init__(self, factory: InformerFactory) -> None:
        self._factory = factory

    @property
    def informer(self) -> SharedInformer[T]:
        """Shared informer, which the factory starts with the others."""
        return self._factory.informer_for(type(self).client, self.kind)

    @property
    def lister(self) -> L:
        """Lister that reads from the informer's cache."""
        lister: L = type(self).lister_type(self.informer.indexer)
        return lister
