"""Retries of errors, in particular of conflicts."""

import threading

import pytest

from clientgo.backoff import Backoff
from clientgo.errors import AlreadyExists, Conflict, NotFound
from clientgo.reconcile.retry import DEFAULT_BACKOFF, DEFAULT_RETRY, on_error, retry_on_conflict
from clientgo.stop.stopping import ends_with
from clientgo.testing.clock import FakeClock

THREE = Backoff(duration=0.01, factor=1.0, steps=3)


class Script:
    """Function that raises or returns the given values one after another, and then repeats the last."""

    def __init__(self, *results: Exception | str) -> None:
        self.results = list(results)
        self.calls = 0

    def __call__(self) -> str:
        result = self.results[min(self.calls, len(self.results) - 1)]
        self.calls += 1
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


@pytest.mark.feature("B-RT-02")
@pytest.mark.behaviour("RT-01")
def test_last_conflict_is_raised(clock: FakeClock) -> None:
    last = Conflict("third")
    fn = Script(Conflict("first"), Conflict("second"), last)
    with pytest.raises(Conflict) as caught:
        retry_on_conflict(fn, THREE, clock=clock)
    assert caught.value is last
    assert fn.calls == 3
    assert clock.slept == [0.01, 0.01]


@pytest.mark.behaviour("RT-01")
def test_success_is_returned_after_one_call(clock: FakeClock) -> None:
    fn = Script("done")
    assert retry_on_conflict(fn, THREE, clock=clock) == "done"
    assert (fn.calls, clock.slept) == (1, [])


@pytest.mark.behaviour("RT-01")
@pytest.mark.parametrize("error", [NotFound(), AlreadyExists(), ValueError("boom")])
def test_other_errors_are_raised_at_once(clock: FakeClock, error: Exception) -> None:
    fn = Script(error)
    with pytest.raises(type(error)) as caught:
        retry_on_conflict(fn, THREE, clock=clock)
    assert caught.value is error
    assert (fn.calls, clock.slept) == (1, [])


@pytest.mark.behaviour("RT-01")
def test_success_after_two_conflicts_is_returned(clock: FakeClock) -> None:
    fn = Script(Conflict(), Conflict(), "done")
    assert retry_on_conflict(fn, THREE, clock=clock) == "done"
    assert fn.calls == 3


class Cancelled(Exception):
    """Exception of a function that is cancelled."""


@pytest.mark.feature("B-RT-02", "C-02")
@pytest.mark.behaviour("RT-02")
def test_base_exception_is_not_retried(clock: FakeClock) -> None:
    with pytest.raises(Cancelled):
        retry_on_conflict(Script(Cancelled()), THREE, clock=clock)


def test_caller_decides_which_errors_are_retried(clock: FakeClock) -> None:
    fn = Script(NotFound(), "there")
    assert on_error(THREE, lambda error: isinstance(error, NotFound), fn, clock=clock) == "there"


def test_stop_ends_the_retries_with_the_functions_error(clock: FakeClock) -> None:
    stop = threading.Event()
    stop.set()
    fn = Script(Conflict("mine"))
    with pytest.raises(Conflict, match="mine"):
        retry_on_conflict(fn, THREE, clock=clock, stop=stop)
    assert fn.calls == 1


def test_stop_of_the_running_code_ends_the_retries(clock: FakeClock) -> None:
    stop = threading.Event()
    stop.set()
    fn = Script(Conflict("mine"))
    with ends_with(stop), pytest.raises(Conflict, match="mine"):
        retry_on_conflict(fn, THREE, clock=clock)
    assert fn.calls == 1


@pytest.mark.feature("B-RT-03")
@pytest.mark.parametrize("cap", [4.0, 5.0])
def test_delay_above_the_cap_ends_the_retries(clock: FakeClock, cap: float) -> None:
    fn = Script(Conflict())
    with pytest.raises(Conflict):
        retry_on_conflict(fn, Backoff(duration=1.0, factor=2.0, steps=100, cap=cap), clock=clock)
    # 1, 2 and 4 s; the next would be 8 s.
    assert clock.slept == [1.0, 2.0]
    assert fn.calls == 3


@pytest.mark.feature("B-RT-01", "A-05")
def test_default_retry_is_5_attempts_10_ms_apart(clock: FakeClock) -> None:
    fn = Script(Conflict())
    with pytest.raises(Conflict):
        retry_on_conflict(fn, clock=clock)
    assert fn.calls == 5
    assert all(0.010 <= seconds < 0.011 for seconds in clock.slept)


@pytest.mark.feature("B-RT-01")
def test_default_backoff_is_4_attempts_with_factor_5(clock: FakeClock) -> None:
    fn = Script(Conflict())
    with pytest.raises(Conflict):
        retry_on_conflict(fn, DEFAULT_BACKOFF, clock=clock)
    assert fn.calls == 4
    assert clock.slept == pytest.approx([0.0105, 0.0525, 0.2625], rel=0.05)
    assert (DEFAULT_RETRY.jitter, DEFAULT_BACKOFF.jitter) == (0.1, 0.1)


def test_single_attempt_has_no_delay(clock: FakeClock) -> None:
    fn = Script(Conflict("only"))
    with pytest.raises(Conflict, match="only"):
        retry_on_conflict(fn, Backoff(duration=1.0, steps=1), clock=clock)
    assert (fn.calls, clock.slept) == (1, [])


def test_backoff_without_steps_is_rejected() -> None:
    with pytest.raises(ValueError, match="0 steps, must be at least 1"):
        on_error(Backoff(duration=1.0, steps=0), lambda _: True, Script("never"))
