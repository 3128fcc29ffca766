"""Cache of a program: one informer per kind, shared by all controllers and the client, started when first needed.

Reads wait until the informer has synced, so that "not known yet" is never mistaken for "not found". They include what
the client has written, as docs/guarantees.md states it; deciding on an older state would repeat the write.
"""

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from clientgo.backoff import Random
from clientgo.cache import Indexer, InformerFactory, InformerName, SharedInformer
from clientgo.cache.distributor import Distributor
from clientgo.cache.state import Synced, wait_for_cache_sync
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.dynamic.informers import MetadataInformerFactory
from clientgo.dynamic.unstructured import PartialObjectMetadata
from clientgo.errors import ClientGoError, ConfigError
from clientgo.log import get_logger
from clientgo.manager.kindcache import KindCache
from clientgo.manager.kinds import Kinds, is_view, shape_of
from clientgo.manager.options import ByObject, CacheOptions
from clientgo.manager.requesters import limit_of_wait
from clientgo.meta.listwatch import ListerWatcher
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject, GroupVersionResource
from clientgo.meta.scheme import api_of
from clientgo.rest.limits import started_deadline
from clientgo.rest.request import Requester
from clientgo.stop.lifecycle import Group

log = get_logger(__name__)

NAMESPACES = GroupVersionResource("", "v1", "namespaces")

T = TypeVar("T", bound=ApiObject)


class CacheNotSynced(ClientGoError):
    """The cache cannot be read: it is not running, did not sync in time, or was stopped before."""


class NotIndexed(ConfigError, KeyError):
    """A list selects by a field without an index; the message names the kind and the remedy."""

    __str__ = Exception.__str__  # that of KeyError adds quotes


