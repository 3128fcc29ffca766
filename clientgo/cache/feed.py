"""The part of an informer that one reflector fills: all of its objects, or those of one namespace."""

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from clientgo.cache.informermetrics import InformerMetrics
from clientgo.cache.rejects import Rejects
from clientgo.cache.store import Indexer
from clientgo.cache.transform import Transform
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import BadEvent, ListerWatcher, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.resourceversion import at_least

T = TypeVar("T", bound=ApiObject)


class Cache(Protocol[T]):
    """What a feed fills."""

    rejects: Rejects
    transform: Transform[T]

    @property
    def indexer(self) -> Indexer[T]:
        """Where the objects are; only looked into."""

    @property
    def size(self) -> int:
        """How many objects there are."""

    def replace(self, feed: "Feed[T]", objects: Iterable[T], keep: set[ObjectName], version: str) -> None:
        """These objects of the feed exist at that version, those named in `keep` too, and no others."""

    def apply(self, event: WatchEvent[T]) -> None:
        """One object came, changed or went."""

    def forget(self, key: ObjectName) -> None:
        """The object of that name went, and its last state can't be told."""

    def bookmark(self, version: str) -> None:
        """Everything up to that version has been told."""


class Feed(Generic[T]):
    """Tells an informer what one reflector learns, and keeps what it can't hold away from it."""

    def __init__(
        self, cache: Cache[T], namespace: str, source: ListerWatcher[T], metrics: InformerMetrics | None = None
    ) -> None:
        self.namespace = namespace
        self.source = source
        self.synced = False  # guarded by the informer's lock
        self._cache = cache
        self._metrics = metrics
        self._kind = source.kind.__name__

    def prepare(self, page: ObjectList[T]) -> ObjectList[T]:
        """The page's objects transformed; one whose transform raises is set aside with those that can't be decoded.

        An object that is in the cache already, to the last field, is taken from there: a list that tells nothing new
        costs the memory of one page, not that of another cache.
        """
        items: list[T] = []
        failed: list[Undecodable] = []
        transform, known = self._cache.transform, self._cache.indexer.get_by_key if self._cache.size else _nothing
        for obj in page.items:
            try:
                ready = transform(obj)
            except Exception as error:  # noqa: BLE001  # foreign code: one object must not cost the others
                failed.append(self._failed(obj, error))
                continue
            held = known(object_name(ready))
            items.append(ready if held is None or not _same(held, ready) else held)
        return replace(page, items=items, undecodable=(*page.undecodable, *failed))

    def replace(self, objects: Iterable[T], undecodable: Iterable[Undecodable], version: str) -> None:
        """What a complete list said. An object that exists but can't be held keeps its last good state."""
        keep = set()
        for error in undecodable:
            self._cache.rejects.note(error)
            keep.add(ObjectName(error.metadata.namespace, error.metadata.name))
        self._cache.rejects.keep_only(keep, self.namespace)
        self._cache.replace(self, objects, keep, version)
        self._stored(version)

    def apply(self, event: WatchEvent[T]) -> None:
        """One change."""
        if self._metrics is None:
            self._apply(event)
            return
        began = self._metrics.begin()
        self._apply(event)
        version = event.object.metadata.resource_version
        self._metrics.done(began, version, self._cache.size)

    def _apply(self, event: WatchEvent[T]) -> None:
        obj = event.object
        try:
            ready = self._cache.transform(obj)
        except Exception as error:  # noqa: BLE001  # foreign code: one object must not end the watch
            self.reject(BadEvent(event.type, self._failed(obj, error)))
            return
        if self._cache.rejects.any:
            self._cache.rejects.clear(object_name(obj))
        self._cache.apply(event if ready is obj else WatchEvent(event.type, ready))

    def reject(self, event: BadEvent) -> None:
        """One change whose object can't be held; of a deletion the name is enough."""
        meta = event.error.metadata
        key = ObjectName(meta.namespace, meta.name)
        if event.type == "DELETED":
            self._cache.rejects.clear(key)
            self._cache.forget(key)
        else:
            self._cache.rejects.note(event.error)
        self._cache.bookmark(meta.resource_version)

    def bookmark(self, version: str) -> None:
        """Everything up to that version has been told."""
        self._cache.bookmark(version)
        self._stored(version)

    def _stored(self, version: str) -> None:
        if self._metrics is not None:
            self._metrics.stored(version, self._cache.size)

    def _failed(self, obj: T, error: Exception) -> Undecodable:
        return Undecodable(self._kind, obj.metadata, f"its transform raised {error!r}")


def _nothing(_: ObjectName) -> None:
    """What an empty cache has of that name."""


def _same(held: ApiObject, told: ApiObject) -> bool:
    # The version alone does not do: a new schema's defaults show in objects whose version stays.
    return held.metadata.resource_version == told.metadata.resource_version and held == told


def oldest(versions: Sequence[str]) -> str:
    """The version that all of these reflect: the oldest, or none as long as one of them has none."""
    found, *others = versions or [""]
    for version in others:
        if not version or (found and at_least(found, version)):
            found = version
    return found
