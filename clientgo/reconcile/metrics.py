"""How often and how long a controller reconciles, under the names controller-runtime's dashboards know.

    metrics = ReconcileMetrics("foo")
    with metrics.reconciling() as call:
        ...
        call.result = "success"

A call of which nothing is said has failed, so that no error goes uncounted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.metrics import provider

RESULTS = ("success", "error", "requeue", "requeue_after")
"""What a reconciliation may end with; each has a series from the start, so that rates begin at zero.

Nothing here ends with "requeue", which controller-runtime has for its deprecated `Result.Requeue`; its dashboards ask
for the series.
"""

BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75,
    2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
"""Upper bounds in seconds (controller-runtime's)."""


@dataclass(slots=True)
class Call:
    """One reconciliation, and how it ended: one of `RESULTS`; `panicked` if by a bug, `terminal` if for good."""

    result: str = "error"
    panicked: bool = False
    terminal: bool = False


class ReconcileMetrics:
    """Counts one controller's reconciliations; made after the program has chosen a provider."""

    def __init__(self, controller: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        name, kept_by = "controller_runtime_", provider()
        labels = {"controller": controller}
        self._clock = clock
        self._results = {
            result: kept_by.counter(
                f"{name}reconcile_total", "Reconciliations, by how they ended", {**labels, "result": result}
            )
            for result in RESULTS
        }
        self._errors = kept_by.counter(f"{name}reconcile_errors_total", "Reconciliations that failed", labels)
        self._terminal = kept_by.counter(
            f"{name}terminal_reconcile_errors_total", "Reconciliations that failed for good", labels
        )
        self._panics = kept_by.counter(f"{name}reconcile_panics_total", "Reconciliations that failed by a bug", labels)
        self._seconds = kept_by.histogram(
            f"{name}reconcile_time_seconds", "How long reconciliations took", labels, buckets=BUCKETS
        )
        self._active = kept_by.gauge(f"{name}active_workers", "Workers that reconcile right now", labels)
        self._workers = kept_by.gauge(f"{name}max_concurrent_reconciles", "Workers at most", labels)

    def set_workers(self, workers: int) -> None:
        """There are so many workers from now on."""
        self._workers.set(workers)

    @contextmanager
    def reconciling(self) -> Iterator[Call]:
        """Count what happens in the block as one reconciliation."""
        call = Call()
        began = self._clock.now()
        self._active.inc()
        try:
            yield call
        finally:
            self._active.dec()
            self._seconds.observe(self._clock.now() - began)
            self._results[call.result].inc()
            if call.result == "error":
                self._errors.inc()
            if call.panicked:
                self._panics.inc()
            if call.terminal:
                self._terminal.inc()
