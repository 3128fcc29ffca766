"""Sink of a reflector: puts the objects it receives into an informer, except those that cannot be cached."""

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from clientgo.cache.distributor import Distributor
from clientgo.cache.store import Transform, transformed
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.meta.codec import ObjectList, Undecodable, UnexpectedObject
from clientgo.meta.jsonvalues import same
from clientgo.meta.listwatch import BadEvent, WatchEvent
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject

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


class InformerSink(Generic[T]):
    """Sink of one reflector of an informer, for all of its objects or those of one namespace."""

    def __init__(self, distributor: Distributor[T], namespace: str, transform: Transform[T]) -> None:
        self._distributor = distributor
        self._namespace = namespace
        self._transform = transform
        self._metrics = distributor.metrics

    def prepare(self, page: ObjectList[T]) -> ObjectList[T]:
        """Return a page with transformed objects; an object whose transform fails becomes an undecodable one.

        An object equal to the cached one is replaced by it, so that a list without changes takes the memory of one page
        and not that of another cache.
        """
        items: list[T] = []
        failed: list[Undecodable] = []
        transform = self._transform
        indexer = self._distributor.indexer if len(self._distributor.indexer) else None
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
            self._distributor.undecodable.add(error)
            keep.add(object_name(error))
        self._distributor.undecodable.keep_only(keep, self._namespace)
        self._distributor.replace(self._namespace, objects, keep, version)
        self._stored(version)

    def apply(self, event: WatchEvent[T], version: str) -> None:
        """Apply a change of one object."""
        obj, distributor, metrics = event.object, self._distributor, self._metrics
        began = metrics.begin() if metrics is not None else 0.0
        try:
            ready = transformed(self._transform, obj)
        except CallbackFailed as error:
            self.reject(BadEvent(event.type, self._failed(obj, error)), version)
        else:
            if distributor.undecodable.errors:
                distributor.undecodable.remove(object_name(obj))
            distributor.apply(self._namespace, event.type, ready, version)
        if metrics is not None:
            metrics.done(began, obj.metadata.resource_version, len(distributor.indexer))

    def reject(self, event: BadEvent, version: str) -> None:
        """Handle a change of an object that could not be decoded; a deletion needs only the name."""
        if isinstance(event.error, UnexpectedObject):  # of an object that only has the same name, perhaps
            self._distributor.undecodable.add(event.error)
            return
        meta = event.error.metadata
        key = ObjectName(meta.namespace, meta.name)
        if event.type == "DELETED":
            self._distributor.undecodable.remove(key)
            self._distributor.forget(self._namespace, key, version)
        else:
            self._distributor.undecodable.add(event.error)
        self._distributor.reached(self._namespace, version, stored=meta.resource_version)

    def bookmark(self, version: str) -> None:
        """Record that all changes up to `version` were received."""
        self._distributor.reached(self._namespace, version)
        self._stored(version)

    def _stored(self, version: str) -> None:
        if self._metrics is not None:
            self._metrics.stored(version, len(self._distributor.indexer))

    def _failed(self, obj: T, error: CallbackFailed) -> Undecodable:
        return Undecodable(self._distributor.kind, obj.metadata, f"its transform failed: {error}")


def _same(held: ApiObject, received: ApiObject) -> bool:
    # The version is not sufficient: a new schema's defaults change objects without it.
    if held.metadata.resource_version != received.metadata.resource_version:
        return False
    try:
        return run_callback(same, held, received)
    except CallbackFailed:  # its class has an __eq__ that raises: both are kept
        return False
