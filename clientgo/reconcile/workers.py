"""Workers of a controller: threads that take names from a queue, reconcile the objects, and requeue them by the result.

Whatever the reconciler raises or returns concerns its object only: it is logged with the object's name, counted, and
retried with backoff. Never two workers have the same name at a time.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from typing import Self

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed, ClientGoError
from clientgo.internal.callbacks import describe_error, run_callback
from clientgo.internal.cron import times_after
from clientgo.log import get_logger
from clientgo.meta.names import ObjectName
from clientgo.reconcile.attempts import Attempt, Attempts
from clientgo.stop.lifecycle import Group, MaybeCoroutine, finished, is_stopped_request
from clientgo.stop.stopping import scope_of
from clientgo.workqueue import ShutDown, WorkQueue
from clientgo.workqueue.order import checked_priority

log = get_logger(__name__)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a successful reconciliation.

    With `requeue_after` seconds above 0 the object is reconciled again after that time, unless an event comes first.
    `priority` is its priority then; by default the one it was taken with. Only a priority queue uses it.

    Raises:
        TypeError: a field has another type.
        ValueError: the time is not finite.
    """

    requeue_after: float = 0.0
    priority: int | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if not isinstance(after, int | float) or isinstance(after, bool):
            raise TypeError(f"requeue_after must be a number of seconds, got {after!r}")
        if not math.isfinite(after):
            message = f"requeue_after must be a finite number of seconds, got {after!r}: omit it to wait for events"
            raise ValueError(message)
        if self.priority is not None:
            checked_priority(self.priority)

    @classmethod
    def until(cls, moment: datetime, *, clock: Clock = SYSTEM_CLOCK) -> Self:
        """Reconcile again at a moment, such as the expiry of a certificate; after `PAST_SECONDS` if it has passed.

        Raises:
            ValueError: the moment has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError(f"invalid moment {moment}: give its time zone, as datetime.now(UTC) does")
        seconds = moment.timestamp() - clock.time()
        return cls(requeue_after=seconds if seconds > 0 else PAST_SECONDS)

    @classmethod
    def cron(cls, schedule: str, *, zone: tzinfo = UTC, clock: Clock = SYSTEM_CLOCK) -> Self:
        """Reconcile again at the next time of a cron schedule, `"0 3 * * mon-fri"` or `"@daily"`, in a time zone.

        Raises:
            ValueError: the schedule is invalid, or has no time within five years.
        """
        now = clock.time()
        following = next(times_after(schedule, zone, now), None)
        if following is None:
            raise ValueError(f"invalid schedule {schedule!r}: no time within five years")
        return cls(requeue_after=following - now)


PAST_SECONDS = 1.0
"""Seconds until the next reconciliation if it is to be at a moment that has passed."""


class TerminalError(ClientGoError):
    """An error that a retry cannot fix: the object is not requeued. It is counted, and logged with its cause."""


class GaveUp(TerminalError):
    """A reconciliation failed more often than its retries allow; the cause is the last error."""


GiveUp = Callable[[ObjectName, BaseException], object]
"""Reports that an object is not retried any more, because of this error."""

Reconcile = Callable[[ObjectName], MaybeCoroutine[Result | None]]
"""Reconciles the object of that name, which may be deleted; exceptions lead to a retry."""

_NOTHING = Result()


class Workers:
    """Worker threads of one controller; thread-safe.

    Without `recover_panic` (controller-runtime's RecoverPanic), an error that is neither of the library nor expected
    ends the program. After `retries` failed retries in a row, the object waits for its next event, and `give_up` is
    called; None for no limit.
    """

    def __init__(
        self,
        reconcile: Reconcile,
        queue: WorkQueue[ObjectName],
        attempts: Attempts,
        *,
        recover_panic: bool = True,
        retries: int | None = None,
        give_up: GiveUp | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._reconcile = reconcile
        self._queue = queue
        self._attempts = attempts
        self._recover_panic = recover_panic
        self._retries = retries
        self._give_up = give_up
        # By object; counted here, because a limiter need not count.
        self._failures: dict[ObjectName, int] = {}
        self._clock = clock

    def __repr__(self) -> str:
        return f"<Workers of {self._queue!r}>"

    @contextmanager
    def running(self, count: int, stop: threading.Event, *, name: str, grace: float | None = None) -> Iterator[None]:
        """Reconcile with `count` threads in the block; at its end, shut down the queue and wait for their objects.

        Names left in the queue are dropped: there may be thousands of them, and the next replica starts with all
        objects. With a `grace`, coroutines are cancelled at its end.

        Raises:
            StillRunning: a worker was still running after `grace` seconds.
            BaseException: the reconciler's error, if panics are not recovered.
        """
        self._attempts.set_workers(count)
        # If a worker dies, the others end too: fewer workers would go unnoticed.
        group = Group(stop=stop, clock=self._clock)
        if grace is not None:
            scope_of(stop).cancel_within(grace)
        try:
            for number in range(count):
                group.start(self._run, stop, name=f"{name}-{number}")
            yield
        finally:
            self._queue.shut_down()
            group.join(grace)

    def process_next(self) -> None:
        """Reconcile the next object in the queue, and requeue it according to the result.

        Raises:
            ShutDown: the queue is shut down and empty.
        """
        with self._queue.processing() as key, self._attempts.at(key, self._queue.trigger(key)) as attempt:
            try:
                result = run_callback(self._reconciled, key)
            except CallbackFailed as failure:
                self._failed(key, attempt, failure.__cause__ or failure)
                return
            # The next failure starts with a fresh backoff.
            self._forget(key)
            if result.requeue_after > 0:
                attempt.succeeded("requeue_after", requeue_in=result.requeue_after)
                self._queue.add_after(key, result.requeue_after, priority=result.priority)
            else:
                attempt.succeeded()

    def _run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                self.process_next()
        except ShutDown:
            return

    def _reconciled(self, key: ObjectName) -> Result:
        return checked(finished(self._reconcile(key)))

    def _failed(self, key: ObjectName, attempt: Attempt, error: BaseException) -> None:
        if isinstance(error, TerminalError):
            # The next event starts with a fresh backoff.
            self._forget(key)
            attempt.failed_terminally(error)
        elif not self._recover_panic and attempt.is_bug(error):
            attempt.failed(error)
            raise error
        elif not is_stopped_request(error) and self._has_no_retry(key):
            self._forget(key)
            gave_up = GaveUp(f"gave up after {self._retries} retries: {describe_error(error)}")
            gave_up.__cause__ = error
            attempt.report = None  # that is the task of `give_up`
            attempt.failed_terminally(gave_up)
            self._report(key, error)
        else:
            delay = self._queue.add_rate_limited(key)
            attempt.failed(error, retry_in=delay, failures=self._queue.num_requeues(key))

    def _has_no_retry(self, key: ObjectName) -> bool:
        if self._retries is None:
            return False
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        return failures > self._retries

    def _forget(self, key: ObjectName) -> None:
        self._failures.pop(key, None)
        self._queue.forget(key)

    def _report(self, key: ObjectName, error: BaseException) -> None:
        if self._give_up is None:
            return
        try:
            run_callback(self._give_up, key, error)
        except CallbackFailed as failure:
            log.error("cannot report that an object is not retried", extra={"key": str(key), "err": failure})


def checked(result: object) -> Result:
    """Return a copy of a reconciler's result, of plain numbers, with `Result()` for None.

    Raises:
        TypeError: it is not a `Result`.
    """
    if result is None:
        return _NOTHING
    if not isinstance(result, Result):
        raise TypeError(f"reconcile must return a Result or None, got {type(result).__qualname__}")
    priority = None if result.priority is None else checked_priority(result.priority)
    return Result(requeue_after=float(result.requeue_after), priority=priority)
