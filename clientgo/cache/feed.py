"""The part of an informer that one reflector fills: all of its objects, or those of one namespace."""

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from clientgo.cache.rejects import Rejects
from clientgo.meta.codec import Undecodable
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.watch import BadEvent, ListerWatcher, WatchEvent

T = TypeVar("T", bound=ApiObject)


class Cache(Protocol[T]):
    """What a feed fills."""

    rejects: Rejects

    def replace(self, feed: "Feed[T]", objects: Iterable[T], keep: set[ObjectName]) -> None:
        """These objects of the feed exist, those named in `keep` too, and no others."""

    def apply(self, event: WatchEvent[T]) -> None:
        """One object came, changed or went."""

    def forget(self, key: ObjectName) -> None:
        """The object of that name went, and its last state can't be told."""


class Feed(Generic[T]):
    """Tells an informer what one reflector learns, and keeps what can't be decoded away from it."""

    def __init__(self, cache: Cache[T], namespace: str, source: ListerWatcher[T]) -> None:
        self.namespace = namespace
        self.source = source
        self.synced = False  # guarded by the informer's lock
        self._cache = cache

    def covers(self, key: ObjectName) -> bool:
        """Whether objects of that name come through this feed."""
        return not self.namespace or key.namespace == self.namespace

    def replace(self, objects: Iterable[T], undecodable: Iterable[Undecodable]) -> None:
        """What a complete list said. An object that exists but can't be decoded keeps its last good state."""
        keep = set()
        for error in undecodable:
            self._cache.rejects.note(error)
            keep.add(ObjectName(error.metadata.namespace, error.metadata.name))
        self._cache.replace(self, objects, keep)

    def apply(self, event: WatchEvent[T]) -> None:
        """One change."""
        if self._cache.rejects.any:
            self._cache.rejects.clear(object_name(event.object))
        self._cache.apply(event)

    def reject(self, event: BadEvent) -> None:
        """One change whose object can't be decoded; of a deletion the name is enough."""
        meta = event.error.metadata
        key = ObjectName(meta.namespace, meta.name)
        if event.type == "DELETED":
            self._cache.rejects.clear(key)
            self._cache.forget(key)
        else:
            self._cache.rejects.note(event.error)
