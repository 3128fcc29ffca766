"""What is known of one kind: what its informer has heard, and what this program has written since."""

import random
import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

from clientgo.backoff import Random
from clientgo.cache import NAMESPACE_INDEX, MutationCache, SharedInformer, last_known
from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.clock import Clock
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject

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
