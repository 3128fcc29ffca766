"""Logging and metrics of reconciliations, with controller-runtime's names of metrics.

    with queue.processing() as key, attempts.at(key) as attempt:
        try:
            sync(key)
        except Exception as error:
            attempt.failed(error)
            queue.add_rate_limited(key)
        else:
            attempt.succeeded()
            queue.forget(key)

Every line logged inside has the fields kind, namespace, name and reconcile_id. Repeated failures of an object are
logged as one warning per period; at level debug every failure is logged.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, Conflict, LeaseNotHeld
from clientgo.log import Repeats, context, get_logger
from clientgo.meta.names import ObjectName
from clientgo.meta.uids import random_uuid
from clientgo.metrics import provider

log = get_logger(__name__)

REPEAT_SECONDS = 300.0
"""Seconds between two warnings about one object."""

RESULTS = ("success", "error", "requeue", "requeue_after")
"""Results of a reconciliation; each has a series from the start, so that rates begin at zero.

"requeue" is never used here: it is controller-runtime's deprecated `Result.Requeue`, which its dashboards query.
"""

BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75,
    2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
"""Upper bounds in seconds (controller-runtime's)."""

LogFields = Callable[[ObjectName], Mapping[str, Any]]
"""Returns additional log fields for an object; a value of None removes a field."""


@dataclass(slots=True)
class Outcome:
    """Outcome of one reconciliation: one of `RESULTS`, with flags for bugs (`panicked`) and for no retry (`terminal`).

    The default is an error, so that leaving the block without a result is counted as one.
    """

    result: str = "error"
    panicked: bool = False
    terminal: bool = False


class ReconcileMetrics:
    """Metrics of one controller's reconciliations; create it after the program has set its metrics provider."""

    def __init__(self, controller: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        name, registry = "controller_runtime_", provider()
        labels = {"controller": controller}
        self._clock = clock
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
        self._active = registry.gauge(f"{name}active_workers", "Workers that are reconciling", labels)
        self._workers = registry.gauge(f"{name}max_concurrent_reconciles", "Maximum number of workers", labels)

    def set_workers(self, workers: int) -> None:
        """Set the maximum number of workers."""
        self._workers.set(workers)

    @contextmanager
    def reconciling(self) -> Iterator[Outcome]:
        """Count and time the block as one reconciliation."""
        outcome = Outcome()
        began = self._clock.now()
        self._active.inc()
        try:
            yield outcome
        finally:
            self._active.dec()
            self._seconds.observe(self._clock.now() - began)
            self._results[outcome.result].inc()
            if outcome.result == "error":
                self._errors.inc()
            if outcome.panicked:
                self._panics.inc()
            if outcome.terminal:
                self._terminal.inc()


class Attempts:
    """Logging and metrics of one controller's reconciliations of objects of `kind`; thread-safe.

    The metrics' label is `controller`, by default the kind in lower case. Errors of the library and of the types in
    `expected`, and groups of them, are logged without a traceback; other errors are bugs. `log_fields` adds fields to
    each line, or replaces them.
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
        self._kind = kind
        self._log_fields = log_fields
        self._metrics = ReconcileMetrics(controller or kind.lower(), clock=clock)
        self._expected: tuple[type[Exception], ...] = (ClientGoError, *expected)
        self._repeats = Repeats(REPEAT_SECONDS, clock=clock)

    def set_workers(self, workers: int) -> None:
        """Set the maximum number of workers, for the metrics."""
        self._metrics.set_workers(workers)

    @contextmanager
    def at(self, key: ObjectName) -> Iterator["Attempt"]:
        """Log and count one attempt at one object; leaving the block without reporting a result counts as a failure."""
        with context(**self._fields_of(key)), self._metrics.reconciling() as outcome:
            yield Attempt(key, outcome, self._repeats, self._expected)

    def _fields_of(self, key: ObjectName) -> dict[str, Any]:
        namespace = key.namespace or None
        fields = {"kind": self._kind, "namespace": namespace, "name": key.name, "reconcile_id": random_uuid()}
        if self._log_fields is not None:
            try:
                fields.update(self._log_fields(key))
            except Exception:  # foreign code: it must not prevent a reconciliation
                log.exception("bug: log_fields failed", extra={"key": str(key)})
        return fields


class Attempt:
    """One reconciliation in progress."""

    __slots__ = ("_expected", "_key", "_outcome", "_repeats")

    def __init__(
        self, key: ObjectName, outcome: Outcome, repeats: Repeats, expected: tuple[type[Exception], ...]
    ) -> None:
        self._key = key
        self._outcome = outcome
        self._repeats = repeats
        self._expected = expected

    def succeeded(self, result: str = "success") -> None:
        """Record a success; `result` is one of `RESULTS`."""
        self._outcome.result = result
        self._repeats.forget(self._key)

    @property
    def is_bug(self) -> bool:
        """True if it failed with an unexpected error."""
        return self._outcome.panicked

    def failed_for_good(self, error: Exception) -> None:
        """Record a failure that is not retried until the object changes."""
        self._outcome.terminal = True
        self._repeats.forget(self._key)
        log.error("object can't be reconciled; waiting for a change", extra={"err": error, "cause": error.__cause__})

    def failed(self, error: Exception) -> None:
        """Record a failure that will be retried; call it in the `except` block."""
        if not _only(error, self._expected):
            self._outcome.panicked = True
            log.exception("bug: object can't be reconciled; trying again later")
        elif _only(error, (Conflict, LeaseNotHeld)):
            # Normal operation: another client or replica was faster.
            log.info("object was not reconciled this time; trying again", extra={"err": _described(error)})
        else:
            left_out = self._repeats.due(self._key)
            level = logging.DEBUG if left_out is None else logging.WARNING
            fields = {"err": _described(error), "left_out": left_out}
            log.log(level, "object can't be reconciled; trying again later", extra=fields)


def _only(error: Exception, kinds: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, ExceptionGroup) and not isinstance(error, kinds):
        return error.split(kinds)[1] is None
    return isinstance(error, kinds)


def _described(error: Exception) -> Exception | str:
    # The text of a group contains only the number of its errors.
    if not isinstance(error, ExceptionGroup):
        return error
    return f"{error.message}: {'; '.join(str(_described(one)) for one in error.exceptions)}"
