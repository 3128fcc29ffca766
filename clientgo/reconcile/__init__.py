"""Reconciliations of a controller: workers, logging and metrics of attempts, their history, and retries on conflict.

    workers = Workers(sync, queue, Attempts("Foo"))
    with workers.running(2, stop, name="worker"):
        stop.wait()

Controllers with a loop of their own use `Attempts` without `Workers`.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.reconcile.attempts import Attempt, Attempts, ReconcileMetrics
    from clientgo.reconcile.history import FailingObject, History, Reconciliation
    from clientgo.reconcile.retry import DEFAULT_BACKOFF, DEFAULT_RETRY, on_error, retry_on_conflict
    from clientgo.reconcile.workers import GaveUp, Result, TerminalError, Workers
else:
    __getattr__ = on_demand(
        __name__,
        {
            "attempts": "Attempt Attempts ReconcileMetrics",
            "history": "FailingObject History Reconciliation",
            "retry": "DEFAULT_BACKOFF DEFAULT_RETRY on_error retry_on_conflict",
            "workers": "GaveUp Result TerminalError Workers",
        },
    )

__all__ = [
    "Workers", "Result", "TerminalError", "GaveUp",
    "Attempts", "Attempt", "ReconcileMetrics",
    "History", "Reconciliation", "FailingObject",
    "DEFAULT_BACKOFF", "DEFAULT_RETRY", "on_error", "retry_on_conflict",
]  # fmt: skip
