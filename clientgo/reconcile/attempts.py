"""Logging and metrics of reconciliations, with controller-runtime's names of metrics.

    with queue.processing() as key, attempts.at(key) as attempt:
        try:
            sync(key)
        except Exception as error:
            attempt.failed(error, retry_in=queue.add_rate_limited(key), failures=queue.num_requeues(key))
        else:
            attempt.succeeded()
            queue.forget(key)

`clientgo.reconcile.workers` contains this loop for workers that survive any exception of `sync`.

Every line logged inside has the fields kind, namespace, name and reconcile_id. Equal failures of an object are logged
as one line per period; at level debug every failure is logged. Of equal tracebacks only the first is printed.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed, ClientGoError, ConfigError
from clientgo.internal.callbacks import run_callback, text_of
from clientgo.internal.uids import random_uuid
from clientgo.log import context, get_logger
from clientgo.log.callers import line_of_thread
from clientgo.meta.names import ObjectName
from clientgo.metrics import safe_provider
from clientgo.reconcile.failurelog import FailureLog, error_text
from clientgo.reconcile.history import History, Reconciliation

log = get_logger(__name__)

BLOCKED_SECONDS = 60.0
"""Seconds after which a reconciliation in progress is logged for the first time."""

RESULTS = ("success", "error", "requeue", "requeue_after")
"""Results of a reconciliation; each has a series from the start, so that rates begin at zero.

