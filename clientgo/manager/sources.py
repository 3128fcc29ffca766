"""Event sources of controllers: kinds, informers, channels and functions.

A controller starts each source once; from then on the source adds names to the controller's queue. Names, not events,
are queued: any number of changes lead to one reconciliation. An update is mapped twice, for the old and the new object,
because their names may differ.
"""

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from clientgo.cache import SharedInformer
from clientgo.cache.listener import HANDLER_BACKOFF
from clientgo.cache.state import SHOWN_FAILURES, InformerState, ObjectFailure, Synced, count_failure
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger
from clientgo.manager.cache import Cache
from clientgo.manager.eventhandlers import Enqueue, EventHandler, ToRequests, itself
from clientgo.manager.predicates import And, Predicate
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.stop.lifecycle import Detached, Group

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

START_SECONDS = 0.5
"""Seconds that a controller waits for the start of a source before it starts the next one."""


class Source(Protocol):
    """Source of events.

    Two methods are optional. `attach()` is called when a controller is created with the source. `holds(name)` returns
    whether the cache has the reconciled object of that name.
    """

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced | None:
        """Enqueue requests for events until `stop` is set; return at once.

        `predicates` are the controller's, in addition to the source's own. The result, if any, reports whether all
        objects of the initial list have been enqueued.
        """

    def __str__(self) -> str:
        """Return the name for logs."""


class KindSource(Generic[T]):
    """Objects of a kind in the manager's cache."""

    def __init__(
        self, cache: Cache, cls: type[T], to_requests: ToRequests[T] = itself, predicates: tuple[Predicate, ...] = ()
    ) -> None:
        self.cache = cache
        self.kind = cls
        self._mappings: tuple[tuple[ToRequests[T], tuple[Predicate, ...]], ...] = ((to_requests, predicates),)
        self._informer: SharedInformer[T] | None = None

    def joined(self, other: Source) -> "KindSource[T] | None":
        """Return a source with the mappings of both, if they have the same cache and kind: one handler, in their order.

        Two handlers of one controller would enqueue the names of an event in either order.
        """
        if type(self) is not KindSource or type(other) is not KindSource:
            return None
        if other.cache is not self.cache or other.kind is not self.kind:
            return None
        both = KindSource(self.cache, self.kind)
        both._mappings = (*self._mappings, *other._mappings)
        return both

    def holds(self, name: ObjectName) -> bool:
        """Return whether an object of that name is in the cache.

        True before the source is started, and if its objects are mapped to the names of others.
        """
        is_itself = any(to_requests is itself for to_requests, _ in self._mappings)
        return not is_itself or self._informer is None or name in self._informer.indexer

    def __str__(self) -> str:
        return f"kind source: {api_of(self.kind).gvr.group_resource}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> Synced:
        """Add a handler to the kind's informer, which is started if necessary."""
        cached = self.cache.kind_cache(self.kind)
        mappings = [(to_requests, And(*predicates, *further)) for to_requests, further in self._mappings]
        handler = EventHandler(enqueue, *mappings)
        self._informer = cached.informer
        return _listen(cached.informer, handler, resync=cached.resync)


class InformerSource(Generic[T]):
    """Objects of an informer outside the cache; the caller runs it."""

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
        handler = EventHandler(enqueue, (self._to_requests, And(*predicates, *self._predicates)))
        return _listen(self._informer, handler)


def _listen(informer: SharedInformer[T], handler: EventHandler[T], resync: float | None = None) -> Synced:
    return informer.add_event_handler(
        on_initial_add=handler.listed,
        on_add=handler.created,
        on_update=handler.updated,
        on_delete=handler.deleted,
        resync=resync,
        label=handler.name,
    )


