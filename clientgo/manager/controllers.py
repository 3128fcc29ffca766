"""Controllers: any number of workers call `reconcile` for queued names, never two of them for the same name at once.

A request is only a name: `reconcile` looks at the current state and does not learn which event happened. Returning None
or `Result()` means that nothing happens until the next event; an exception means a retry with backoff.
"""

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from clientgo.cache.state import wait_for
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.manager.cache import CacheNotSynced
from clientgo.manager.eventhandlers import checked_request
from clientgo.manager.options import SYNC_SECONDS, check_least
from clientgo.manager.predicates import Predicate
from clientgo.manager.requesters import finished_in_time, limited
from clientgo.manager.sources import Source, SourceStart
from clientgo.meta.names import ObjectName
from clientgo.metrics import Counter, safe_provider
from clientgo.reconcile.attempts import Attempts, LogFields
from clientgo.reconcile.workers import GiveUp, Reconcile, Result, TerminalError, Workers
from clientgo.stop.lifecycle import Group, MaybeCoroutine
from clientgo.stop.stopping import scope_of
from clientgo.workqueue import NORMAL, ItemExponentialFailureRateLimiter, PriorityQueue, RateLimiter, RateLimitingQueue

log = get_logger(__name__)


class RequestReconciler(Protocol):
    """Makes the current state match the desired one, for one object at a time."""

    def reconcile(self, request: ObjectName) -> MaybeCoroutine[Result | None]:
        """Reconcile the object of that name, which may be deleted; exceptions lead to a retry."""


@dataclass(frozen=True, kw_only=True)
class ControllerOptions:
    """Options of a controller, by `ControllerBuilder.with_options` and as class keywords of a `Reconciler`."""

    workers: int = 1
    """Number of objects reconciled concurrently."""
    expected: Iterable[type[Exception]] = ()
    """Errors of the reconciler that are not bugs: they are retried as others are, and logged without a traceback."""
    limiter: RateLimiter[ObjectName] | None = None
    """Delays of retries; by default 5 ms, doubled up to 1000 s."""
    priority_queue: bool = True
    needs_leader_election: bool = True
    warm_up: bool = True
    """Fill the queue on standbys already."""
    recover_panic: bool = True
    """Retry after any error; otherwise one outside the library's and `expected` ends the program."""
    cache_sync_timeout: float = SYNC_SECONDS
    """Seconds until the caches must have synced."""
    reconciliation_timeout: float = 0.0
    """Seconds for all requests of one reconciliation, including retries and waits; 0 for no limit."""
    retries: int | None = None
    """Failed retries in a row after which the object waits for its next event; None for no limit."""
    give_up: GiveUp | None = None
    """Called with the request and the error when the retries are used up."""
    log_fields: LogFields | None = None
    """Fields of a request for each line logged meanwhile, besides kind, namespace, name and reconcile_id."""

    def check(self) -> None:
        """Raise ConfigError if a value is out of range or of the wrong type."""
        minima = {"workers": 1, "reconciliation_timeout": 0, "cache_sync_timeout": 0, "retries": 0}
        for name, least in minima.items():
            check_least(name, getattr(self, name), least)
        check_list("expected", self.expected)


def check_list(name: str, value: object) -> None:
    """Raise ConfigError if an option cannot be iterated over."""
    if not isinstance(value, Iterable):
        raise ConfigError(f"{name} must be a list, got {value!r}")


def timeouts_of(controller: str) -> Counter:
    """Return the counter of a controller's reconciliations that ran out of time."""
    name, labels = "controller_runtime_reconcile_timeouts_total", {"controller": controller}
    return safe_provider().counter(name, "Reconciliations that ran out of time", labels)