class Cache:
    """Informers of a program; they list and watch through `requester`. Thread-safe."""

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
        self._is_limited = bool(options.namespaces or options.namespace_selector or options.by_object)
        self._name = name
        self._clock = clock
        self._rand = rand
        self._lock = threading.Lock()
        # Guarded by _lock, except single lookups of reads, which must not wait for each other: what they miss is looked
        # up again under it, or counts as not cached.
        # One factory for each representation of objects, and one for each kind with its own options.
        self._factories: dict[type, InformerFactory] = {}
        self._kind_caches: dict[type, KindCache[Any]] = {}
        self._by_resource: dict[GroupVersionResource, tuple[KindCache[Any], ...]] = {}
        self._written: set[GroupVersionResource] = set()
        self._namespaces: dict[str, MetadataInformerFactory] = {}  # by selector
        self._by_object: dict[type, ByObject | None] = {}
        self._stop: threading.Event | None = None
        self._group: Group | None = None
        self._indexing = threading.Lock()
        # Guarded by _indexing: the functions of `add_index`.
        self._indexed: dict[tuple[type, str], Callable[[Any], Iterable[str]]] = {}

    def __repr__(self) -> str:
        return f"<Cache {', '.join(informer.name for informer in self.informers()) or 'without informers'}>"

    def informers(self) -> list[SharedInformer[Any]]:
        """Return the informers requested so far."""
        with self._lock:
            namespaces = [factory.for_resource(NAMESPACES) for factory in self._namespaces.values()]
            return [*namespaces, *(each.informer for each in self._kind_caches.values())]

    def informer(self, cls: type[T]) -> SharedInformer[T]:
        """Return the informer of a kind, which runs as soon as the cache does. Handlers may be added to it."""
        return self.kind_cache(cls).informer

    @property
    def factory(self) -> InformerFactory:
        """Factory that returns these informers, for controllers written without a manager."""
        return _SharingFactory(self)

    def kind_cache(self, cls: type[T]) -> KindCache[T]:
        """Return the objects of a kind, synced or not; its informer runs as soon as the cache does."""
        return self._kind_cache(cls, shared=True)

    def _kind_cache(self, cls: type[T], *, shared: bool) -> KindCache[T]:
        with self._lock:
            created = self._kind_caches.get(cls)
            if created is not None:
                created.shared |= shared
                return created
            factory = self._factory(cls)
            informer = factory.informer_for(self._kinds.client_class(cls), cls)
            # Earlier writes are not recorded: the first list must include them.
            resource = api_of(cls).gvr
            informer.newest_first_list = resource in self._written
            created = self._kind_caches[cls] = KindCache(cls, informer, self._clock, self._rand)
            created.shared = shared
            informer.add_indexers(
                {index_name(field): values for (kind, field), values in self._indexed.copy().items() if kind is cls}
            )
            self._by_resource[resource] = (*self._by_resource.get(resource, ()), created)
            stop = self._stop
        if stop is not None:
            self.start(stop)
        return created

    def synced(self, cls: type[T]) -> KindCache[T]:
        """Return the objects of a kind once its informer has synced.

        Waits at most `sync_timeout` seconds, and no longer than the time limit of the reconciliation.

        Raises:
            CacheNotSynced: the informer did not sync in time, or the cache is not running.
            LookupError: the kind has no informer, and reads may not start one.
        """
        cached = self._kind_caches.get(cls)
        if cached is not None and cached.informer.has_synced:
            cached.read = True
            return cached
        if cached is None and self._options.fail_on_missing_informer:
            raise LookupError(f"no informer for {api_of(cls).gvr.group_resource}, and reads may not start one")
        stop = self._stop
        if stop is None:
            raise CacheNotSynced(f"cannot read {api_of(cls).plural} from the cache before the manager runs")
        while True:
            cached = self._kind_cache(cls, shared=False)
            self.wait_for(stop, [cached], what="the cache")
            if cached.informer.has_synced:
                return cached
            if self._kind_caches.get(cls) is cached:  # otherwise it was removed meanwhile
                raise CacheNotSynced(f"cannot read {cached.informer.name} from the cache: it was stopped")

    def synced_in(self, cls: type[T], namespace: str) -> KindCache[T]:
        """Return the objects of a kind once one of its namespaces (all, if empty) is in the cache, as `synced` does.

        Raises:
            LookupError: the namespace is not cached, and must not be mistaken for empty.
        """
        if not namespace or not self._is_limited:
            return self.synced(cls)
        namespaces, selector = self._options.scope_of(self._own_options(cls))
        if namespaces and namespace not in namespaces:
            names = ", ".join(namespaces)
            raise LookupError(
                f"{api_of(cls).plural} in namespace {namespace} are not cached; cached namespaces: {names}"
            )
        cached = self.synced(cls)
        distributor, stop = cached.informer.distributor, self._stop
        if not selector or stop is None:
            return cached
        if not distributor.selects(namespace):
            raise LookupError(
                f"{api_of(cls).plural} in namespace {namespace} are not cached; namespace_selector: {selector}"
            )
        if not distributor.has_synced_in(namespace):
            self.wait_for(stop, [_NamespaceSync(distributor, namespace)], what=f"namespace {namespace} in the cache")
        return cached

    def has_synced_in(self, cls: type[Any], namespace: str, *, at_most: int | None = None) -> bool:
        """Return whether `synced_in` returns at once, and has at most so many objects."""
        cached = self._synced_now(cls)
        if cached is None:
            return False
        if at_most is not None and cached.informer.size > at_most:
            return False
        return not self._is_limited or not namespace or cached.informer.distributor.has_synced_in(namespace)

    def known(self, obj: T) -> T | None:
        """Return the object of that kind and name if a synced cache has it; start no informer."""
        cached = self._synced_now(type(obj))
        return None if cached is None else cached.overlay.get_by_key(object_name(obj))

    def _synced_now(self, cls: type[T]) -> KindCache[T] | None:
        cached: KindCache[T] | None = self._kind_caches.get(cls)
        return cached if cached is not None and cached.informer.has_synced else None

    def observers(self, resource: GroupVersionResource) -> tuple[KindCache[Any], ...]:
        """Return the caches of a resource that is written: one for each representation of its objects."""
        with self._lock:
            self._written.add(resource)
            return self._by_resource.get(resource, ())

    def add_index(self, cls: type[T], field: str, values: Callable[[T], Iterable[str]]) -> None:
        """Index objects of a kind by a field: `client.list(cls, fields={field: value})`.

        The same function again changes nothing.

        Raises:
            ValueError: the field already has an index by another function.
        """
        with self._indexing:
            if self._indexed.get((cls, field)) == values:
                return
            self._kind_cache(cls, shared=False).informer.add_indexers({index_name(field): values})
            self._indexed[cls, field] = values

    def remove(self, cls: type[Any]) -> bool:
        """Stop the informer of a kind and drop its objects; return False if there is none.

        The next read starts it again, with the indexes of `add_index`. (controller-runtime's RemoveInformer)

        Raises:
            RuntimeError: it has event handlers, such as those of controllers, which would receive nothing any more.
        """
        return self._remove(cls, lambda _: True)

    def _remove(self, cls: type[Any], condition: Callable[[KindCache[Any]], bool]) -> bool:
        with self._indexing, self._lock:
            cached = self._kind_caches.get(cls)
            if cached is None or not condition(cached):
                return False
            if handlers := cached.informer.distributor.listeners:
                names = ", ".join(handler.name for handler in handlers)
                raise RuntimeError(
                    f"cannot remove {cached.informer.name} from the cache: remove its handlers first: {names}"
                )
            resource = api_of(cls).gvr
            del self._kind_caches[cls]
            self._by_resource[resource] = tuple(each for each in self._by_resource[resource] if each is not cached)
            return self._factory(cls).remove(resource)

    def start(self, stop: threading.Event) -> None:
        """Run all informers, also those requested later, until `shutdown` or until `stop` is set.

        Repeated calls with the same event change nothing.
        """
        with self._lock:
            self._stop, idle_timeout = stop, self._options.idle_timeout
            factories = self._all_factories()
            if idle_timeout is not None and self._group is None:
                self._group = Group(stop=stop, clock=self._clock)
                self._group.start(self._remove_idle, idle_timeout, stop, name="idle-informers")
        for factory in factories:
            factory.start(stop)

    def wait_for(self, stop: threading.Event, informers: Iterable[Synced], *, what: str) -> None:
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
        return "; ".join(f"{state.name}: {state.last_error or 'no response yet'}" for state in states)

    def shutdown(self, timeout: float | None = None) -> None:
        """Stop all informers; raise `StillRunning` if one has not ended within `timeout` seconds."""
        with self._lock:
            factories, group = self._all_factories(), self._group
        deadline = started_deadline(timeout, self._clock)
        for factory in factories:
            factory.shutdown(deadline.timeout)
        if group is not None:
            group.stop()
            group.join(deadline.timeout)

    def _remove_idle(self, seconds: float, stop: threading.Event) -> None:
        """Remove, every `seconds`, the informers that only reads use, if there was none since the last time."""
        while not self._clock.sleep(stop, seconds):
            for cls, cached in self._kind_caches.copy().items():
                if self._remove(cls, _is_idle):
                    log.info("informer stopped: it is not read", extra={"informer": cached.informer.name})
                cached.read = False

    def _all_factories(self) -> list[InformerFactory]:
        return [*self._namespaces.values(), *self._factories.values()]

    def _factory(self, cls: type[Any]) -> InformerFactory:
        by_object = self._own_options(cls)
        key = cls if by_object is not None or is_view(cls) else shape_of(cls)
        factory = self._factories.get(key)
        if factory is None:
            factory = self._factories[key] = self._new_factory(by_object)
        return factory

    def _own_options(self, cls: type[Any]) -> ByObject | None:
        if cls not in self._by_object:
            self._by_object[cls] = self._options.of_kind(cls)
        return self._by_object[cls]

    def _new_factory(self, by_object: ByObject | None) -> InformerFactory:
        general, by_object = self._options, by_object or ByObject()
        namespaces, selector = general.scope_of(by_object)
        return InformerFactory(
            self,
            resync=general.resync if by_object.resync is None else by_object.resync,
            namespace=self._informer_of_namespaces(selector) if selector else namespaces,
            tweak_list_options=general.tweak(by_object),
            transform=by_object.transform or general.transform,
            name=self._name,
            clock=self._clock,
        )

    def _informer_of_namespaces(self, selector: str) -> SharedInformer[PartialObjectMetadata]:
        if selector not in self._namespaces:
            tweak = CacheOptions(label_selector=selector).tweak(ByObject())
            self._namespaces[selector] = MetadataInformerFactory(self, tweak_list_options=tweak, clock=self._clock)
        return self._namespaces[selector].for_resource(NAMESPACES, kind="Namespace", namespaced=False)


