"""Cached objects of one kind, which include the program's own writes."""

import functools
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from clientgo.backoff import Random
from clientgo.cache import NAMESPACE_INDEX, MutationCache, SharedInformer
from clientgo.cache.mutation import BeforeWrite
from clientgo.cache.selection import selection_of
from clientgo.clock import Clock
from clientgo.dynamic.unstructured import PartialObjectMetadata
from clientgo.manager.requesters import PARTIAL, Outcome
from clientgo.meta.codec import codec_for, to_dict
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.rest.request import Request

T = TypeVar("T", bound=ApiObject)

RESYNC_JITTER = 0.1
"""Jitter of the resync period (controller-runtime's), so that kinds are not resynced all at once."""


class KindCache(Generic[T]):
    """Cached objects of one kind: those of the informer's store under the program's own newer writes.

    `resync` is the interval in seconds at which handlers receive all objects again.
    """

    def __init__(self, cls: type[T], informer: SharedInformer[T], clock: Clock, rand: Random = random.random) -> None:
        self.informer = informer
        # Only longer: an informer does not resync handlers more often than itself.
        self.resync = informer.resync * (1.0 + RESYNC_JITTER * rand())
        self.overlay: MutationCache[T] = MutationCache.over(informer, clock=clock)
        self.shared = False
        """Whether others than the client use the informer; guarded by the cache's lock."""
        self.read = True
        """Whether it was read since this was last set to False."""
        self._codec = codec_for(cls)
        self._is_partial = issubclass(cls, PartialObjectMetadata)

    def __repr__(self) -> str:
        return f"<KindCache {self.informer.name} {self.overlay!r}>"

    @property
    def has_synced(self) -> bool:
        """True if there is nothing to wait for: the informer has synced, or it was stopped."""
        return self.informer.has_synced or self.informer.is_stopped

    @property
    def needs_whole_objects(self) -> bool:
        """True if the metadata of a response is not sufficient to represent or to select an object."""
        return not self._is_partial or bool(self.overlay.selection.fields)

    def list(self, namespace: str) -> Iterable[T]:
        """Return the newest known objects of one namespace or of all."""
        return self.overlay.by_index(NAMESPACE_INDEX, namespace) if namespace else self.overlay.list()

    def before(self, request: Request) -> dict[ObjectName, BeforeWrite]:
        """Return the state of the objects that a write may change, before it is sent."""
        if request.verb == "deletecollection":
            names = [object_name(obj) for obj in self.list(request.namespace)]
        else:
            names = [ObjectName(request.namespace, request.name)]
        return {name: self.overlay.before_write(name) for name in names}

    def record(
        self,
        request: Request,
        outcomes: Sequence[Outcome] | None,
        body: bytes,
        before: Mapping[ObjectName, BeforeWrite] | None,
    ) -> None:
        """Record the outcomes of a write; None if it deleted all objects that match, without naming them."""
        states = before or {}
        for effect, name, uid, kind in self._deleted_by(request, states) if outcomes is None else outcomes:
            if effect != "stored":
                self.overlay.deletion(name, uid, before=states.get(name), shows_terminating=effect == "deleting")
            elif self._represents(kind, request):
                # A name that the server has generated has no state.
                self.overlay.mutation(
                    self._codec.decode(body), before=states.get(name), content=lambda: msgspec.json.decode(body)
                )

    def _deleted_by(self, request: Request, states: Mapping[ObjectName, BeforeWrite]) -> Sequence[Outcome]:
        """Return the outcomes of a deletion for the objects that were read before and match its selectors."""
        labels, fields = (request.query.get(name, "") for name in ("labelSelector", "fieldSelector"))
        deleted = selection_of(self._codec.cls, (request.namespace,), labels, fields)
        read = [obj for name in states if (obj := self.overlay.get_by_key(name)) is not None]
        return [
            Outcome("deleting", object_name(obj), obj.metadata.uid)
            for obj in read
            if obj.metadata.uid == states[object_name(obj)].newest
            and deleted.matches(obj.metadata, functools.partial(to_dict, obj))
        ]

    def _represents(self, kind: str, request: Request) -> bool:
        if kind == PARTIAL:
            return self._is_partial
        if self._codec.api.kind in ("", PARTIAL):  # unknown: a subresource may have another kind
            return request.subresource in ("", "status")
        return kind in ("", self._codec.api.kind)