class Channel(Generic[T]):
    """Events sent by the program itself, about objects of any kind.

    An event reaches every controller that has this source, also if it is sent before they start. Until the last of them
    has started, events are buffered; then the queue of names is the buffer, and holds each name once. An event whose
    map function or predicate raises is handled again for that controller, after 1 s, 2 s and so on up to 5 min; of
    several such events about one object, the last. See `EventHandler` for what is enqueued at once.
    """

    def __init__(
        self,
        to_requests: ToRequests[T] = itself,
        predicates: tuple[Predicate, ...] = (),
        *,
        name: str = "channel",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._to_requests = to_requests
        self._predicates = predicates
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        # Guarded by _lock: the number of controllers that have not started, and what was sent before all of them had.
        self._unstarted = 0
        self._early: list[T] = []
        self._receivers: list[_Receiver[T]] = []

    def __str__(self) -> str:
        return f"channel source: {self._name}"

    def state(self) -> InformerState:
        """Return a snapshot with the objects whose map function or predicate fails, in the form of an informer's."""
        with self._lock:
            receivers = list(self._receivers)
        failures = [failure for receiver in receivers for failure in receiver.failures()]
        return InformerState(
            name=str(self),
            kind="",
            synced=True,
            failing=len(failures),
            failures=tuple(failures[:SHOWN_FAILURES]),
        )

    def send(self, obj: T) -> None:
        """Reconcile the names that `obj` maps to; never blocks."""
        object_name(obj)  # raises for anything that is not an object
        with self._lock:
            receivers = list(self._receivers)
            if self._unstarted or not receivers:
                self._early.append(obj)
        for receiver in receivers:
            receiver.deliver(obj)

    def attach(self) -> None:
        """Buffer events for another controller until it starts the source."""
        with self._lock:
            self._unstarted += 1

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> None:
        """Enqueue the requests of earlier and later events."""
        handler = EventHandler(enqueue, (self._to_requests, And(*predicates, *self._predicates)))
        receiver = _Receiver(handler, str(self), stop, self._clock)
        with self._lock:
            self._receivers.append(receiver)
            self._unstarted = max(0, self._unstarted - 1)
            early = self._early.copy()
            if not self._unstarted:
                self._early.clear()
        for obj in early:
            receiver.deliver(obj)


class _FailedEvent(NamedTuple, Generic[T]):
    """Last event about an object that failed, with the number of failures in a row and the time of the retry."""

    obj: T
    error: str
    failures: int
    due: float


class _Receiver(Generic[T]):
    """One controller's end of a channel: delivers events, again with backoff if that fails."""

    def __init__(self, handler: EventHandler[T], source: str, stop: threading.Event, clock: Clock) -> None:
        self._handler = handler
        self._source = source
        self._clock = clock
        self._group = Group(stop=stop, clock=clock)
        self._lock = threading.Lock()
        # Guarded by _lock: the events to be handled again, and whether a thread does that.
        self._failed: dict[tuple[type, ObjectName], _FailedEvent[T]] = {}
        self._retrying = False

    def failures(self) -> list[ObjectFailure]:
        """Return the objects whose last event is to be handled again."""
        with self._lock:
            return [ObjectFailure(self._handler.name, name, event.error) for (_, name), event in self._failed.items()]

    def deliver(self, obj: T) -> None:
        """Enqueue the requests of an event, now or after a retry."""
        key = (type(obj), object_name(obj))
        try:
            run_callback(self._handler.happened, obj)
        except CallbackFailed as error:
            self._retry_later(key, obj, error)
            return
        with self._lock:
            if key in self._failed and self._failed[key].obj is obj:
                del self._failed[key]

    def _retry_later(self, key: tuple[type, ObjectName], obj: T, error: CallbackFailed) -> None:
        now = self._clock.now()
        with self._lock:
            before = self._failed.get(key)
            failures, due = (0, now) if before is None else (before.failures, before.due)
            if due <= now:  # otherwise the retry of an earlier event is that of this one too
                due = now + HANDLER_BACKOFF.delay(failures)
            self._failed[key] = _FailedEvent(obj, str(error), failures + 1, due)
            start, self._retrying = not self._retrying, True
        kind, name = key[0].__name__, str(key[1])
        count_failure(kind, "handler")
        facts = {"source": self._source, "kind": kind, "object": name, "err": error, "retry_in": due - now}
        if not failures:
            log.error("map function or predicate raised; will retry", exc_info=error.__cause__, extra=facts)
        else:
            log.debug("map function or predicate raised again; will retry", extra=facts)
        if start:
            self._group.start(self._retry, self._group.stop_event, name="channel-retries")

    def _retry(self, stop: threading.Event) -> None:
        """Deliver again what is due, until nothing is left; a thread that most programs never need."""
        while not self._clock.sleep(stop, HANDLER_BACKOFF.duration):
            with self._lock:
                due = [event.obj for event in self._failed.values() if event.due <= self._clock.now()]
            for obj in due:
                self.deliver(obj)
            with self._lock:
                if not self._failed:
                    self._retrying = False
                    return


class FuncSource:
    """Source that a function starts; it is called once with the function that enqueues names."""

    def __init__(self, function: Callable[[Enqueue, threading.Event], object]) -> None:
        self._function = function

    def __str__(self) -> str:
        return f"func source: {getattr(self._function, '__qualname__', self._function)}"

    def start(self, enqueue: Enqueue, predicates: tuple[Predicate, ...], stop: threading.Event) -> None:
        """Call the function, which must return soon; predicates do not apply because there are no objects."""
        self._function(enqueue, stop)


class SourceStart(Detached[Synced | None]):
    """Start of one source; it has synced once the start has returned, and the source itself has synced."""

    def __repr__(self) -> str:
        return f"<SourceStart {self.name}{self.hint}>"

    def wait_a_moment(self, controller: str) -> None:
        """Wait a moment for the start, and raise its exception."""
        if self.wait(START_SECONDS, lambda: False):
            self.result()
        else:
            facts = {"controller": controller, "source": self.name, "seconds": START_SECONDS}
            log.warning("source has not returned from its start; the others go on", extra=facts)

    @property
    def has_synced(self) -> bool:
        """True once the source has synced, or its start has failed."""
        if not self.ended:
            return False
        try:
            synced = self.result()
        except BaseException:  # noqa: BLE001  # `wait_a_moment` or `raise_failure` raises it
            return True
        return synced is None or synced.has_synced

    @property
    def hint(self) -> str:
        """Addition to the name in an error: whether the start has returned."""
        return "" if self.ended else " (its start has not returned)"

    def raise_failure(self) -> None:
        """Raise the exception of a start that has failed."""
        if self.ended:
            self.result()
