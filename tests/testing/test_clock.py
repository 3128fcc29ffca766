"""FakeClock: the contract of `Clock`, and steps that are never missed."""

import threading

import pytest

from clientgo.clock import Clock
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import ClockWaitTimeout, FakeClock


@pytest.mark.feature("B-TST-06")
def test_it_is_a_clock() -> None:
    clock: Clock = FakeClock(time=5.0)
    assert (clock.now(), clock.time()) == (0.0, 5.0)


def test_step_moves_both_scales() -> None:
    clock = FakeClock(time=1000.0, now=7.0)
    clock.step(2.5)
    assert (clock.now(), clock.time()) == (9.5, 1002.5)


def test_set_time_is_a_corrected_wall_clock_and_not_passing_time() -> None:
    clock = FakeClock(time=1000.0)
    clock.set_time(10.0)
    assert (clock.now(), clock.time()) == (0.0, 10.0)


def test_negative_step_is_rejected() -> None:
    with pytest.raises(ValueError, match="expected a positive number"):
        FakeClock().step(-1)


def test_deadline_of_now_plus_d_is_met_by_a_step_of_d_to_the_last_bit() -> None:
    clock = FakeClock()
    for seconds in (0.1, 0.2, 0.7, 1e-9, 3600.1):
        deadline = clock.now() + seconds
        clock.step(seconds)
        assert clock.now() >= deadline


def test_wait_whose_deadline_has_come_returns_at_once() -> None:
    clock, condition = FakeClock(now=3.0), threading.Condition()
    with condition:
        clock.wait(condition, 3.0)
    assert clock.waiters() == 0


def waiter(clock: FakeClock, condition: threading.Condition, deadline: float | None) -> None:
    with condition:
        clock.wait(condition, deadline)


def test_step_wakes_every_thread_whose_deadline_it_reaches_and_no_other() -> None:
    clock, group = FakeClock(), Group()
    due, later = threading.Condition(), threading.Condition()
    for number in range(3):
        group.start(waiter, clock, due, 1.0, name=f"due-{number}")
    group.start(waiter, clock, later, 1.5, name="later")
    clock.wait_for_waiters(4)
    clock.step(1.0)
    assert clock.waiters() == 1
    clock.step(0.5)
    group.join(10)


def test_notifying_the_condition_ends_a_wait_too() -> None:
    clock, group, condition = FakeClock(), Group(), threading.Condition()
    group.start(waiter, clock, condition, None, name="waiter")
    clock.wait_for_waiters()
    clock.step(1e9)
    assert clock.waiters() == 1
    with condition:
        condition.notify_all()
    group.join(10)
    assert clock.waiters() == 0


def test_step_taken_while_the_waiter_still_holds_its_condition_is_not_lost() -> None:
    clock, group, condition = FakeClock(), Group(), threading.Condition(threading.Lock())
    for _ in range(200):
        deadline = clock.now() + 1.0
        group.start(waiter, clock, condition, deadline, name="waiter")
        # Before, during or after the waiter's entry, as it happens: it has to end in any case.
        clock.step(1.0)
        group.join(10)


def test_sleep_ends_when_the_time_is_stepped() -> None:
    clock, group, stop = FakeClock(), Group(), threading.Event()
    results: list[bool] = []
    group.start(lambda: results.append(clock.sleep(stop, 5.0)), name="sleeper")
    clock.wait_for_waiters()
    clock.step(4.0)
    assert (clock.waiters(), results) == (1, [])
    clock.step(1.0)
    group.join(10)
    assert results == [False]
    assert clock.slept == [5.0]


def test_sleep_ends_when_stop_is_set() -> None:
    clock, group, stop = FakeClock(), Group(), threading.Event()
    results: list[bool] = []
    group.start(lambda: results.append(clock.sleep(stop, 5.0)), name="sleeper")
    clock.wait_for_waiters()
    stop.set()
    group.join(10)
    assert results == [True]


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_sleep_of_zero_seconds_returns_at_once(seconds: float) -> None:
    assert FakeClock().sleep(threading.Event(), seconds) is False


def test_automatic_clock_moves_to_the_end_of_each_wait() -> None:
    clock, condition = FakeClock(time=100.0, auto=True), threading.Condition()
    assert clock.sleep(threading.Event(), 2.0) is False
    with condition:
        clock.wait(condition, 3.0)
    assert (clock.now(), clock.time()) == (3.0, 103.0)


def test_waiting_for_missing_threads_times_out() -> None:
    with pytest.raises(ClockWaitTimeout, match="0 of 1 threads"):
        FakeClock().wait_for_waiters(timeout=0.01)


def test_repr_shows_the_time_and_the_waiters() -> None:
    assert repr(FakeClock(now=2.0)) == "<FakeClock 2.0 s, 0 waiting>"


def test_sleeps_begun_are_known_even_after_they_ended() -> None:
    clock, group, stop = FakeClock(), Group(), threading.Event()
    group.start(clock.sleep, stop, 5.0, name="sleeper")
    clock.wait_for_sleeps(1)
    clock.step(5.0)
    group.join(10)
    clock.wait_for_sleeps(1)
    with pytest.raises(ClockWaitTimeout, match="1 of 2 sleeps"):
        clock.wait_for_sleeps(2, timeout=0.01)


def test_step_does_not_wake_those_who_wait_for_the_stop_event_itself() -> None:
    clock, group, stop = FakeClock(), Group(), threading.Event()
    seen: list[bool] = []
    group.start(lambda: seen.append(stop.wait(10)), name="waiting for stop")
    group.start(clock.sleep, stop, 5.0, name="sleeper")
    clock.wait_for_waiters()
    clock.step(5.0)
    assert seen == []
    stop.set()
    group.join(10)
    assert seen == [True]


def test_automatic_clock_does_not_move_for_a_limit_on_the_work_of_others() -> None:
    clock, done, group = FakeClock(auto=True), threading.Event(), Group()
    ended: list[bool] = []
    group.start(lambda: ended.append(clock.wait_for(done, 10.0)), name="limited")
    clock.wait_for_sleeps(1)
    assert clock.now() == 0.0
    done.set()
    group.join(10)
    assert ended == [True]


def test_limit_ends_when_it_is_stepped_over() -> None:
    clock, group = FakeClock(auto=True), Group()
    ended: list[bool] = []
    group.start(lambda: ended.append(clock.wait_for(threading.Event(), 10.0)), name="limited")
    clock.wait_for_waiters(1)
    clock.step(10.0)
    group.join(10)
    assert ended == [False]
