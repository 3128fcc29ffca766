"""System clock."""

import math
import threading
from datetime import UTC, datetime

import pytest
from freezegun import freeze_time

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.testing.clock import FakeClock


def test_now_is_monotonic() -> None:
    first = SYSTEM_CLOCK.now()
    assert SYSTEM_CLOCK.now() >= first


def test_time_is_seconds_since_the_epoch() -> None:
    with freeze_time("2026-01-02T03:04:05Z"):
        assert SYSTEM_CLOCK.time() == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()


def test_utc_returns_an_aware_datetime() -> None:
    assert utc(FakeClock(time=0.0)) == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("late", [0.0, 5.0])
def test_wait_with_a_past_deadline_returns_at_once(late: float) -> None:
    condition = threading.Condition()
    with condition:
        SYSTEM_CLOCK.wait(condition, SYSTEM_CLOCK.now() - late)


@pytest.mark.parametrize("deadline", [None, math.inf, 1e300])
def test_wait_without_a_deadline_returns_when_notified(deadline: float | None) -> None:
    class Notifying(threading.Condition):
        """A condition that notifies itself when a thread waits."""

        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is None or timeout <= threading.TIMEOUT_MAX
            return True

    condition = Notifying()
    with condition:
        SYSTEM_CLOCK.wait(condition, deadline)


def test_wait_may_return_early() -> None:
    class Waking(threading.Condition):
        """Returns False although the wait was notified, which CPython's may."""

        waits = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.waits += 1
            return False

    condition = Waking()
    with condition:
        SYSTEM_CLOCK.wait(condition, None)
        SYSTEM_CLOCK.wait(condition, SYSTEM_CLOCK.now() + 3600.0)
    assert condition.waits == 2


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_sleep_of_zero_returns_the_state_of_stop(seconds: float) -> None:
    stop = threading.Event()
    assert SYSTEM_CLOCK.sleep(stop, seconds) is False
    stop.set()
    assert SYSTEM_CLOCK.sleep(stop, seconds) is True


@pytest.mark.parametrize("seconds", [3600.0, math.inf])
def test_sleep_ends_when_stop_is_set(seconds: float) -> None:
    stop = threading.Event()
    stop.set()
    assert SYSTEM_CLOCK.sleep(stop, seconds) is True


def test_system_and_fake_clock_implement_the_protocol() -> None:
    clocks: list[Clock] = [SYSTEM_CLOCK, FakeClock()]
    assert all(clock.now() >= 0 for clock in clocks)
