"""Reads one's own writes: a cache's objects, or what the server answered to a write if that is newer.

Between a write and the watch event that reports it, the cache is behind; deciding on it again would repeat the write or
send one that the server must refuse. What a write was answered with is kept here until the cache has caught up.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.cache.informer import SharedInformer
from clientgo.cache.store import Indexer, List
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.resourceversion import at_least

T = TypeVar("T", bound=ApiObject)

CaughtUp = Callable[[str, str], bool]
"""Whether the first resourceVersion reflects the second."""


class MutationCache(Generic[T]):
    """An overlay of own writes over an informer's store.

    A write is remembered for `ttl` seconds at most (so that an object deleted before the cache saw it does not live
    on here), and at most `size` of them. With `include_adds`, objects the store does not have yet are found too, unless
    the store reflects a version, told by `reached`, at which it would: an answer may come after the deletion of what it
    tells of. `caught_up` compares versions where they are not Kubernetes' own.
    """

    def __init__(
        self,
        backing: Indexer[T],
        *,
        ttl: float = 60.0,
        size: int = 10_000,
        include_adds: bool = True,
        reached: Callable[[], str] = lambda: "",
        caught_up: CaughtUp = at_least,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._backing = backing
        self._ttl = ttl
        self._size = size
        self._include_adds = include_adds
        self._reached = reached
        self._caught_up = caught_up
        self._clock = clock
        self._lock = threading.Lock()
        self._written: OrderedDict[ObjectName, tuple[float, T]] = OrderedDict()

    @classmethod
    def over(cls, informer: SharedInformer[T], *, clock: Clock = SYSTEM_CLOCK) -> "MutationCache[T]":
        """An overlay over an informer's store, which knows what version that reflects."""
        return cls(informer.indexer, reached=lambda: informer.last_sync_resource_version, clock=clock)

    def __repr__(self) -> str:
        return f"<MutationCache {len(self._written)} writes over {self._backing!r}>"

    def __len__(self) -> int:
        return len(self._written)

    def mutation(self, obj: T) -> None:
        """Remember what the server answered to a write."""
        key = object_name(obj)
        with self._lock:
            self._written.pop(key, None)
            self._written[key] = (self._clock.now() + self._ttl, obj)
            while len(self._written) > self._size:
                self._written.popitem(last=False)

    def get_by_key(self, key: ObjectName) -> T | None:
        """The newest state known of the object of that name, or None."""
        cached = self._backing.get_by_key(key)
        if key not in self._written:
            return cached
        with self._lock:
            return self._newest(key, cached)

    def by_index(self, name: str, value: str) -> List[T]:
        """The newest states known of the objects under that value of the store's index; KeyError for an unknown index.

        A write that moves an object to another value is found under its new one.
        """
        found = {object_name(obj): obj for obj in self._backing.by_index(name, value)}
        with self._lock:
            written = list(self._written)
            for key in written:
                newest = self._newest(key, self._backing.get_by_key(key))
                if newest is not None and value in self._backing.values_of(name, newest):
                    found[key] = newest
                else:
                    found.pop(key, None)
        return list(found.values())

    def on_add_or_update(self, obj: T) -> None:
        """The cache has been told of `obj`: a write that it reflects is forgotten. For an informer's handler."""
        key = object_name(obj)
        with self._lock:
            entry = self._written.get(key)
            if entry is not None and self._reflects(obj, entry[1]):
                del self._written[key]

    def on_update(self, old: T, new: T) -> None:
        """The cache has gone from `old` to `new`: forget what that makes stale. For an informer's handler.

        A version that went back comes from a server that was restored from a backup: it has lost the write, too.
        """
        key = object_name(new)
        if key not in self._written:
            return
        if self._caught_up(new.metadata.resource_version, old.metadata.resource_version):
            self.on_add_or_update(new)
        else:
            self.on_delete(key, None)

    def on_delete(self, key: ObjectName, obj: T | None) -> None:
        """The object of that name was deleted, `obj` being its last state if known: forget what it makes stale."""
        with self._lock:
            entry = self._written.get(key)
            if entry is None:
                return
            written = entry[1]
            if obj is None or written.metadata.uid == obj.metadata.uid or self._reflects(obj, written):
                del self._written[key]

    def _newest(self, key: ObjectName, cached: T | None) -> T | None:
        entry = self._written.get(key)
        if entry is None:
            return cached
        expires, written = entry
        if self._clock.now() >= expires or (cached is not None and self._reflects(cached, written)):
            del self._written[key]
            return cached
        if cached is not None:
            return written
        if self._caught_up(self._reached(), written.metadata.resource_version):
            del self._written[key]
            # Looked at once more: it may have come between the first look and the version that was told.
            return self._backing.get_by_key(key)
        return written if self._include_adds else None

    def _reflects(self, seen: T, written: T) -> bool:
        return self._caught_up(seen.metadata.resource_version, written.metadata.resource_version)
