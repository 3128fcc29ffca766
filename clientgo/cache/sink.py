"""Sink of a reflector: puts the objects it receives into an informer, except those that cannot be cached."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec.structs import replace

from clientgo.cache.metrics import InformerMetrics
from clientgo.cache.store import transformed
from clientgo.errors import CallbackFailed, run_callback
from clientgo.log import get_logger
from clientgo.meta.codec import ObjectList, Undecodable, UnexpectedObject
from clientgo.meta.jsonvalues import same
from clientgo.meta.listwatch import BadEvent, ListerWatcher, WatchEvent, at_least
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.metrics import safe_provider

if TYPE_CHECKING:
    from clientgo.cache.informer import SharedInformer

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)


class Sink(Protocol[T]):
    """Destination of a reflector's objects; called in the reflector's thread only."""

    def prepare(self, page: ObjectList[T]) -> ObjectList[T]:
        """Return a page with its objects as they are to be stored; called once per page, before `replace`."""

    def replace(self, objects: Iterable[T], undecodable: Iterable[Undecodable], version: str) -> None:
        """Replace everything by a complete list: prepared objects, and those that could not be decoded."""

    def apply(self, event: WatchEvent[T], version: str) -> None:
        """Apply a change of one object, with which everything up to `version` was received."""

    def reject(self, event: BadEvent, version: str) -> None:
        """Handle a change of an object that could not be decoded, or that is not what was requested."""

    def bookmark(self, version: str) -> None:
        """Record that all changes up to `version` were received."""


class UndecodableObjects:
    """Objects of one kind that the server has and that could not be decoded; each state is logged and counted once."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._current: dict[ObjectName, tuple[str, Undecodable]] = {}
        self._counter = safe_provider().counter(
            "informer_undecodable_objects_total", "Objects received that could not be cached.", {"kind": kind}
        )
        self.total = 0

    def __repr__(self) -> str:
        return f"<UndecodableObjects {len(self._current)} now, {self.total} in all>"

    def __len__(self) -> int:
        return len(self._current)

    def current(self) -> dict[ObjectName, Undecodable]:
        """Return the errors of the objects that exist now."""
        return {key: error for key, (_, error) in list(self._current.items())}

    def get(self, key: ObjectName) -> Undecodable | None:
        """Return the error of the object of that name, or None."""
        found = self._current.get(key)
        return found[1] if found is not None else None

    def add(self, error: Undecodable) -> None:
        """Add an object, or its new state; ignored if that state was added before."""
        meta = error.metadata
        key, state = ObjectName(meta.namespace, meta.name), f"{meta.uid}@{meta.resource_version}"
        if key in self._current and self._current[key][0] == state:
            return
        self._current[key] = (state, error)
        self.total += 1
        self._counter.inc()
        is_unexpected = isinstance(error, UnexpectedObject)
        log.error(
            "object skipped: it was not requested" if is_unexpected else "object skipped: it can't be decoded",
            extra={"kind": error.kind, "namespace": meta.namespace, "name_": meta.name, "err": error.cause},
        )

    def keep_only(self, keys: set[ObjectName], namespace: str) -> None:
        """Remove all other objects of a namespace (of all namespaces if it is empty)."""
        for key in list(self._current):
            if key not in keys and namespace in ("", key.namespace):
                self.remove(key)

    def remove(self, key: ObjectName) -> None:
        """Remove an object that was deleted or can be decoded again."""
        self._current.pop(key, None)


class InformerSink(Generic[T]):
    """Sink of one reflector of an informer, for all of its objects or those of one namespace."""

    def __init__(
        self,
        cache: "SharedInformer[T]",
        namespace: str,
        source: ListerWatcher[T],
        metrics: InformerMetrics | None = None,
    ) -> None:
        self.namespace = namespace
        self.source = source
        self.version = ""
        """ResourceVersion up to which everything is stored. Set after the store changes, before handlers are called."""
        self._cache = cache
        self._metrics = metrics
        self._kind = source.kind.__name__

    def prepare(self, page: ObjectList[T]) -> ObjectList[T]:
        """Return a page with transformed objects; an object whose transform fails becomes an undecodable one.

        An object equal to the cached one is replaced by it, so that a list without changes takes the memory of one page
        and not that of another cache.
        """
        items: list[T] = []
        failed: list[Undecodable] = []
        transform = self._cache.transform
        indexer = self._cache.indexer if len(self._cache.indexer) else None
        for obj in page.items:
            try:
                ready = transformed(transform, obj)
            except CallbackFailed as error:
                failed.append(self._failed(obj, error))
                continue
            held = indexer.get_by_key(object_name(ready)) if indexer is not None else None
            items.append(ready if held is None or not _same(held, ready) else held)
        return replace(page, items=items, undecodable=(*page.undecodable, *failed))

    def replace(self, objects: Iterable[T], undecodable: Iterable[Undecodable], version: str) -> None:
        """Replace everything by a complete list; an undecodable object keeps its last valid state."""
        keep = set()
        for error in undecodable:
            self._cache.undecodable.add(error)
            keep.add(object_name(error))
        self._cache.undecodable.keep_only(keep, self.namespace)
        self._cache.replace(self, objects, keep, version)
        self._stored(version)

    def apply(self, event: WatchEvent[T], version: str) -> None:
        """Apply a change of one object."""
        if self._metrics is None:
            self._apply(event, version)
            return
        began = self._metrics.begin()
        self._apply(event, version)
        self._metrics.done(began, event.object.metadata.resource_version, len(self._cache.indexer))

    def _apply(self, event: WatchEvent[T], version: str) -> None:
        obj = event.object
        try:
            ready = transformed(self._cache.transform, obj)
        except CallbackFailed as error:
            self.reject(BadEvent(event.type, self._failed(obj, error)), version)
            return
        if self._cache.undecodable:
            self._cache.undecodable.remove(object_name(obj))
        self._cache.apply(self, event if ready is obj else WatchEvent(event.type, ready), version)

    def reject(self, event: BadEvent, version: str) -> None:
        """Handle a change of an object that could not be decoded; a deletion needs only the name."""
        if isinstance(event.error, UnexpectedObject):  # of an object that only has the same name, perhaps
            self._cache.undecodable.add(event.error)
            return
        meta = event.error.metadata
        key = ObjectName(meta.namespace, meta.name)
        if event.type == "DELETED":
            self._cache.undecodable.remove(key)
            self._cache.forget(self, key, version)
        else:
            self._cache.undecodable.add(event.error)
        self._cache.indexer.bookmark(meta.resource_version)
        self.version = version

    def bookmark(self, version: str) -> None:
        """Record that all changes up to `version` were received."""
        self._cache.indexer.bookmark(version)
        self.version = version
        self._stored(version)

    def _stored(self, version: str) -> None:
        if self._metrics is not None:
            self._metrics.stored(version, len(self._cache.indexer))

    def _failed(self, obj: T, error: CallbackFailed) -> Undecodable:
        return Undecodable(self._kind, obj.metadata, f"its transform failed: {error}")


def _same(held: ApiObject, received: ApiObject) -> bool:
    # The version is not sufficient: a new schema's defaults change objects without it.
    if held.metadata.resource_version != received.metadata.resource_version:
        return False
    try:
        return run_callback(same, held, received)
    except CallbackFailed:  # its class has an __eq__ that raises: both are kept
        return False


def oldest(versions: Sequence[str]) -> str:
    """Return the oldest of several resourceVersions; empty if one of them is."""
    found, *others = versions or [""]
    for version in others:
        if not version or (found and at_least(found, version)):
            found = version
    return found
