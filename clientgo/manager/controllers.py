"""Controllers: any number of workers call `reconcile` for queued names, never two of them for the same name at once.

A request is only a name: `reconcile` looks at the current state and does not learn which event happened. Returning None
or `Result()` means that nothing happens until the next event; an exception means a retry with backoff.
"""

import inspect
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from clientgo.cache.state import Synced, wait_for
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConfigError
from clientgo.lifecycle import Group
from clientgo.log import get_logger
from clientgo.manager.cache import CacheNotSynced
from clientgo.manager.options import SYNC_SECONDS
from clientgo.manager.predicates import Predicate
from clientgo.manager.requesters import limited
from clientgo.manager.sources import KindSource, Source
from clientgo.meta.names import ObjectName
from clientgo.metrics import safe_provider
from clientgo.reconcile import Attempt, Attempts, LogFields
from clientgo.workqueue import (
    NORMAL,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    RateLimiter,
    RateLimitingQueue,
    ShutDown,
)

log = get_logger(__name__)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a successful reconciliation.

    With `requeue_after` seconds above 0 the object is reconciled again after that time. `priority` is its priority
    then; by default the one it was taken with. Only a priority queue uses it.
    """

    requeue_after: float = 0.0
    priority: int | None = None


class TerminalError(ClientGoError):
    """An error that a retry cannot fix: the object is not requeued. It is counted, and logged with its cause."""


class RequestReconciler(Protocol):
    """Makes the current state match the desired one, for one object at a time."""

    def reconcile(self, request: ObjectName) -> Result | None:
        """Reconcile the object of that name, which may be deleted; exceptions lead to a retry."""


Reconcile = Callable[[ObjectName], Result | None]
"""`RequestReconciler.reconcile`, or a function with this signature."""

_NOTHING = Result()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of a controller; times are seconds.

    `expected` are errors of the reconciler that are not bugs: they are retried as others are, and logged without a
    traceback. Without `recover_panic`, any other error outside the library's ends the program. With `warm_up`, standbys
    fill their queue already. `reconciliation_timeout` limits all requests of one reconciliation, including retries and
    waits; 0 for no limit. `log_fields(request)` are added to each line logged meanwhile, besides kind, namespace, name
    and reconcile_id.
    """

    workers: int = 1
    expected: tuple[type[Exception], ...] = ()
    limiter: RateLimiter[ObjectName] | None = None
    priority_queue: bool = True
    needs_leader_election: bool = True
    warm_up: bool = True
    recover_panic: bool = True
    cache_sync_timeout: float = SYNC_SECONDS
    reconciliation_timeout: float = 0.0
    log_fields: LogFields | None = None


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
        why: Callable[[], str] = lambda: "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`why` returns the reason if the sources do not sync in time."""
        self.name = name
        self.options = options if options is not None else ControllerOptions()
        self.needs_leader_election = self.options.needs_leader_election
        self.sources = sources
        self._reconcile = reconcile
        self._predicates = predicates
        self._why = why
        self._clock = clock
        self.attempts = Attempts(
            kind,
            controller=name,
            expected=self.options.expected,
            log_fields=self.options.log_fields,
            clock=clock,
        )
        self._timeouts = safe_provider().counter(
            "controller_runtime_reconcile_timeouts_total", "Reconciliations that ran out of time", {"controller": name}
        )
        self.queue: RateLimitingQueue[ObjectName] = new_queue(name, self.options, clock)
        self._warming = threading.Lock()
        # Guarded by _warming: sources that must have synced before workers start; None until they are started.
        self._synced: dict[str, Synced] | None = None

    def __repr__(self) -> str:
        return f"<Controller {self.name} {self.queue!r}>"

    def is_cached(self, request: ObjectName) -> bool:
        """Return whether the object is in the cache; True if the controller has no cache of its own kind."""
        return all(source.holds(request) for source in self.sources if isinstance(source, KindSource) and source.is_own)

    def enqueue(self, request: ObjectName, priority: int = NORMAL) -> None:
        """Queue the object of that name."""
        self.queue.add(request, priority=priority)

    def warm_up(self, stop: threading.Event) -> None:
        """Start the sources, so that the queue fills before workers start. Idempotent."""
        with self._warming:
            if self._synced is not None:
                return
            self._synced = {}
            for source in self.sources:
                log.info("Starting EventSource", extra={"controller": self.name, "source": str(source)})
                synced = source.start(self.enqueue, self._predicates, stop)
                if synced is not None:
                    name = str(source)
                    self._synced[name if name not in self._synced else f"{name} ({len(self._synced)})"] = synced

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
        workers = self.options.workers
        log.info("Starting workers", extra={"controller": self.name, "worker count": workers})
        self.attempts.set_workers(workers)
        # If a worker dies, the others end too: fewer workers would go unnoticed.
        group = Group(stop=stop, clock=self._clock)
        for number in range(workers):
            group.start(self.run_worker, stop, name=f"{self.name}-worker-{number}")
        self.attempts.wait(stop)
        log.info("Shutdown signal received, waiting for all workers to finish", extra={"controller": self.name})
        self.queue.shut_down()
        group.join()
        log.info("All workers finished", extra={"controller": self.name})

    def run_worker(self, stop: threading.Event) -> None:
        """Reconcile one object after another until `stop` is set; drop names left in the queue.

        There may be thousands of them, and the next replica starts with all objects.
        """
        try:
            while not stop.is_set():
                self.process_next()
        except ShutDown:
            return

    def process_next(self) -> None:
        """Reconcile the next object in the queue, and requeue it according to the result."""
        with (
            self.queue.processing() as request,
            self.attempts.at(request, self.queue.trigger(request)) as attempt,
        ):
            began = self._clock.now()
            try:
                with limited(self.options.reconciliation_timeout, clock=self._clock):
                    result = checked(self._reconcile(request))
            except TerminalError as error:
                attempt.failed_for_good(error)
                # The next event starts with a fresh backoff.
                self.queue.forget(request)
            except Exception as error:  # noqa: BLE001  # an error with one object must not end the worker
                # Count any error after the time limit, such as a request that was cut short.
                if 0 < self.options.reconciliation_timeout <= self._clock.now() - began:
                    self._timeouts.inc()
                self._failed(request, attempt, error)
            else:
                if result.requeue_after > 0:
                    attempt.succeeded("requeue_after", requeue_in=result.requeue_after)
                    self.queue.forget(request)
                    self.queue.add_after(request, result.requeue_after, priority=result.priority)
                else:
                    attempt.succeeded()
                    self.queue.forget(request)

    def _failed(self, request: ObjectName, attempt: Attempt, error: Exception) -> None:
        if attempt.is_bug(error) and not self.options.recover_panic:
            attempt.failed(error)
            raise error
        attempt.failed(error, retry_in=self.queue.add_rate_limited(request), failures=self.queue.num_requeues(request))

    def _wait(self, stop: threading.Event) -> bool:
        timeout = self.options.cache_sync_timeout
        done = wait_for(stop, "", self._synced or {}, timeout=timeout, clock=self._clock)
        if not done and not stop.is_set():
            missing = ", ".join(done.missing)
            raise CacheNotSynced(f"controller {self.name}: not synced within {timeout:g} s: {missing}; {self._why()}")
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

    Two controllers with one name would share their metrics.
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
    found = method if method is not None or not callable(reconciler) else reconciler
    if found is None:
        raise ConfigError(f"{type(reconciler).__qualname__} is not a reconciler: it has no method reconcile(request)")
    check_signature(found, "request")
    return found


def check_signature(function: Callable[..., object], *arguments: str) -> None:
    """Raise ConfigError unless the function is a plain one that can be called with these arguments."""
    name = getattr(function, "__qualname__", str(function))
    if inspect.iscoroutinefunction(function):
        raise ConfigError(f"{name} is a coroutine function: define it with def, workers are threads")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ConfigError(f"{name} must have the arguments ({', '.join(arguments)}): {error}") from None
    except ValueError:
        return  # a built-in function without a signature


def checked(result: object) -> Result:
    """Return the result of `reconcile`, with `Result()` for None; raise TypeError if it is invalid."""
    if result is None:
        return _NOTHING
    if not isinstance(result, Result):
        raise TypeError(f"reconcile must return a Result or None, got {type(result).__qualname__}")
    if not isinstance(result.requeue_after, int | float):
        raise TypeError(f"requeue_after must be a number of seconds, got {result.requeue_after!r}")
    return result
