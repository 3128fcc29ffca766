"""One informer for each kind, shared by all controllers of a program and by its client, started when first needed.

Reading waits until the kind's informer has synced, so that nobody takes "not known yet" for "not there". What the
program itself has just written is read from the server's answer until the informer has caught up with it; deciding on
an older state would repeat the write.
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
"""By how much a resync may be later, as a part of its period (controller-runtime's): not all kinds at one moment."""


class Known(Generic[T]):
    """What is known of one kind: its informer's objects, and what was written since.

    `resync` is how often, in seconds, a handler is to be shown all of them again.
    """

    def __init__(self, informer: SharedInformer[T], clock: Clock, rand: Random = random.random) -> None:
        self.informer = informer
        # Later, and never sooner: an informer takes no handler that comes more often than it does itself.
        self.resync = informer.resync * (1.0 + RESYNC_JITTER * rand())
        self.memory: MutationCache[T] = MutationCache.over(informer, clock=clock)
        self._lock = threading.Lock()
        self._heard = False  # whether some handler passes on what it is called for

    def remember(self, obj: T) -> None:
        """The server answered a write with `obj`."""
        if not self._hear() and not self.informer.is_stopped:
            self.informer.add_event_handler(
                on_add=self.memory.on_add_or_update, on_update=self.memory.on_update, on_delete=self.forget
            )
        self.memory.mutation(obj)

    def forget(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        """An object went. Called by each handler before it acts on that, or it would be shown what is gone."""
        self.memory.on_delete(object_name(deleted), last_known(deleted))

    def heard_by_handler(self) -> None:
        """A handler calls `forget` from now on."""
        self._hear()

    def list(self, namespace: str) -> Iterable[T]:
        """The newest states known, of one namespace or of all."""
        return self.memory.by_index(NAMESPACE_INDEX, namespace) if namespace else self.memory.list()

    def _hear(self) -> bool:
        with self._lock:
            heard, self._heard = self._heard, True
        return heard


class CacheNotSynced(ClientGoError):
    """A cache can't be read: it is not running, it was not filled in time, or it was stopped before."""


class Cache:
    """The informers of a program; `requester` is what they list and watch by."""

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
        # Guarded by _lock. One factory for each way to hold objects, and one for each kind with options of its own.
        self._factories: dict[type, InformerFactory] = {}
        self._known: dict[type, Known[Any]] = {}
        self._stop: threading.Event | None = None

    def __repr__(self) -> str:
        return f"<Cache {', '.join(informer.name for informer in self.informers()) or 'of nothing yet'}>"

    def informers(self) -> list[SharedInformer[Any]]:
        """The informers asked for so far."""
        with self._lock:
            return [known.informer for known in self._known.values()]

    def informer(self, cls: type[T]) -> SharedInformer[T]:
        """The informer of a kind; it runs, or will once the cache is started. Handlers may be added to it."""
        return self.known(cls).informer

    @property
    def factory(self) -> InformerFactory:
        """These informers for controllers that are written without a manager: `DeploymentInformer(cache.factory)`."""
        return _SharingFactory(self)

    def known(self, cls: type[T]) -> Known[T]:
        """What is known of a kind, synced or not; its informer runs, or will once the cache is started."""
        with self._lock:
            found = self._known.get(cls)
            if found is not None:
                return found
            factory = self._factory(cls)
            client = self._kinds.client_class(cls)
            known = self._known[cls] = Known(factory.informer_for(client, cls), self._clock, self._rand)
            stop = self._stop
        if stop is not None:
            factory.start(stop)
        return known

    def synced(self, cls: type[T]) -> Known[T]:
        """Return what is known of a kind once its informer has synced.

        Waits for that, `sync_timeout` seconds at most, and no longer than the time limit of a reconciliation.

        Raises:
            CacheNotSynced: it did not in time, or the cache does not run.
            LookupError: nobody has asked for its informer, and reads may not.
        """
        known = self._known.get(cls)
        if known is not None and known.informer.has_synced:
            return known
        if known is None and self._options.fail_on_missing_informer:
            raise LookupError(f"there is no informer of {api_of(cls).gvr.group_resource}, and reads may not start one")
        stop = self._stop
        if stop is None:
            raise CacheNotSynced(f"{api_of(cls).plural} can't be read from the cache before the manager runs")
        known = self.known(cls)
        self.wait_for(stop, [known.informer], what="the cache")
        if not known.informer.has_synced:
            raise CacheNotSynced(f"{known.informer.name} can't be read from the cache: it was stopped")
        return known

    def check_namespace(self, cls: type[Any], namespace: str) -> None:
        """Raise LookupError if nothing of that namespace is cached: nobody is to take that for "not there"."""
        own = self._options.by_object.get(cls)
        cached = own.namespaces if own is not None and own.namespaces is not None else self._options.namespaces
        if cached and namespace and namespace not in cached:
            raise LookupError(
                f"{api_of(cls).plural} of namespace {namespace} are not cached, only of {', '.join(cached)}"
            )

    def remember(self, obj: T) -> None:
        """The server answered a write with `obj`; reads show it until the cache has caught up."""
        known = self._known.get(type(obj))
        if known is not None:
            known.remember(obj)

    def add_index(self, cls: type[T], field: str, values: Callable[[T], Iterable[str]]) -> None:
        """Let objects of a kind be found by a field's values: `client.list(cls, fields={field: value})`.

        Raises:
            ValueError: there is an index of that field.
        """
        self.informer(cls).add_indexers({index_name(field): values})

    def start(self, stop: threading.Event) -> None:
        """Run the informers asked for so far, and each one asked for later, until `shutdown`; `stop` ends them too.

        Called again with the same event, it changes nothing.
        """
        with self._lock:
            self._stop = stop
            factories = list(self._factories.values())
        for factory in factories:
            factory.start(stop)

    def wait_for(self, stop: threading.Event, informers: Iterable[SharedInformer[Any]], *, what: str) -> None:
        """Return once these have synced, or `stop` is set.

        Raises:
            CacheNotSynced: some have not in time; the message says what the server answered last.
        """
        informers, timeout = list(informers), limit_of_wait(self._options.sync_timeout)
        if wait_for_cache_sync(stop, *informers, timeout=timeout, clock=self._clock) or stop.is_set():
            return
        raise CacheNotSynced(f"{what} was not filled within {timeout:g} s: {self.unsynced()}")

    def unsynced(self) -> str:
        """Which informers have not synced, and what the server answered them last."""
        states = [informer.state() for informer in self.informers() if not informer.has_synced]
        return "; ".join(f"{one.name}: {one.last_error or 'no answer yet'}" for one in states)

    def shutdown(self, timeout: float | None = None) -> None:
        """End every informer, within `timeout` seconds; raises `StillRunning` if one had not by then."""
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
    """Makes no informer itself."""

    def __init__(self, cache: Cache) -> None:
        super().__init__(cache)
        self._cache = cache

    def informer_for(self, client: Callable[..., ListerWatcher[T]], kind: type[T]) -> SharedInformer[T]:
        return self._cache.informer(kind)


def index_name(field: str) -> str:
    """What the index of a field is called, apart from those an informer has anyway."""
    return f"field:{field}"
