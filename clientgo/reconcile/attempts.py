"""What is told of each reconciliation, in the log and in metrics, so that a controller's own code is not full of it.

    with queue.processing() as key, attempts.at(key) as attempt:
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, Conflict, LeaseNotHeld
from clientgo.log import Repeats, context
from clientgo.meta.names import ObjectName
from clientgo.meta.uids import random_uuid
from clientgo.reconcile.metrics import Call, ReconcileMetrics

log = logging.getLogger(__name__)

REPEAT_SECONDS = 300.0
"""Between two warnings about one object."""


LogFields = Callable[[ObjectName], Mapping[str, Any]]
"""What lines about the object of that name carry; None as a value leaves a field out."""


class Attempts:
    """Tells of one controller's reconciliations of objects of `kind`; safe for any number of workers.

    Metrics call the controller by its name, or else by its kind in lower case. `expected` are errors, besides the
    library's own, that are no bugs; those are logged without a traceback, and so are groups of nothing else.
    `log_fields` adds to what each line carries, or changes it.
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
        """So many may reconcile at once from now on; for the metrics alone."""
        self._metrics.set_workers(workers)

    @contextmanager
    def at(self, key: ObjectName) -> Iterator["Attempt"]:
        """One attempt at one object; a block that ends without a word counts as failed."""
        with context(**self._fields_of(key)), self._metrics.reconciling() as call:
            yield Attempt(key, call, self._repeats, self._expected)

    def _fields_of(self, key: ObjectName) -> dict[str, Any]:
        namespace = key.namespace or None
        fields = {"kind": self._kind, "namespace": namespace, "name": key.name, "reconcile_id": random_uuid()}
        if self._log_fields is not None:
            try:
                fields.update(self._log_fields(key))
            except Exception:
                # Nothing that is only told of is worth a reconciliation.
                log.exception("bug: there are no further log fields", extra={"key": str(key)})
        return fields


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
        if not _only(error, self._expected):
            self._call.panicked = True
            log.exception("bug: object can't be reconciled; trying again later")
        elif _only(error, (Conflict, LeaseNotHeld)):
            # As it should be: somebody else was quicker.
            log.info("object was not reconciled this time; trying again", extra={"err": _told(error)})
        else:
            left_out = self._repeats.due(self._key)
            level = logging.DEBUG if left_out is None else logging.WARNING
            fields = {"err": _told(error), "left_out": left_out}
            log.log(level, "object can't be reconciled; trying again later", extra=fields)


def _only(error: Exception, kinds: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, ExceptionGroup) and not isinstance(error, kinds):
        return error.split(kinds)[1] is None
    return isinstance(error, kinds)


def _told(error: Exception) -> Exception | str:
    # A group's own text only counts what it holds.
    if not isinstance(error, ExceptionGroup):
        return error
    return f"{error.message}: {'; '.join(str(_told(one)) for one in error.exceptions)}"
