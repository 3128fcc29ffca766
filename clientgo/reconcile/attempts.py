"""What is told of each reconciliation, in the log and in metrics, so that a controller's own code is not full of it.

    with queue.taking() as key, attempts.at(key) as attempt:
        try:
            sync(key)
        except Exception as error:
            attempt.failed(error)
            queue.add_rate_limited(key)
        else:
            attempt.succeeded()
            queue.forget(key)

Every line logged inside carries kind, namespace, name and reconcile_id. A name that fails again and again is warned of
once in a while; at level debug each failure is there.
"""

import logging
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, Conflict, LeaseNotHeld
from clientgo.log import Repeats, context
from clientgo.meta.names import ObjectName
from clientgo.reconcile.metrics import Call, ReconcileMetrics

log = logging.getLogger(__name__)

REPEAT_SECONDS = 300.0
"""Between two warnings about one object."""


class Attempts:
    """Tells of one controller's reconciliations of objects of `kind`; safe for any number of workers.

    Metrics call the controller by its name, or else by its kind in lower case. `expected` are errors, besides the
    library's own, that are no bugs; those are logged without a traceback.
    """

    def __init__(
        self,
        kind: str,
        *,
        controller: str = "",
        expected: tuple[type[Exception], ...] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._kind = kind
        self._metrics = ReconcileMetrics(controller or kind.lower(), clock=clock)
        self._expected: tuple[type[Exception], ...] = (ClientGoError, *expected)
        self._repeats = Repeats(REPEAT_SECONDS, clock=clock)

    def set_workers(self, workers: int) -> None:
        """So many may reconcile at once from now on; for the metrics alone."""
        self._metrics.set_workers(workers)

    @contextmanager
    def at(self, key: ObjectName) -> Iterator["Attempt"]:
        """One attempt at one object; a block that ends without a word counts as failed."""
        with (
            context(kind=self._kind, namespace=key.namespace or None, name=key.name, reconcile_id=_new_id()),
            self._metrics.reconciling() as call,
        ):
            yield Attempt(key, call, self._repeats, self._expected)


def _new_id() -> uuid.UUID:
    # Not uuid4, which asks the system for each: that lets go of the interpreter, and nobody guesses these.
    return uuid.UUID(int=random.getrandbits(128), version=4)  # nosec B311


class Attempt:
    """One reconciliation that is under way."""

    __slots__ = ("_call", "_expected", "_key", "_repeats")

    def __init__(self, key: ObjectName, call: Call, repeats: Repeats, expected: tuple[type[Exception], ...]) -> None:
        self._key = key
        self._call = call
        self._repeats = repeats
        self._expected = expected

    def succeeded(self, result: str = "success") -> None:
        """It went well; `result` is one of `metrics.RESULTS`."""
        self._call.result = result
        self._repeats.forget(self._key)

    @property
    def is_bug(self) -> bool:
        """Whether it failed of an error that nobody expects."""
        return self._call.panicked

    def failed_for_good(self, error: Exception) -> None:
        """It did not, and is not tried again until something changes."""
        self._call.terminal = True
        self._repeats.forget(self._key)
        log.error("object can't be reconciled; waiting for a change", extra={"err": error, "cause": error.__cause__})

    def failed(self, error: Exception) -> None:
        """It did not, and is tried again; called while the error is handled."""
        if not isinstance(error, self._expected):
            self._call.panicked = True
            log.exception("bug: object can't be reconciled; trying again later")
        elif isinstance(error, Conflict | LeaseNotHeld):
            # As it should be: somebody else was quicker.
            log.info("object was not reconciled this time; trying again", extra={"err": error})
        else:
            left_out = self._repeats.due(self._key)
            level = logging.DEBUG if left_out is None else logging.WARNING
            log.log(level, "object can't be reconciled; trying again later", extra={"err": error, "left_out": left_out})
