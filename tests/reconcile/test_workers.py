"""Workers of a controller: whatever a reconciler raises or returns concerns its object only."""

import asyncio
import enum
import logging
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.meta import ObjectName
from clientgo.reconcile.attempts import Attempts
from clientgo.reconcile.history import History
from clientgo.reconcile.workers import Result, TerminalError, Workers
from clientgo.stop.stopping import StopEvent
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import RecordedMetrics, recorded_metrics
from clientgo.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, PriorityQueue

BAD, GOOD = ObjectName("ns", "bad"), ObjectName("ns", "good")


class Silent(Exception):
    """Exception whose attributes all raise."""

    def __str__(self) -> str:
        raise SystemExit(2)

    __repr__ = __str__

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise RuntimeError("no notes")


class Unsplittable(ExceptionGroup[Exception]):
    def derive(self, _: Any) -> Any:
        raise SystemExit(3)


class Ending(BaseException):
    """Exception of a framework that is not an Exception, as pytest's and trio's are."""


class Name(str):
    """Name that cannot be printed."""

    __slots__ = ()

    def __str__(self) -> str:
        raise ValueError("no text")


ERRORS: dict[str, BaseException] = {
    "system exit": SystemExit(0),
    "cancelled": asyncio.CancelledError(),
    "generator exit": GeneratorExit(),
    "interrupt": KeyboardInterrupt(),
    "own base exception": Ending("over"),
    "text raises": Silent(),
    "text of a group raises": ExceptionGroup("two", [Silent(), ValueError("x")]),
    "base group": BaseExceptionGroup("two", [SystemExit(1), ValueError("x")]),
    "group cannot be split": Unsplittable("one", [ValueError("x")]),
    "nested groups": ExceptionGroup("a", [ExceptionGroup("b", [Silent()])]),
    "arguments cannot be printed": ValueError(Silent()),
    "terminal with a bad text": TerminalError(Silent()),
    "no memory": MemoryError(),
    "too deep": RecursionError(),
    "stop iteration": StopIteration(),
}


class Fixture:
    """Workers whose reconciler fails for one object, in the way that `bad` describes."""

    def __init__(self, bad: Callable[[], Any], **options: Any) -> None:
        self.clock, self.seen = FakeClock(), list[ObjectName]()
        self._bad = bad
        with recorded_metrics() as self.kept:
            self.attempts = Attempts("Foo", clock=self.clock)
        self.attempts.history = History()
        limiter = ItemExponentialFailureRateLimiter[ObjectName](1.0, 60.0)
        self.queue: PriorityQueue[ObjectName] = PriorityQueue(limiter, clock=self.clock)
        self.workers = Workers(self.reconcile, self.queue, self.attempts, clock=self.clock, **options)

    def reconcile(self, key: ObjectName) -> Any:
        self.seen.append(key)
        return self._bad() if key == BAD else None

    def process(self, *keys: ObjectName) -> None:
        """Process the keys in a thread, as a worker does."""
        with ThreadPoolExecutor(1) as pool:
            for key in keys:
                self.queue.add(key)
                pool.submit(self.workers.process_next).result()

    def waits(self) -> dict[ObjectName, float]:
        return dict(self.queue.state().waiting)


def counted(stored: RecordedMetrics, name: str) -> float:
    return stored[f"controller_runtime_{name}", "foo"].value


def raising(error: BaseException) -> Callable[[], Any]:
    def bad() -> Any:
        raise error

    return bad


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_object_whose_reconciler_raises_is_logged_counted_and_retried(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    fixture = Fixture(raising(error))
    fixture.process(BAD, GOOD)
    assert fixture.seen == [BAD, GOOD]
    is_final = isinstance(error, TerminalError)
    assert fixture.waits() == ({} if is_final else {BAD: 1.0})
    assert counted(fixture.kept, "reconcile_errors_total") == 1
    assert fixture.queue.load().processing == 0
    (record,) = caplog.records
    assert "Foo ns/bad  " in caplog.text
    assert record.levelname == "ERROR"
    history = fixture.attempts.history
    assert history is not None
    (failing,) = history.failing()
    assert failing.key == BAD
    assert type(error).__name__ in failing.error or is_final


RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "number": (lambda: 7, "reconcile must return a Result or None, got int"),
    "dict": (lambda: {"requeue_after": 5}, "got dict"),
    "class": (lambda: Result, "got StructMeta"),
    "not a number": (lambda: Result(requeue_after=math.nan), "finite number of seconds, got nan"),
    "infinity": (lambda: Result(requeue_after=math.inf), "finite number of seconds, got inf"),
    "minus infinity": (lambda: Result(requeue_after=-math.inf), "finite number of seconds, got -inf"),
    "too large": (lambda: Result(requeue_after=10**400), "OverflowError"),
    "text": (lambda: Result(requeue_after="5s"), "must be a number of seconds, got '5s'"),  # type: ignore[arg-type]
    "timedelta": (lambda: Result(requeue_after=timedelta(seconds=5)), "got datetime.timedelta"),  # type: ignore[arg-type]
    "boolean": (lambda: Result(requeue_after=True), "must be a number of seconds, got True"),
    "nothing": (lambda: Result(requeue_after=None), "must be a number of seconds, got None"),  # type: ignore[arg-type]
    "unprintable": (lambda: Result(requeue_after=Silent()), "bad"),  # type: ignore[arg-type]
    "priority as text": (lambda: Result(requeue_after=1.0, priority="high"), "priority must be"),  # type: ignore[arg-type]
    "priority as float": (lambda: Result(requeue_after=1.0, priority=1.5), "priority must be"),  # type: ignore[arg-type]
    "priority as boolean": (lambda: Result(priority=True), "priority must be an integer"),
}


