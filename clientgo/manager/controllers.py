"""Calls `reconcile` for one name after another, with any number of workers, one name never in two of them at once."""

import logging
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from clientgo.cache.state import Synced, wait_for
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.lifecycle import Group
from clientgo.manager.cache import CacheNotSynced
from clientgo.manager.options import SYNC_SECONDS
from clientgo.manager.predicates import Predicate
from clientgo.manager.priority import NORMAL, PriorityQueue
from clientgo.manager.requesters import limited
from clientgo.manager.sources import Source
from clientgo.meta.names import ObjectName
from clientgo.metrics import provider
from clientgo.reconcile import Attempt, Attempts, LogFields
from clientgo.workqueue import (
    ItemExponentialFailureRateLimiter,
    RateLimiter,
    RateLimitingQueue,
    ShutDown,
    default_controller_rate_limiter,
)

log = logging.getLogger(__name__)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a reconciliation that went well goes on.

    With `requeue_after` seconds above 0 the object is looked at again then, and its failures are forgotten. `priority`
    is what it waits with; by default the one it came with. Only a priority queue heeds it.
    """

    requeue_after: float = 0.0
    priority: int | None = None


class TerminalError(ClientGoError):
    """Trying again can't help: the object waits until something changes. Counted, and logged with its cause."""


class Reconciler(Protocol):
    """Makes what is what it should be, for one object at a time."""

    def reconcile(self, request: ObjectName) -> Result | None:
        """Look at the object of that name, which may be gone, and act; what it raises is tried again."""


Reconcile = Callable[[ObjectName], Result | None]
"""`Reconciler.reconcile`, or a function that does the same."""

_NOTHING = Result()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """How a controller works; times are seconds.

    `expected` are errors of the reconciler's own that are no bugs: they are retried like every error, and logged
    without a traceback. Without `recover_panic`, any other that is not the library's ends the program. With `warm_up`,
    a replica that stands by fills its queue already. `reconciliation_timeout` limits the requests of one reconciliation
    in all, with their retries and waits; 0 for no limit. `log_fields(request)` is what each line logged meanwhile
    carries, besides kind, namespace, name and reconcile_id.
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
    """Made by `clientgo.manager.builder.controller(manager)`; run by the manager."""

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
        """`why` is asked for a reason if the sources don't sync in time."""
        self.name = name
        self.options = options if options is not None else ControllerOptions()
        self.needs_leader_election = self.options.needs_leader_election
        self._reconcile = reconcile
        self._sources = sources
        self._predicates = predicates
        self._why = why
        self._clock = clock
        told = self.options
        self._attempts = Attempts(
            kind, controller=name, expected=told.expected, log_fields=told.log_fields, clock=clock
        )
        self._timeouts = provider().counter(
            "controller_runtime_reconcile_timeouts_total", "Reconciliations that ran out of time", {"controller": name}
        )
        self.queue: RateLimitingQueue[ObjectName] = new_queue(name, self.options, clock)
        self._warming = threading.Lock()
        # Guarded by _warming: what has to be put into the queue before workers begin; None until sources are started.
        self._synced: dict[str, Synced] | None = None

    def __repr__(self) -> str:
        return f"<Controller {self.name} {self.queue!r}>"

    def enqueue(self, request: ObjectName, priority: int = NORMAL) -> None:
        """Have the object of that name reconciled."""
        if isinstance(self.queue, PriorityQueue):
            self.queue.add(request, priority=priority)
        else:
            self.queue.add(request)

    def warm_up(self, stop: threading.Event) -> None:
        """Start the sources, so that the queue fills before there are workers. May be called again."""
        with self._warming:
            if self._synced is not None:
                return
            self._synced = {}
            for source in self._sources:
                log.info("Starting EventSource", extra={"controller": self.name, "source": str(source)})
                synced = source.start(self.enqueue, self._predicates, stop)
                if synced is not None:
                    name = str(source)
                    self._synced[name if name not in self._synced else f"{name} ({len(self._synced)})"] = synced

    def start(self, stop: threading.Event) -> None:
        """Reconcile until `stop` is set; returns when every worker has finished the object it was at.

        Raises:
            CacheNotSynced: what is to be reconciled was not known in time.
            BaseException: what the reconciler raised, if it is not to be recovered from.
        """
        log.info("Starting Controller", extra={"controller": self.name})
        self.warm_up(stop)
        if not self._wait(stop):
            return
        workers = self.options.workers
        log.info("Starting workers", extra={"controller": self.name, "worker count": workers})
        self._attempts.set_workers(workers)
        # Should a worker die, the others end too: fewer workers would go unnoticed.
        group = Group(stop=stop, clock=self._clock)
        for number in range(workers):
            group.start(self.run_worker, stop, name=f"{self.name}-worker-{number}")
        stop.wait()
        log.info("Shutdown signal received, waiting for all workers to finish", extra={"controller": self.name})
        self.queue.shut_down()
        group.join()
        log.info("All workers finished", extra={"controller": self.name})

    def run_worker(self, stop: threading.Event) -> None:
        """Reconcile one object after another until `stop` is set and the queue shut down.

        What still is in the queue then is left: there may be thousands, and whoever works next begins with all of them.
        """
        try:
            while not stop.is_set():
                self.process_next()
        except ShutDown:
            return

    def process_next(self) -> None:
        """Reconcile the next object in the queue, and put it back as its result asks."""
        with self.queue.processing() as request, self._attempts.at(request) as attempt:
            began = self._clock.now()
            try:
                with limited(self.options.reconciliation_timeout, clock=self._clock):
                    result = checked(self._reconcile(request))
            except TerminalError as error:
                attempt.failed_for_good(error)
                # Whatever changes then is a new beginning, and not the next of many failures.
                self.queue.forget(request)
            except Exception as error:  # noqa: BLE001  # whatever went wrong with one object must not end the worker
                # Whatever it failed of, a request that was cut short for example: its time was up.
                if 0 < self.options.reconciliation_timeout <= self._clock.now() - began:
                    self._timeouts.inc()
                self._failed(request, attempt, error)
            else:
                if result.requeue_after > 0:
                    attempt.succeeded("requeue_after")
                    self.queue.forget(request)
                    self._later(request, result.requeue_after, result.priority)
                else:
                    attempt.succeeded()
                    self.queue.forget(request)

    def _failed(self, request: ObjectName, attempt: Attempt, error: Exception) -> None:
        attempt.failed(error)
        if attempt.is_bug and not self.options.recover_panic:
            raise error
        self.queue.add_rate_limited(request)

    def _later(self, request: ObjectName, delay: float, priority: int | None) -> None:
        if isinstance(self.queue, PriorityQueue):
            self.queue.add_after(request, delay, priority=priority)
        else:
            self.queue.add_after(request, delay)

    def _wait(self, stop: threading.Event) -> bool:
        timeout = self.options.cache_sync_timeout
        done = wait_for(stop, "", self._synced or {}, timeout=timeout, clock=self._clock)
        if not done and not stop.is_set():
            missing = ", ".join(done.missing)
            raise CacheNotSynced(f"controller {self.name}: not synced within {timeout:g} s: {missing}; {self._why()}")
        return bool(done)


