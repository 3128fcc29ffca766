"""Waiting for several caches tells which of them are missing, and why it stopped waiting."""

import logging
import threading

import pytest

from clientgo.cache import wait_for, wait_for_cache_sync
from clientgo.testing.clock import FakeClock

NEVER = float("inf")


class After:
    """Synced once the clock shows so many seconds."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    @property
    def has_synced(self) -> bool:
        return self._clock.now() >= self._seconds


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def lines(log: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.getMessage(), str(getattr(r, "instance", ""))) for r in log.records]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


def checkers(clock: FakeClock, **seconds: float) -> dict[str, After]:
    return {name: After(clock, at) for name, at in seconds.items()}


@pytest.mark.behaviour("WF-01")
def test_nothing_to_wait_for_is_done_without_a_word(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    assert wait_for(threading.Event(), "", {}, clock=clock)
    assert lines(log) == []


@pytest.mark.behaviour("WF-02")
def test_a_named_wait_for_nothing_is_said_once(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    assert wait_for(threading.Event(), "caches", {}, clock=clock)
    assert lines(log) == [("Waiting", "")]


@pytest.mark.feature("B-INF-18")
@pytest.mark.behaviour("WF-03")
def test_each_that_is_done_is_said_when_it_is(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    assert wait_for(threading.Event(), "caches", checkers(clock, first=10, second=5, last=0), clock=clock)
    assert clock.now() == pytest.approx(10.0, abs=0.02)
    assert lines(log) == [
        ("Waiting", ""),
        ("Done waiting", "last"),
        ("Done waiting", "second"),
        ("Done waiting", "first"),
    ]


@pytest.mark.feature("B-INF-18", "C-20")
@pytest.mark.behaviour("WF-04")
@pytest.mark.behaviour("WF-05")
def test_what_is_missing_when_the_time_is_up_is_named(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    result = wait_for(
        threading.Event(), "caches", checkers(clock, first=10, second=NEVER, last=0), timeout=60, clock=clock
    )
    assert not result
    assert (result.missing, result.cause) == (("second",), "deadline exceeded")
    assert clock.now() == pytest.approx(60.0, abs=0.02)
    record = log.records[-1]
    assert (record.getMessage(), vars(record)["cause"], vars(record)["instances"]) == (
        "Timed out waiting", "deadline exceeded", ["second"],
    )  # fmt: skip
    with pytest.raises(TimeoutError, match="second: deadline exceeded"):
        result.raise_error()


@pytest.mark.behaviour("WF-06")
def test_a_wait_that_is_stopped_at_once_still_sees_what_is_done(
    clock: FakeClock, log: pytest.LogCaptureFixture
) -> None:
    stop = threading.Event()
    stop.set()
    result = wait_for(stop, "caches", checkers(clock, second=5, first=10, last=0), clock=clock)
    assert (result.missing, result.cause) == (("first", "second"), "stopped")
    assert ("Done waiting", "last") in lines(log)


@pytest.mark.behaviour("WF-07")
def test_the_cause_of_a_stop_can_be_given(clock: FakeClock) -> None:
    stop = threading.Event()

    class Stopping(After):
        @property
        def has_synced(self) -> bool:
            if clock.now() >= 5.0:
                stop.set()
            return False

    result = wait_for(stop, "caches", {"fish": Stopping(clock, 0)}, cause="go fish", clock=clock)
    assert (result.missing, result.cause) == (("fish",), "go fish")
    assert clock.now() == pytest.approx(5.0, abs=0.02)


@pytest.mark.behaviour("WF-08")
def test_the_missing_are_in_order_of_their_names(clock: FakeClock) -> None:
    result = wait_for(
        threading.Event(), "", checkers(clock, second=NEVER, last=NEVER, first=NEVER), timeout=1, clock=clock
    )
    assert result.missing == ("first", "last", "second")


@pytest.mark.feature("B-INF-18")
def test_the_plain_wait_says_yes_or_no(clock: FakeClock) -> None:
    stop = threading.Event()
    done, never = After(clock, 0.5), After(clock, NEVER)
    assert wait_for_cache_sync(stop, done, clock=clock)
    assert not wait_for_cache_sync(stop, done, never, timeout=1, clock=clock)
    assert clock.now() == pytest.approx(1.5, abs=0.03)
    stop.set()
    assert not wait_for_cache_sync(stop, never, clock=clock)