@pytest.mark.parametrize(("result", "sentence"), RESULTS.values(), ids=RESULTS)
def test_object_with_an_invalid_result_is_logged_counted_and_retried(
    result: Callable[[], Any], sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    fixture = Fixture(result)
    fixture.process(BAD, GOOD, BAD)
    assert fixture.seen == [BAD, GOOD, BAD]
    assert fixture.waits() == {BAD: 2.0}
    assert counted(fixture.kept, "reconcile_errors_total") == 2
    assert "Foo ns/bad  " in caplog.text
    assert sentence in caplog.text


@pytest.mark.parametrize("after", [math.nan, math.inf, "5s", True, None])
def test_result_with_an_invalid_time_cannot_be_made(after: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"requeue_after must be a (finite )?number of seconds, got"):
        Result(requeue_after=after)


class Seconds(float):
    """Number with comparisons of its own."""

    def __gt__(self, _: object) -> bool:
        raise SystemExit(1)


class Priority(enum.IntEnum):
    URGENT = 5


@pytest.mark.parametrize(
    ("result", "waits"),
    [
        (Result(requeue_after=3), {BAD: 3.0}),
        (Result(requeue_after=Seconds(3.0), priority=Priority.URGENT), {BAD: 3.0}),
        (Result(requeue_after=-5.0), {}),
        (Result(requeue_after=0.0, priority=3), {}),
    ],
)
def test_valid_result_requeues_the_object(result: Result, waits: dict[ObjectName, float]) -> None:
    fixture = Fixture(lambda: result)
    fixture.process(BAD)
    assert fixture.waits() == waits
    assert counted(fixture.kept, "reconcile_errors_total") == 0
    assert all(type(priority) is int for priority in (fixture.queue._priorities or {}).values())


def test_interrupt_of_the_user_ends_the_program_and_leaves_the_key_done() -> None:
    fixture = Fixture(raising(KeyboardInterrupt()))
    fixture.queue.add(BAD)
    with pytest.raises(KeyboardInterrupt):
        fixture.workers.process_next()  # in the main thread, as Python raises it
    assert fixture.queue.load().processing == 0


@pytest.mark.parametrize("error", [KeyError("a bug"), SystemExit(1), Silent()])
def test_bug_ends_the_program_if_panics_are_not_recovered(error: BaseException) -> None:
    fixture = Fixture(raising(error), recover_panic=False)
    with pytest.raises(type(error)):
        fixture.process(GOOD, BAD)
    other = Fixture(raising(ConnectionFailed("refused")), recover_panic=False)
    other.process(BAD, GOOD)
    assert other.seen == [BAD, GOOD]


@pytest.mark.parametrize(
    "fields",
    [None, {1: "a"}, {"kind": Silent()}, [("a", "b")], {Name("x"): 1}],
    ids=["none", "number as name", "value without text", "list", "name without text"],
)
def test_log_fields_of_any_type_do_not_prevent_a_reconciliation(fields: Any, caplog: pytest.LogCaptureFixture) -> None:
    attempts = Attempts("Foo", log_fields=lambda _: fields, clock=FakeClock())
    queue, seen = PriorityQueue[ObjectName](clock=FakeClock()), []

    def reconcile(key: ObjectName) -> None:
        seen.append(key)
        raise ValueError("no")

    queue.add(BAD)
    Workers(reconcile, queue, attempts).process_next()
    assert seen == [BAD]
    assert "cannot reconcile; will retry: ValueError: no" in caplog.text


@pytest.mark.parametrize("expected", [("KeyError",), (KeyError("x"),), (int,), (None,)])
def test_expected_errors_must_be_classes_of_exceptions(expected: Any) -> None:
    with pytest.raises(ConfigError, match=r"invalid expected error .*: must be a class of exceptions"):
        Attempts("Foo", expected=expected)


def test_all_threads_survive_every_error() -> None:
    errors, names = [*ERRORS.values()], [ObjectName("ns", f"foo-{number}") for number in range(200)]
    queue: PriorityQueue[ObjectName] = PriorityQueue(ItemExponentialFailureRateLimiter(1000.0, 1000.0))
    seen, semaphore = set[ObjectName](), threading.Semaphore(0)

    def reconcile(key: ObjectName) -> None:
        seen.add(key)
        semaphore.release()
        number = int(key.name.removeprefix("foo-"))
        if number % 10 == 0:
            raise errors[number // 10 % len(errors)]

    stop = threading.Event()
    workers = Workers(reconcile, queue, Attempts("Foo"))
    with workers.running(4, stop, name="survivor"):
        for name in names:
            queue.add(name)
        for _ in names:
            assert semaphore.acquire(timeout=20.0)
        alive = [thread.name for thread in threading.enumerate() if thread.name.startswith("survivor-")]
    assert sorted(alive) == [f"survivor-{number}" for number in range(4)]
    assert seen == set(names)
    assert not stop.is_set()


def test_object_that_fails_after_its_retries_is_given_up_until_the_next_event(caplog: pytest.LogCaptureFixture) -> None:
    reported = list[tuple[ObjectName, BaseException]]()
    error = ConfigError("no quota")
    fixture = Fixture(raising(error), retries=2, give_up=lambda key, failure: reported.append((key, failure)))
    fixture.process(BAD, BAD)
    assert (fixture.waits(), reported) == ({BAD: 2.0}, [])
    fixture.process(BAD, GOOD)
    assert (fixture.waits(), reported) == ({}, [(BAD, error)])
    assert counted(fixture.kept, "terminal_reconcile_errors_total") == 1
    assert "cannot reconcile; waiting for a change: gave up after 2 retries: no quota" in caplog.text
    assert fixture.attempts.history is not None
    (failing,) = fixture.attempts.history.failing()
    assert failing.error == "gave up after 2 retries: no quota"
    fixture.process(BAD)
    assert (fixture.waits(), len(reported)) == ({BAD: 1.0}, 1)


@pytest.mark.parametrize("error", [error for error in ERRORS.values() if not isinstance(error, TerminalError)])
def test_object_is_given_up_whatever_its_reconciler_raises(error: BaseException) -> None:
    reported = list[BaseException]()
    fixture = Fixture(raising(error), retries=0, give_up=lambda _, failure: reported.append(failure))
    fixture.process(BAD, GOOD)
    assert (fixture.seen, fixture.waits(), reported) == ([BAD, GOOD], {}, [error])


def test_retries_are_counted_without_a_limiter_that_counts() -> None:
    reported = list[ObjectName]()
    fixture = Fixture(raising(ConfigError("x")), retries=1, give_up=lambda key, _: reported.append(key))
    fixture.queue = PriorityQueue(BucketRateLimiter(1000.0, 1000, clock=fixture.clock), clock=fixture.clock)
    fixture.workers = Workers(
        fixture.reconcile, fixture.queue, fixture.attempts, retries=1, give_up=lambda key, _: reported.append(key)
    )
    fixture.process(BAD)
    assert reported == []
    fixture.process(BAD)
    assert reported == [BAD]


def test_failure_by_a_stop_is_no_reason_to_give_up() -> None:
    reported = list[ObjectName]()
    stopping = ConnectionFailed("stopping", stopping=True)
    fixture = Fixture(raising(stopping), retries=0, give_up=lambda key, _: reported.append(key))
    fixture.process(BAD)
    assert (fixture.waits(), reported) == ({BAD: 1.0}, [])


def test_failure_by_a_stop_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    Fixture(raising(ConnectionFailed("stopping", stopping=True))).process(BAD)
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


def test_failing_report_of_a_given_up_object_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture(raising(ConfigError("no quota")), retries=0, give_up=lambda key, error: 1 // 0)
    fixture.process(BAD, GOOD)
    assert fixture.seen == [BAD, GOOD]
    assert "cannot report that an object is not retried" in caplog.text


def test_coroutine_is_cancelled_within_the_grace_period() -> None:
    began, cleaned, stop = threading.Event(), threading.Event(), StopEvent()

    async def endless() -> None:
        began.set()
        try:
            await asyncio.sleep(600)
        finally:
            cleaned.set()

    fixture = Fixture(endless)
    fixture.queue.add(BAD)
    with fixture.workers.running(1, stop, name="worker", grace=0.4):  # without StillRunning at its end
        assert began.wait(20)
        stop.set()
        assert not cleaned.wait(0.05)
    assert cleaned.is_set()


NOW = FakeClock().time()


@pytest.mark.parametrize(
    ("result", "seconds"),
    [
        (lambda clock: Result.until(datetime.fromtimestamp(NOW + 90, UTC), clock=clock), 90.0),
        (lambda clock: Result.until(datetime.fromtimestamp(NOW - 90, UTC), clock=clock), 1.0),
        (lambda clock: Result.cron("@hourly", clock=clock), 3600 - NOW % 3600),
        (lambda clock: Result.cron("*/5 * * * *", clock=clock, zone=ZoneInfo("Asia/Tokyo")), 300 - NOW % 300),
    ],
)
def test_object_is_reconciled_again_at_a_moment(result: Callable[[FakeClock], Result], seconds: float) -> None:
    assert result(FakeClock()).requeue_after == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Result.until(datetime(2030, 1, 1)), "give its time zone"),
        (lambda: Result.cron("every day"), "invalid schedule 'every day': expected 5 fields"),
        (lambda: Result.cron("0 0 30 2 *"), "no time within five years"),
        (lambda: Result.cron("61 * * * *"), "end of range \\(61\\) above maximum"),
    ],
)
def test_moment_that_is_none_is_rejected(make: Callable[[], Result], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