class _NamespaceSync:
    def __init__(self, distributor: Distributor[Any], namespace: str) -> None:
        self._distributor = distributor
        self._namespace = namespace

    @property
    def has_synced(self) -> bool:
        return self._distributor.has_synced_in(self._namespace)


class _SharingFactory(InformerFactory):
    """Factory without informers of its own."""

    def __init__(self, cache: Cache) -> None:
        super().__init__(cache)
        self._cache = cache

    def informer_for(self, client: Callable[..., ListerWatcher[T]], kind: type[T]) -> SharedInformer[T]:
        return self._cache.informer(kind)


def _is_idle(cached: KindCache[Any]) -> bool:
    return cached.informer.has_synced and not cached.shared and not cached.read


def index_name(field: str) -> str:
    """Return the name of a field's index, distinct from the informer's own indexes."""
    return f"field:{field}"


def check_indexed(cls: type[T], indexer: Indexer[T], fields: Iterable[str]) -> None:
    """Raise `NotIndexed` unless each of the fields has an index."""
    for field in fields:
        if not indexer.has_index(index_name(field)):
            kind = cls.__name__
            raise NotIndexed(
                f"{kind} has no index {field!r}: declare it on the reconciler, indexes={{{kind}: {{{field!r}:"
                f" function}}}}, or call manager.cache.add_index({kind}, {field!r}, function)"
            )
