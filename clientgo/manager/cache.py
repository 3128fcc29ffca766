"""Cache of a program: one informer per kind, shared by all controllers and the client, started when first needed.

Reads wait until the informer has synced, so that "not known yet" is never mistaken for "not found". The program's own
writes are served from the server's response until the informer has caught up; deciding on an older state would repeat
the write.
"""

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from clientgo.backoff import Random
from clientgo.cache import NAMESPACE_INDEX, InformerFactory, InformerName, MutationCache, SharedInformer, last_known
from clientgo.cache.handlers import DeletedFinalStateUnknown
from clientgo.cache.state import wait_for_cache_sync
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.manager.kinds import Kinds, shape_of
from clientgo.manager.options import ByObject, CacheOptions
from clientgo.manager.requesters import limit_of_wait
from clientgo.meta.listwatch import ListerWatcher
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.rest.request import Requester

T = TypeVar("T", bound=ApiObject)

RESYNC_JITTER = 0.1
"""Jitter of the resync period (controller-runtime's), so that kinds are not resynced all at once."""


class ReadYourWrites(Generic[T]):
    """Objects of one kind: the informer's, and the program's own newer writes.

    `resync` is the interval in seconds at which handlers receive all objects again.
    """

    def __init__(self, informer: SharedInformer[T], clock: Clock, rand: Random = random.random) -> None:
        self.informer = informer
        # Only longer: an informer does not resync handlers more often than itself.
        self.resync = informer.resync * (1.0 + RESYNC_JITTER * rand())
        self.memory: MutationCache[T] = MutationCache.over(informer, clock=clock)
        self._lock = threading.Lock()
        self._has_handler = False  # a handler calls `forget`

    def remember(self, obj: T) -> None:
        """Store `obj`, which the server returned for a write."""
        if not self._set_handler() and not self.informer.is_stopped:
            self.informer.add_event_handler(
                on_add=self.memory.on_add_or_update, on_update=self.memory.on_update, on_delete=self.forget
            )
        self.memory.mutation(obj)

    def forget(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """Remove a deleted object. Each handler calls this before it handles the deletion."""
        self.memory.on_delete(object_name(deleted), last_known(deleted))

    def has_handler(self) -> None:
        """Record that a handler calls `forget` from now on."""
        self._set_handler()

    def list(self, namespace: str) -> Iterable[T]:
        """Return the newest known objects of one namespace or of all."""
        return self.memory.by_index(NAMESPACE_INDEX, namespace) if namespace else self.memory.list()

    def _set_handler(self) -> bool:
        with self._lock:
            before, self._has_handler = self._has_handler, True
        return before


class CacheNotSynced(ClientGoError):
    """The cache cannot be read: it is not running, did not sync in time, or was stopped before."""


class Cache:
    """Informers of a program; they list and watch through `requester`."""

    def __init__(
        self,
        requester: Requester,
        kinds: Kinds,
        options: CacheOptions,
        *,
        name: InformerName | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rand: Random = random.random,
    ) -> None:
        self.requester = requester
        self._kinds = kinds
        self._options = options
        self._name = name
        self._clock = clock
        self._rand = rand
        self._lock = threading.Lock()
        # Guarded by _lock. One factory for each representation of objects, and one for each kind with its own options.
        self._factories: dict[type, InformerFactory] = {}
        self._known: dict[type, ReadYourWrites[Any]] = {}
        self._stop: threading.Event | None = None

    def __repr__(self) -> str:
        return f"<Cache {', '.join(informer.name for informer in self.informers()) or 'without informers'}>"

    def informers(self) -> list[SharedInformer[Any]]:
        """Return the informers requested so far."""
        with self._lock:
            return [known.informer for known in self._known.values()]

    def informer(self, cls: type[T]) -> SharedInformer[T]:
        """Return the informer of a kind, which runs as soon as the cache does. Handlers may be added to it."""
        return self.known(cls).informer

    @property
    def factory(self) -> InformerFactory:
        """Factory that returns these informers, for controllers written without a manager."""
        return _SharingFactory(self)

    def known(self, cls: type[T]) -> ReadYourWrites[T]:
        """Return the objects of a kind, synced or not; its informer runs as soon as the cache does."""
        with self._lock:
            found = self._known.get(cls)
            if found is not None:
                return found
            factory = self._factory(cls)
            client = self._kinds.client_class(cls)
            known = self._known[cls] = ReadYourWrites(factory.informer_for(client, cls), self._clock, self._rand)
            stop = self._stop
        if stop is not None:
            factory.start(stop)
        return known

    def synced(self, cls: type[T]) -> ReadYourWrites[T]:
        """Return the objects of a kind once its informer has synced.

        Waits at most `sync_timeout` seconds, and no longer than the time limit of the reconciliation.

        Raises:
            CacheNotSynced: the informer did not sync in time, or the cache is not running.
            LookupError: the kind has no informer, and reads may not start one.
        """
        known = self._known.get(cls)
        if known is not None and known.informer.has_synced:
            return known
        if known is None and self._options.fail_on_missing_informer:
            raise LookupError(f"no informer for {api_of(cls).gvr.group_resource}, and reads may not start one")
        stop = self._stop
        if stop is None:
            raise CacheNotSynced(f"cannot read {api_of(cls).plural} from the cache before the manager runs")
        known = self.known(cls)
        self.wait_for(stop, [known.informer], what="the cache")
        if not known.informer.has_synced:
            raise CacheNotSynced(f"cannot read {known.informer.name} from the cache: it was stopped")
        return known

    def check_namespace(self, cls: type[Any], namespace: str) -> None:
        """Raise LookupError if the namespace is not cached, so that it is not mistaken for empty."""
        own = self._options.by_object.get(cls)
        cached = own.namespaces if own is not None and own.namespaces is not None else self._options.namespaces
        if cached and namespace and namespace not in cached:
            raise LookupError(
                f"{api_of(cls).plural} in namespace {namespace} are not cached; cached namespaces: {', '.join(cached)}"
            )

    def remember(self, obj: T) -> None:
        """Store `obj`, which the server returned for a write; reads return it until the cache has caught up."""
        known = self._known.get(type(obj))
        if known is not None:
            known.remember(obj)

    def add_index(self, cls: type[T], field: str, values: Callable[[T], Iterable[str]]) -> None:
        """Index objects of a kind by a field: `client.list(cls, fields={field: value})`.

        Raises:
            ValueError: the field already has an index.
        """
        self.informer(cls).add_indexers({index_name(field): values})

    def start(self, stop: threading.Event) -> None:
        """Run all informers, also those requested later, until `shutdown` or until `stop` is set.

        Repeated calls with the same event change nothing.
        """
        with self._lock:
            self._stop = stop
            factories = list(self._factories.values())
        for factory in factories:
            factory.start(stop)

    def wait_for(self, stop: threading.Event, informers: Iterable[SharedInformer[Any]], *, what: str) -> None:
        """Return once these informers have synced, or `stop` is set.

        Raises:
            CacheNotSynced: some did not sync in time; the message contains the server's last response.
        """
        informers, timeout = list(informers), limit_of_wait(self._options.sync_timeout)
        if wait_for_cache_sync(stop, *informers, timeout=timeout, clock=self._clock) or stop.is_set():
            return
        raise CacheNotSynced(f"{what} did not sync within {timeout:g} s: {self.unsynced()}")

    def unsynced(self) -> str:
        """Describe the informers that have not synced, with the server's last response to each."""
        states = [informer.state() for informer in self.informers() if not informer.has_synced]
        return "; ".join(f"{one.name}: {one.last_error or 'no response yet'}" for one in states)

    def shutdown(self, timeout: float | None = None) -> None:
        """Stop all informers; raise `StillRunning` if one has not ended within `timeout` seconds."""
        with self._lock:
            factories = list(self._factories.values())
        for factory in factories:
            factory.shutdown(timeout)

    def _factory(self, cls: type[Any]) -> InformerFactory:
        own = self._options.by_object.get(cls)
        key = cls if own is not None else shape_of(cls)
        found = self._factories.get(key)
        if found is None:
            found = self._factories[key] = self._new_factory(own)
        return found

    def _new_factory(self, own: ByObject | None) -> InformerFactory:
        general, own = self._options, own or ByObject()
        return InformerFactory(
            self,
            resync=general.resync if own.resync is None else own.resync,
            namespace=general.namespaces if own.namespaces is None else own.namespaces,
            tweak_list_options=general.tweak(own),
            transform=own.transform or general.transform,
            name=self._name,
            clock=self._clock,
        )


class _SharingFactory(InformerFactory):
    """Factory without informers of its own."""

    def __init__(self, cache: Cache) -> None:
        super().__init__(cache)
        self._cache = cache

    def informer_for(self, client: Callable[..., ListerWatcher[T]], kind: type[T]) -> SharedInformer[T]:
        return self._cache.informer(kind)


def index_name(field: str) -> str:
    """Return the name of a field's index, distinct from the informer's own indexes."""
    return f"field:{field}"
