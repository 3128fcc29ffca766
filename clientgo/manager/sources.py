"""Where events come from: the objects of a kind, an informer of one's own, a channel, a function.

A source is started once, by its controller, and puts names into the controller's queue from then on.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from clientgo.cache import SharedInformer
from clientgo.cache.sync import Synced
from clientgo.manager.cache import Cache
from clientgo.manager.enqueueing import Enqueue, EventHandler, ToRequests, itself
from clientgo.manager.predicates import And, Predicate
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of

T = TypeVar("T", bound=ApiObject)


class Source(Protocol):
    """Where events come from."""

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced | None:
        """Put into the queue what events lead to, until `stop` is set; returns at once.

        `predicates` are the controller's, beside the source's own. The result, if any, tells whether all that was there
        from the start has been put in.
        """

    def __str__(self) -> str:
        """What the log calls it."""


class KindSource(Generic[T]):
    """The objects of a kind, as the manager's cache sees them."""

    def __init__(
        self, cache: Cache, cls: type[T], to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = ()
    ) -> None:
        self._cache = cache
        self._cls = cls
        self._to_requests = to_requests
        self._predicates = predicates

    def __str__(self) -> str:
        return f"kind source: {api_of(self._cls).gvr.group_resource}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced:
        """Add a handler to the kind's informer, which starts if it does not run yet."""
        known = self._cache.known(self._cls)
        handler = EventHandler(self._to_requests, And(*predicates, *self._predicates), enqueue)
        known.heard_by_handler()
        return known.informer.add_event_handler(
            on_initial_add=_after(known.memory.on_add_or_update, handler.listed),
            on_add=_after(known.memory.on_add_or_update, handler.created),
            on_update=_after(known.memory.on_update, handler.updated),
            on_delete=_after(known.forget, handler.deleted),
            resync=known.resync,
        )


class InformerSource(Generic[T]):
    """The objects of an informer that is not the cache's; whoever made it runs it."""

    def __init__(
        self, informer: SharedInformer[T], to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = ()
    ) -> None:
        self._informer = informer
        self._to_requests = to_requests
        self._predicates = predicates

    def __str__(self) -> str:
        return f"informer source: {self._informer.name}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced:
        """Add a handler to the informer."""
        handler = EventHandler(self._to_requests, And(*predicates, *self._predicates), enqueue)
        return self._informer.add_event_handler(
            on_initial_add=handler.listed,
            on_add=handler.created,
            on_update=handler.updated,
            on_delete=handler.deleted,
        )


class Channel(Generic[T]):
    """Events that the program itself sends, about objects of whatever kind.

    Nothing waits in it once it is started: a queue of names is buffer enough, and holds each name once.
    """

    def __init__(
        self, to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = (), *, name: str = "channel"
    ) -> None:
        self._to_requests = to_requests
        self._predicates = predicates
        self._name = name
        self._lock = threading.Lock()
        # Guarded by _lock: what was sent before the controller was there to hear of it.
        self._early: list[T] = []
        self._handlers: list[EventHandler[T]] = []

    def __str__(self) -> str:
        return f"channel source: {self._name}"

    def send(self, obj: T) -> None:
        """Have reconciled what `obj` leads to; never waits."""
        with self._lock:
            handlers = list(self._handlers)
            if not handlers:
                self._early.append(obj)
        for handler in handlers:
            handler.happened(obj)

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> None:
        """Pass on what was sent, and what will be."""
        handler = EventHandler(self._to_requests, And(*predicates, *self._predicates), enqueue)
        with self._lock:
            self._handlers.append(handler)
            early, self._early = self._early, []
        for obj in early:
            handler.happened(obj)


class FuncSource:
    """Whatever a function starts: it is called once, with what puts names into the queue."""

    def __init__(self, function: Callable[[Enqueue, threading.Event], object]) -> None:
        self._function = function

    def __str__(self) -> str:
        return f"func source: {getattr(self._function, '__qualname__', self._function)}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> None:
        """Call the function, which must return soon; predicates are not asked, as there are no objects."""
        self._function(enqueue, stop)


def _after(forget: Callable[..., object], handle: Callable[..., object]) -> Callable[..., None]:
    @functools.wraps(handle)
    def both(*objects: Any) -> None:
        # In this order, or the reconciliation that the event leads to would still read what was written.
        forget(*objects)
        handle(*objects)

    return both
