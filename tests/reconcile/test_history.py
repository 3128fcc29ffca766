"""History of reconciliations: what is recorded of an attempt, and the bounds of its memory."""

import threading
import tracemalloc
from contextlib import suppress

import pytest

from clientgo.errors import Conflict
from clientgo.meta import ObjectName
from clientgo.reconcile.attempts import Attempts
from clientgo.reconcile.history import ERROR_LENGTH, FAILING, History, Reconciliation
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock

KEY = ObjectName("ns", "a")


def recording(clock: FakeClock, size: int = 200) -> tuple[Attempts, History]:
    attempts, history = Attempts("Foo", clock=clock), History(size)
    attempts.history = history
    return attempts, history


def test_success_is_recorded_with_trigger_start_and_duration() -> None:
    clock = FakeClock()
    attempts, history = recording(clock)
    began = clock.now()
    with attempts.at(KEY, "event") as attempt:
        clock.step(0.5)
        attempt.succeeded()
    [(number, item)] = history.after(0)
    assert (item.key, item.trigger, item.began, item.seconds, item.outcome) == (KEY, "event", began, 0.5, "success")
    assert (item.error, item.next_at) == ("", None)
    assert history.after(number) == []


def test_requeue_is_recorded_with_its_time() -> None:
    clock = FakeClock()
    attempts, history = recording(clock)
    with attempts.at(KEY) as attempt:
        attempt.succeeded("requeue_after", requeue_in=30.0)
    assert [(item.outcome, item.next_at) for _, item in history.after(0)] == [("requeue_after", clock.now() + 30.0)]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Conflict(message="changed meanwhile"), "changed meanwhile"),
        (KeyError("a"), "KeyError: 'a'"),
        (ValueError(), "ValueError: "),
        (Conflict(message="x" * 1000), "x" * ERROR_LENGTH),
        (ExceptionGroup("two", [Conflict(message="b"), Conflict(message="c")]), "two: b; c"),
    ],
    ids=["expected", "bug", "bug without text", "long", "group"],
)
def test_failure_is_recorded_with_error_and_next_retry(error: Exception, text: str) -> None:
    clock = FakeClock()
    attempts, history = recording(clock)
    with attempts.at(KEY) as attempt:
        attempt.failed(error, retry_in=2.0, failures=1)
    [(_, item)] = history.after(0)
    assert (item.outcome, item.error, item.next_at) == ("error", text, clock.now() + 2.0)


def test_terminal_error_is_recorded_without_a_retry() -> None:
    attempts, history = recording(FakeClock())
    with attempts.at(KEY) as attempt:
        attempt.failed_terminally(ValueError("never"))
    assert [(item.outcome, item.error, item.next_at) for _, item in history.after(0)] == [("terminal", "never", None)]


def test_attempt_without_a_result_counts_as_failed() -> None:
    attempts, history = recording(FakeClock())
    with suppress(KeyError), attempts.at(KEY):
        raise KeyError(KEY)
    assert [(item.outcome, item.error) for _, item in history.after(0)] == [("error", "no result reported")]


def test_failures_in_a_row_are_counted_until_the_next_success() -> None:
    clock = FakeClock()
    attempts, history = recording(clock)
    began = clock.now()
    for number in (1, 2, 3):
        with attempts.at(KEY) as attempt:
            attempt.failed(Conflict(message=f"failure {number}"), retry_in=1.0)
        clock.step(1.0)
    result = history.failure_of(KEY)
    assert result is not None
    assert (result.failures, result.since, result.error, result.next_at) == (3, began, "failure 3", clock.now())
    assert history.failing() == [result]
    with attempts.at(KEY) as attempt:
        attempt.succeeded()
    assert history.failing() == []


def test_only_the_last_reconciliations_are_kept() -> None:
    attempts, history = recording(FakeClock(), size=3)
    for number in range(10):
        with attempts.at(ObjectName("ns", str(number))) as attempt:
            attempt.succeeded()
    assert [str(item.key) for _, item in history.after(0)] == ["ns/7", "ns/8", "ns/9"]
    assert [number for number, _ in history.after(8)] == [9, 10]


def test_memory_does_not_grow_with_the_number_of_reconciliations() -> None:
    history = History()

    def fail(numbers: range) -> int:
        for number in numbers:
            key = ObjectName("ns", f"foo-{number}")
            history.add(Reconciliation(key, "event", 0.0, 0.0, "error", f"{number:300}"))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = fail(range(2 * FAILING))
        assert fail(range(2 * FAILING, 10 * FAILING)) < before * 1.1 + 10_000
    finally:
        tracemalloc.stop()
    assert len(history.failing()) == FAILING
    assert str(history.failing()[0].key) == f"ns/foo-{10 * FAILING - 1}"


def test_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match="invalid size of the history 0"):
        History(0)


def test_nothing_is_recorded_by_default() -> None:
    assert Attempts("Foo").history is None


def test_workers_are_shown_with_their_object_or_as_idle() -> None:
    clock, begun, end = FakeClock(), threading.Event(), threading.Event()
    attempts = Attempts("Foo", clock=clock)
    since = clock.now()

    def work() -> None:
        with attempts.at(KEY, "event") as attempt:
            begun.set()
            end.wait(10)
            attempt.succeeded()

    with Group().ending_within(20) as group:
        group.start(work, name="worker-0")
        assert begun.wait(10)
        with attempts.at(ObjectName("ns", "b")) as attempt:
            clock.step(1.0)
            attempt.succeeded()
        idle, busy = attempts.workers()
        end.set()
    assert (busy.name, busy.key, busy.trigger, busy.since) == ("worker-0", KEY, "event", since)
    assert (idle.name, idle.key, idle.since) == (threading.current_thread().name, None, since + 1.0)
    assert [worker.name for worker in attempts.workers()] == [idle.name], "a thread that has ended is not shown"
