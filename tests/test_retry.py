"""Trying again, and giving up with the error that counts."""

import threading

import pytest

from clientgo.backoff import Backoff
from clientgo.errors import AlreadyExists, Conflict, NotFound
from clientgo.retry import DEFAULT_BACKOFF, DEFAULT_RETRY, on_error, retry_on_conflict
from clientgo.testing.clock import FakeClock

THREE = Backoff(duration=0.01, factor=1.0, steps=3)


class Script:
    """A function that raises or returns what it is told, one after the other; the last for ever."""

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
def test_conflicts_without_end_raise_the_very_last_one(clock: FakeClock) -> None:
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
def test_any_other_error_is_raised_at_once(clock: FakeClock, error: Exception) -> None:
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
    """What a function raises that was told to stop."""


@pytest.mark.feature("B-RT-02", "C-02")
@pytest.mark.behaviour("RT-02")
def test_a_cancellation_inside_the_function_comes_out(clock: FakeClock) -> None:
    with pytest.raises(Cancelled):
        retry_on_conflict(Script(Cancelled()), THREE, clock=clock)


def test_what_is_retriable_is_the_callers_to_say(clock: FakeClock) -> None:
    fn = Script(NotFound(), "there")
    assert on_error(THREE, lambda error: isinstance(error, NotFound), fn, clock=clock) == "there"


def test_stop_ends_the_tries_with_the_functions_own_error(clock: FakeClock) -> None:
    stop = threading.Event()
    stop.set()
    fn = Script(Conflict("mine"))
    with pytest.raises(Conflict, match="mine"):
        retry_on_conflict(fn, THREE, clock=clock, stop=stop)
    assert fn.calls == 1


@pytest.mark.feature("B-RT-03")
@pytest.mark.parametrize("cap", [4.0, 5.0])
def test_a_delay_that_would_pass_the_cap_ends_the_tries(clock: FakeClock, cap: float) -> None:
    fn = Script(Conflict())
    with pytest.raises(Conflict):
        retry_on_conflict(fn, Backoff(duration=1.0, factor=2.0, steps=100, cap=cap), clock=clock)
    # 1, 2 and 4 s; the next would be 8 s.
    assert clock.slept == [1.0, 2.0]
    assert fn.calls == 3


@pytest.mark.feature("B-RT-01", "A-05")
def test_the_default_for_conflicts_is_5_attempts_10_ms_apart(clock: FakeClock) -> None:
    fn = Script(Conflict())
    with pytest.raises(Conflict):
        retry_on_conflict(fn, clock=clock)
    assert fn.calls == 5
    assert all(0.010 <= seconds < 0.011 for seconds in clock.slept)


@pytest.mark.feature("B-RT-01")
def test_the_default_backoff_is_4_attempts_five_times_as_far_apart_each(clock: FakeClock) -> None:
    fn = Script(Conflict())
    with pytest.raises(Conflict):
        retry_on_conflict(fn, DEFAULT_BACKOFF, clock=clock)
    assert fn.calls == 4
    assert clock.slept == pytest.approx([0.0105, 0.0525, 0.2625], rel=0.05)
    assert (DEFAULT_RETRY.jitter, DEFAULT_BACKOFF.jitter) == (0.1, 0.1)


def test_one_attempt_is_one_call_without_a_delay(clock: FakeClock) -> None:
    fn = Script(Conflict("only"))
    with pytest.raises(Conflict, match="only"):
        retry_on_conflict(fn, Backoff(duration=1.0, steps=1), clock=clock)
    assert (fn.calls, clock.slept) == (1, [])


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="0 steps, must be at least 1"):
        on_error(Backoff(duration=1.0, steps=0), lambda _: True, Script("never"))