class Controller:
    """Controller created by `clientgo.manager.controller(manager)` and run by the manager."""

    def __init__(
        self,
        name: str,
        kind: str,
        reconcile: Reconcile,
        sources: tuple[Source, ...],
        *,
        predicates: tuple[Predicate, ...] = (),
        options: ControllerOptions | None = None,
        describe_unsynced: Callable[[], str] = lambda: "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`describe_unsynced` returns the reason if the sources do not sync in time."""
        self.name = name
        self.options = options if options is not None else ControllerOptions()
        self.needs_leader_election = self.options.needs_leader_election
        self.sources = sources
        for source in sources:
            if attach := getattr(source, "attach", None):
                attach()
        self._reconcile = reconcile
        self._predicates = predicates
        self._describe_unsynced = describe_unsynced
        self._clock = clock
        self.attempts = Attempts(
            kind,
            controller=name,
            expected=tuple(self.options.expected),
            log_fields=self.options.log_fields,
            clock=clock,
        )
        self._timeouts = timeouts_of(name)
        self.queue: RateLimitingQueue[ObjectName] = new_queue(name, self.options, clock)
        self._workers = Workers(
            self._limited,
            self.queue,
            self.attempts,
            recover_panic=self.options.recover_panic,
            retries=self.options.retries,
            give_up=self.options.give_up,
            clock=clock,
        )
        self._threads = Group()  # of the sources; not joined, because one that blocks cannot be interrupted
        self.ready = threading.Event()
        """Event that is set once the sources have synced."""
        self._warming = threading.Lock()
        self._starts: list[SourceStart] = []  # guarded by _warming: one for each source, in their order
        self._stop: threading.Event | None = None  # guarded by _warming: set once the sources are started

    def __repr__(self) -> str:
        return f"<Controller {self.name} {self.queue!r}>"

    def is_cached(self, request: ObjectName) -> bool:
        """Return whether the object is in the cache; True if the controller has no cache of its own kind."""
        return all(holds(request) for holds in (getattr(source, "holds", None) for source in self.sources) if holds)

    def enqueue(self, request: ObjectName, priority: int = NORMAL) -> None:
        """Queue the object of that name; TypeError unless it is an `ObjectName`."""
        self.queue.add(checked_request(request), priority=priority)

    def watch(self, source: Source) -> None:
        """Add a source; start it if those of the controller are started, as for a kind that only an object names.

        Each call adds one, also of a kind that is watched already. Raises what the source's start raises.
        """
        with self._warming:
            self.sources = (*self.sources, source)
            stop = self._stop
        if stop is not None:
            self.warm_up(stop)

    def warm_up(self, stop: threading.Event) -> None:
        """Start the sources that have not started yet, so that the queue fills before workers start.

        A source whose start blocks is left to its thread.
        """
        with self._warming:
            self._stop = stop
            for source in self.sources[len(self._starts) :]:
                log.info("Starting EventSource", extra={"controller": self.name, "source": str(source)})
                call = partial(source.start, self.enqueue, self._predicates, stop)
                start = SourceStart(call, name=str(source), clock=self._clock)
                scope_of(stop).add(start, start.cancel)
                self._threads.start(start.run, name=f"{self.name}-source-{len(self._starts)}")
                start.wait_a_moment(self.name)
                self._starts.append(start)

    def start(self, stop: threading.Event) -> None:
        """Reconcile until `stop` is set; return when every worker has finished its object.

        Raises:
            CacheNotSynced: a source did not sync in time.
            BaseException: the reconciler's error, if panics are not recovered.
        """
        log.info("Starting Controller", extra={"controller": self.name})
        self.warm_up(stop)
        if not self._wait(stop):
            return
        self.ready.set()
        workers = self.options.workers
        log.info("Starting workers", extra={"controller": self.name, "worker count": workers})
        with self._workers.running(workers, stop, name=f"{self.name}-worker"):
            self.attempts.wait(stop)
            log.info("Shutdown signal received, waiting for all workers to finish", extra={"controller": self.name})
        log.info("All workers finished", extra={"controller": self.name})

    def process_next(self) -> None:
        """Reconcile the next object in the queue, and requeue it according to the result."""
        self._workers.process_next()

    def _limited(self, request: ObjectName) -> Result | None:
        began, timeout = self._clock.now(), self.options.reconciliation_timeout
        try:
            with limited(timeout, clock=self._clock):
                return finished_in_time(self._reconcile(request))
        except TerminalError:
            raise
        except BaseException:
            # Count any error after the time limit, such as a request that was cut short.
            if 0 < timeout <= self._clock.now() - began:
                self._timeouts.inc()
            raise

    def _wait(self, stop: threading.Event) -> bool:
        timeout = self.options.cache_sync_timeout
        synced: dict[str, SourceStart] = {}
        for start in self._starts:
            synced[start.name if start.name not in synced else f"{start.name} ({len(synced)})"] = start
        done = wait_for(stop, "", synced, timeout=timeout, clock=self._clock)
        for start in self._starts:
            start.raise_failure()
        if not done and not stop.is_set():
            missing = ", ".join(f"{name}{synced[name].hint}" for name in done.missing)
            raise CacheNotSynced(
                f"controller {self.name}: not synced within {timeout:g} s: {missing}; {self._describe_unsynced()}"
            )
        return bool(done)


def new_queue(name: str, options: ControllerOptions, clock: Clock) -> RateLimitingQueue[ObjectName]:
    """Return a priority queue with a limiter per object, or a plain queue with client-go's limiter.

    In both an event replaces a delay: after a reconciliation without a requeue, nothing happens until the next event.
    """
    if options.priority_queue:
        limiter = options.limiter
        if limiter is None:
            limiter = ItemExponentialFailureRateLimiter(0.005, 1000.0)
        return PriorityQueue(limiter, name=name, clock=clock)
    return RateLimitingQueue(options.limiter, name=name, clock=clock, merge_delays=True)


_NAMES: "weakref.WeakValueDictionary[str, Controller]" = weakref.WeakValueDictionary()

_NAMES_LOCK = threading.Lock()


def reserve_name(controller: Controller) -> None:
    """Reserve the controller's name until `release_name` or its garbage collection; ConfigError if it is in use.

    Two controllers with one name would share their metrics. Not called with SkipNameValidation (`named(unique=False)`).
    """
    with _NAMES_LOCK:
        if _NAMES.setdefault(controller.name, controller) is not controller:
            raise ConfigError(
                f'a controller named "{controller.name}" already exists in this process: rename this one with .named()'
            )


def release_name(controller: Controller) -> None:
    """Release the name if the controller has reserved it."""
    with _NAMES_LOCK:
        if _NAMES.get(controller.name) is controller:
            del _NAMES[controller.name]


def reconcile_of(reconciler: RequestReconciler | Reconcile) -> Reconcile:
    """Return the function of a reconciler, which may be a function itself.

    Raises:
        ConfigError: it is neither, or cannot be called with a request.
    """
    method: Reconcile | None = getattr(reconciler, "reconcile", None)
    reconcile = method if method is not None or not callable(reconciler) else reconciler
    if reconcile is None:
        raise ConfigError(f"{type(reconciler).__qualname__} is not a reconciler: it has no method reconcile(request)")
    check_signature(reconcile, "request", coroutine=True)
    return reconcile


def check_signature(function: Callable[..., object], *arguments: str, coroutine: bool = False) -> None:
    """Raise ConfigError unless the function can be called with these arguments; it may be a `coroutine` function."""
    name = getattr(function, "__qualname__", None) or repr(function)
    if not callable(function):
        raise ConfigError(f"{name} is not a function with the arguments ({', '.join(arguments)})")
    if inspect.iscoroutinefunction(function) and not coroutine:
        raise ConfigError(f"{name} is a coroutine function: define it with def, events do not wait for it")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ConfigError(f"{name} must have the arguments ({', '.join(arguments)}): {error}") from None
    except ValueError:
        return  # a built-in function without a signature
