"""Mutation cache: read-your-writes over an informer's store.

Between a write and its watch event the store is stale; a decision based on it would repeat the write, or send one that
the server rejects. The response to a write is kept here until the store has caught up.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.boundeddict import BoundedDict
from clientgo.cache.informer import SharedInformer
from clientgo.cache.store import Indexer, List, Transform, keep_everything
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.meta.listwatch import at_least
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.readonly import protect

T = TypeVar("T", bound=ApiObject)

CaughtUp = Callable[[str, str], bool]
"""Returns True if the first resourceVersion is at least the second."""


class MutationCache(Generic[T]):
    """Overlay of the program's own writes over an informer's store.

    At most `size` writes are kept, each for at most `ttl` seconds (an object may have been deleted before the store
    received it). With `include_adds`, objects that the store does not have yet are returned, too.

    The response to a write may arrive after the deletion of its object, which must not be returned then. `reached`
    returns the store's resourceVersion for a namespace, by default that of the whole store. `transform` is that of the
    store; `caught_up` compares versions that are not Kubernetes' own.
    """

    def __init__(
        self,
        backing: Indexer[T],
        *,
        ttl: float = 60.0,
        size: int = 10_000,
        include_adds: bool = True,
        reached: Callable[[str], str] | None = None,
        transform: Transform[T] = keep_everything,
        caught_up: CaughtUp = at_least,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._backing = backing
        self._ttl = ttl
        self._include_adds = include_adds
        self._reached = reached or (lambda _: backing.resource_version)
        self._transform = transform
        self._caught_up = caught_up
        self._clock = clock
        self._lock = threading.Lock()
        # Guarded by _lock; with the expiry times, in that order.
        self._written: BoundedDict[ObjectName, tuple[float, T]] = BoundedDict(size)

    @classmethod
    def over(cls, informer: SharedInformer[T], *, clock: Clock = SYSTEM_CLOCK) -> "MutationCache[T]":
        """Return an overlay over an informer's store, with the informer's transform and versions."""
        return cls(
            informer.indexer,
            reached=informer.last_sync_resource_version_in,
            transform=lambda obj: informer.transform(obj),
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"<MutationCache {len(self._written)} writes over {self._backing!r}>"

    def __len__(self) -> int:
        return len(self._written)

    def mutation(self, obj: T) -> None:
        """Keep the server's response to a write, unless the store has caught up."""
        protect(obj.__class__)
        try:
            obj = self._transform(obj)
        except Exception:  # noqa: BLE001  # foreign code; the informer reports the object when it receives it
            return
        key = object_name(obj)
        with self._lock:
            self._drop_expired()
            self._written[key] = (self._clock.now() + self._ttl, obj)
            # After it was added: a change that arrives from now on is reported to the handlers, and removes it.
            self._newest(key, self._backing.get_by_key(key))

    def get_by_key(self, key: ObjectName) -> T | None:
        """Return the newest state of the object of that name, or None."""
        cached = self._backing.get_by_key(key)
        if key not in self._written:
            return cached
        with self._lock:
            return self._newest(key, cached)

    def by_index(self, name: str, value: str) -> List[T]:
        """Return the newest states of the objects with that value of an index; raise KeyError for an unknown index.

        An object that a write moved to another value is returned for the new one.
        """
        found = self._backing.by_index(name, value)
        return self._overlaid(found, lambda obj: value in self._backing.values_of(name, obj))

    def list(self) -> List[T]:
        """Return the newest states of all objects."""
        return self._overlaid(self._backing.list(), lambda _: True)

    def on_add_or_update(self, obj: T) -> None:
        """Remove the write that `obj` includes; for an informer's handler."""
        if not self._written:
            return
        key = object_name(obj)
        with self._lock:
            self._drop_expired()
            entry = self._written.get(key)
            if entry is not None and self._reflects(obj, entry[1]):
                del self._written[key]

    def on_update(self, old: T, new: T) -> None:
        """Remove the write that an update includes; for an informer's handler.

        An older version comes from a server that was restored from a backup, and has lost the write.
        """
        if self._caught_up(new.metadata.resource_version, old.metadata.resource_version):
            self.on_add_or_update(new)
        else:
            with self._lock:
                self._written.pop(object_name(new), None)

    def on_delete(self, key: ObjectName, obj: T | None) -> None:
        """Remove the write of a deleted object; `obj` is its last state, if known. For an informer's handler."""
        with self._lock:
            self._drop_expired()
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
        if self._caught_up(self._reached(key.namespace), written.metadata.resource_version):
            del self._written[key]
            # Read again: the object may have been stored between the first read and `reached`.
            return self._backing.get_by_key(key)
        return written if self._include_adds else None

    def _overlaid(self, cached: List[T], belongs: Callable[[T], bool]) -> List[T]:
        if not self._written:
            return cached
        found = {object_name(obj): obj for obj in cached}
        with self._lock:
            for key in tuple(self._written):
                newest = self._newest(key, self._backing.get_by_key(key))
                if newest is not None and belongs(newest):
                    found[key] = newest
                else:
                    found.pop(key, None)
        return [*found.values()]

    def _drop_expired(self) -> None:
        now = self._clock.now()
        while self._written and next(iter(self._written.values()))[0] <= now:
            self._written.popitem(last=False)

    def _reflects(self, seen: T, written: T) -> bool:
        return self._caught_up(seen.metadata.resource_version, written.metadata.resource_version)