"requeue" is never used here: it is controller-runtime's deprecated `Result.Requeue`, which its dashboards query.
"""

BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75,
    2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
"""Upper bounds in seconds (controller-runtime's)."""

NO_RESULT = "no result reported"
"""Error of an attempt whose block ended without a result."""

LogFields = Callable[[ObjectName], Mapping[str, Any]]
"""Returns additional log fields for an object; a value of None removes a field."""

Report = Callable[[str], object]
"""Reports a failure, such as by an event."""


class ReconcileMetrics:
    """Metrics of one controller's reconciliations; create it after the program has set its metrics provider."""

    def __init__(self, controller: str) -> None:
        name, registry = "controller_runtime_", safe_provider()
        labels = {"controller": controller}
        self._results = {
            result: registry.counter(
                f"{name}reconcile_total", "Reconciliations by result", {**labels, "result": result}
            )
            for result in RESULTS
        }
        self._errors = registry.counter(f"{name}reconcile_errors_total", "Failed reconciliations", labels)
        self._terminal = registry.counter(
            f"{name}terminal_reconcile_errors_total", "Failed reconciliations that are not retried", labels
        )
        self._panics = registry.counter(f"{name}reconcile_panics_total", "Reconciliations that failed by a bug", labels)
        self._seconds = registry.histogram(
            f"{name}reconcile_time_seconds", "Duration of a reconciliation", labels, buckets=BUCKETS
        )
        self.active = registry.gauge(f"{name}active_workers", "Workers that are reconciling", labels)
        self.workers = registry.gauge(f"{name}max_concurrent_reconciles", "Maximum number of workers", labels)

    def record(self, attempt: "Attempt", seconds: float) -> None:
        """Count an attempt by its result."""
        self._seconds.observe(seconds)
        self._results[attempt.result].inc()
        if attempt.result == "error":
            self._errors.inc()
        if attempt.panicked:
            self._panics.inc()
        if attempt.terminal:
            self._terminal.inc()


class Worker(msgspec.Struct, frozen=True):
    """Thread that reconciles, by name: its object (None while it is idle) since a time of the controller's clock."""

    name: str
    key: ObjectName | None
    trigger: str
    since: float


class Attempts:
    """Logging and metrics of one controller's reconciliations of objects of `kind`; thread-safe.

    The metrics' label is `controller`, by default the kind in lower case. Errors of the library and of the types in
    `expected`, and groups of them, are logged without a traceback; other errors are bugs. `log_fields` adds fields to
    each line, or replaces them. Attempts are recorded in `history`, which may be replaced at any time, if there is one.

    Raises:
        ConfigError: `expected` contains something else than classes of exceptions.
    """

    def __init__(
        self,
        kind: str,
        *,
        controller: str = "",
        expected: tuple[type[Exception], ...] = (),
        log_fields: LogFields | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.kind = kind
        self.controller = controller or kind.lower()
        self.history: History | None = None
        self.max_workers = 0
        self._log_fields = log_fields
        self._clock = clock
        self._metrics = ReconcileMetrics(self.controller)
        for cls in expected:
            if not (isinstance(cls, type) and issubclass(cls, BaseException)):
                raise ConfigError(f"invalid expected error {cls!r}: must be a class of exceptions")
        self._failures = FailureLog((ClientGoError, *expected), clock)
        # By thread; each thread changes only its own entry.
        self._running: dict[int, Attempt] = {}
        # End of the last attempt of each thread.
        self._idle: dict[int, float] = {}

    def set_workers(self, workers: int) -> None:
        """Set the maximum number of workers, for metrics and pages."""
        self.max_workers = workers
        self._metrics.workers.set(workers)

    def workers(self) -> list[Worker]:
        """Return the threads that have reconciled since they started, by name."""
        names = {thread.ident or 0: thread.name for thread in threading.enumerate()}
        running, workers = self._running.copy(), []
        for thread, ended in self._idle.copy().items():
            if thread not in names:
                self._idle.pop(thread, None)
            elif thread not in running:
                workers.append(Worker(names[thread], None, "", ended))
        workers += [
            Worker(names.get(thread, ""), attempt.key, attempt.trigger, attempt.began)
            for thread, attempt in running.items()
        ]
        return sorted(workers, key=lambda worker: worker.name)

    @contextmanager
    def at(self, key: ObjectName, trigger: str = "") -> Iterator["Attempt"]:
        """Log and count one attempt at one object; leaving the block without reporting a result counts as a failure.

        `trigger` tells the history why it is made.
        """
        attempt, thread = Attempt(key, self._failures, self._clock.now(), trigger), threading.get_ident()
        self._running[thread] = attempt
        self._metrics.active.inc()
        try:
            with context(**self._fields_of(key)):
                before = _current.set(attempt)
                try:
                    yield attempt
                finally:
                    _current.reset(before)
        finally:
            self._idle[thread] = ended = self._clock.now()
            del self._running[thread]
            self._metrics.active.dec()
            self._metrics.record(attempt, ended - attempt.began)
            if self.history is not None:
                self.history.add(attempt.ended(ended))

    def wait(self, stop: threading.Event) -> None:
        """Wait until `stop` is set; warn of an attempt that blocks its worker after 1, 2, 4, 8 minutes and so on."""
        while not self._clock.wait_for(stop, self._warn_of_blocked()):
            pass

    def _warn_of_blocked(self) -> float:
        """Log the attempts that are due; return the seconds until the next one may be."""
        now, pause = self._clock.now(), BLOCKED_SECONDS
        for thread, attempt in self._running.copy().items():
            if now >= attempt.warn_at:
                attempt.warn_at = now + (now - attempt.began)
                facts = {"seconds": round(now - attempt.began), "at": line_of_thread(thread)}
                with context(kind=self.kind, namespace=attempt.key.namespace or None, name=attempt.key.name):
                    log.warning("reconcile is still running and blocks its worker", extra=facts)
            pause = min(pause, attempt.warn_at - now)
        return pause

    def _fields_of(self, key: ObjectName) -> dict[str, Any]:
        namespace = key.namespace or None
        fields = {"kind": self.kind, "namespace": namespace, "name": key.name, "reconcile_id": random_uuid()}
        if self._log_fields is not None:
            try:
                fields.update(run_callback(_text_keys, self._log_fields, key))
            except CallbackFailed as error:  # must not prevent a reconciliation
                log.error("bug: log_fields failed", exc_info=error.__cause__, extra={"key": str(key)})
        return fields


_current: ContextVar["Attempt | None"] = ContextVar("attempt", default=None)


def begin_finalizing(report: Report | None = None) -> None:
    """Declare that the rest of the attempt in progress cleans up for a deleted object; its failure is logged so.

    `report` is called with each failure that is logged: to users, an object that stays shows no other sign of it.
    """
    if (attempt := _current.get()) is not None:
        attempt.failure, attempt.report = "cannot finalize", report


def _text_keys(log_fields: LogFields, key: ObjectName) -> dict[str, Any]:
    return {text_of(name): value for name, value in log_fields(key).items()}


class Attempt:
    """One reconciliation: `result` is one of `RESULTS`, an error unless another one is reported.

    `panicked` is True after an unexpected error, `terminal` after a failure that is not retried. `warn_at` is the time
    of the next warning that it still runs. `failure` is the message of a failure, which `report` gets if it is logged.
    """

    __slots__ = (
        "_error", "_failures", "_next_in", "began", "failure", "key", "panicked", "report", "result", "terminal",
        "trigger", "warn_at",
    )  # fmt: skip

    def __init__(self, key: ObjectName, failures: "FailureLog", began: float, trigger: str = "") -> None:
        self.key = key
        self.began = began
        self.trigger = trigger
        self.warn_at = began + BLOCKED_SECONDS
        self.result = "error"
        self.failure = "cannot reconcile"
        self.report: Report | None = None
        self.panicked = self.terminal = False
        self._failures = failures
        self._error = NO_RESULT
        self._next_in: float | None = None

    def succeeded(self, result: str = "success", *, requeue_in: float | None = None) -> None:
        """Record a success; `result` is one of `RESULTS`, and the object is requeued in seconds, if at all."""
        self.result = result
        self._next_in = requeue_in
        self._failures.forget(self.key)

    def ended(self, at: float) -> Reconciliation:
        """Return the attempt, which has ended, for the history."""
        outcome, error, next_at = self.result, "", None
        if outcome == "error":
            error = self._error
            outcome = "terminal" if self.terminal else outcome
        if self._next_in is not None:
            next_at = at + self._next_in
        return Reconciliation(self.key, self.trigger, self.began, at - self.began, outcome, error, next_at)

    def is_bug(self, error: BaseException) -> bool:
        """Return True if the error is neither of the library nor expected."""
        return self._failures.is_bug(error)

    def failed_terminally(self, error: BaseException) -> None:
        """Record a failure that is not retried until the object changes."""
        self.terminal = True
        self._record(error, self._failures.log_terminal, error)

    def failed(self, error: BaseException, *, failures: int = 0, retry_in: float | None = None) -> None:
        """Record a failure that will be retried; `failures` in a row so far, and the retry is due in seconds."""
        self.panicked = self.is_bug(error)
        self._next_in = retry_in
        retry: dict[str, Any] = {"attempt": failures} if failures else {}
        if retry_in is not None:
            retry["retry_in"] = f"{round(retry_in, 3):g}s"
        self._record(error, self._failures.log_retry, error, retry)

    def _record(self, error: BaseException, write: Callable[..., bool], *arguments: object) -> None:
        try:
            self._error = run_callback(error_text, error, self.panicked)
            if run_callback(write, self.key, self.failure, *arguments) and self.report is not None:
                run_callback(self.report, f"{self.failure}: {self._error}")
        except CallbackFailed as failure:  # an attribute of the exception that raises, or has another type
            self._error = type(error).__name__
            log.error(f"{self.failure}, and cannot describe the error", extra={"err": self._error, "why": failure})