def new_queue(name: str, options: ControllerOptions, clock: Clock) -> RateLimitingQueue[ObjectName]:
    """A controller's queue: by priorities with a limiter for each object, or plain with client-go's limiter."""
    if options.priority_queue:
        limiter = options.limiter or ItemExponentialFailureRateLimiter(0.005, 1000.0)
        return PriorityQueue(limiter, name=name, clock=clock)
    return RateLimitingQueue(options.limiter or default_controller_rate_limiter(clock=clock), name=name, clock=clock)


_NAMES: "weakref.WeakValueDictionary[str, Controller]" = weakref.WeakValueDictionary()

_NAMES_LOCK = threading.Lock()


def reserve_name(controller: Controller) -> None:
    """Give the controller its name until `release_name`, or until it is gone; ValueError if another has it.

    Two controllers of one name would count with the same metrics.
    """
    with _NAMES_LOCK:
        if _NAMES.setdefault(controller.name, controller) is not controller:
            raise ValueError(
                f'there is a controller named "{controller.name}" in this process already: name this one by .named()'
            )


def release_name(controller: Controller) -> None:
    """Give the name back, if it is the controller's."""
    with _NAMES_LOCK:
        if _NAMES.get(controller.name) is controller:
            del _NAMES[controller.name]


def reconcile_of(reconciler: Reconciler | Reconcile) -> Reconcile:
    """The function behind either of the two ways to give one."""
    method = getattr(reconciler, "reconcile", None)
    if method is not None:
        found: Reconcile = method
        return found
    if not callable(reconciler):
        raise TypeError(f"{type(reconciler).__qualname__} is no reconciler: it has no method reconcile(request)")
    return reconciler


def checked(result: object) -> Result:
    """What `reconcile` returned, None being a `Result()`; TypeError if it is neither, or makes no sense."""
    if result is None:
        return _NOTHING
    if not isinstance(result, Result):
        raise TypeError(f"reconcile returned a {type(result).__qualname__}, and not a Result or None")
    if not isinstance(result.requeue_after, int | float):
        raise TypeError(f"requeue_after is {result.requeue_after!r}, and not a number of seconds")
    return result
