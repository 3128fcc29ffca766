"""Client-side rate limiting: burst, rate, logging of waits."""

import logging
import math
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.errors import ConnectionFailed
from clientgo.metrics import NoMetrics
from clientgo.rest.clientmetrics import RequestMetrics
from clientgo.rest.flowcontrol import Throttle, TokenBucketRateLimiter
from clientgo.rest.limits import InFlightRequest
from clientgo.stop.stopping import scope_of
from clientgo.testing.clock import FakeClock


class Fixed:
    """A limiter that makes requests wait as told."""

    def __init__(self, clock: FakeClock, *waits: float) -> None:
        self._clock = clock
        self._waits = list(waits)

    def try_accept(self) -> bool:
        raise AssertionError("requests wait")

    def wait(self, stop: threading.Event, *, timeout: float = math.inf) -> bool:
        return not self._clock.sleep(stop, self._waits.pop(0))


@pytest.mark.feature("B-REST-02")
def test_waits_are_logged_at_debug_and_long_ones_at_info_every_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(auto=True)
    caplog.set_level(logging.DEBUG, "clientgo.rest.flowcontrol")
    throttle = Throttle(Fixed(clock, 0.05, 0.06, 1.5, 2.0, 9.0, 1.1), clock, RequestMetrics(NoMetrics(), ""))
    levels = []
    for _ in range(6):
        caplog.clear()
        throttle.wait(InFlightRequest(None, clock), "GET", "/")
        levels.append([record.levelname for record in caplog.records])
    # The fourth comes 2 s after the third was said, the fifth 11 s.
    assert levels == [[], ["DEBUG"], ["INFO"], ["DEBUG"], ["INFO"], ["DEBUG"]]


@pytest.mark.behaviour("RR-12")
def test_stop_ends_the_wait_for_the_rate_limiter() -> None:
    stop, clock = threading.Event(), FakeClock()
    throttle = Throttle(TokenBucketRateLimiter(0.001, 1, clock=clock), clock, RequestMetrics(NoMetrics(), ""))
    throttle.wait(InFlightRequest(None, clock), "GET", "/")
    stop.set()
    with (
        pytest.raises(ConnectionFailed, match="stopping") as failed,
        InFlightRequest(None, clock, (scope_of(stop),)) as request,
    ):
        throttle.wait(request, "GET", "/")
    assert failed.value.stopping
    assert not failed.value.sent
    assert "rate limiter" not in str(failed.value)


NEVER = threading.Event()


@pytest.mark.behaviour("FC-10")
@pytest.mark.feature("B-FC-01")
def test_limiter_accepts_the_burst_and_no_more() -> None:
    limiter = TokenBucketRateLimiter(1.0, 3, clock=FakeClock())
    assert [limiter.try_accept() for _ in range(4)] == [True, True, True, False]


@pytest.mark.behaviour("FC-11")
def test_tokens_are_refilled_over_time() -> None:
    clock = FakeClock()
    limiter = TokenBucketRateLimiter(1.0, 1, clock=clock)
    assert [limiter.try_accept(), limiter.try_accept()] == [True, False]
    clock.step(2)
    assert limiter.try_accept()


@pytest.mark.behaviour("FC-12")
def test_waiting_requests_are_accepted_at_the_rate() -> None:
    clock = FakeClock(auto=True)
    limiter = TokenBucketRateLimiter(10.0, 5, clock=clock)
    assert all(limiter.wait(NEVER) for _ in range(16))
    assert clock.now() == pytest.approx(1.1)


@pytest.mark.behaviour("FC-15")
def test_wait_beyond_the_timeout_is_rejected_and_takes_no_token() -> None:
    clock = FakeClock()
    limiter = TokenBucketRateLimiter(0.0001, 1, clock=clock)
    assert limiter.wait(NEVER, timeout=1.0)
    assert not limiter.wait(NEVER, timeout=1.0)
    assert clock.slept == []
    clock.step(10_000)
    assert limiter.try_accept()


def test_stopped_wait_takes_no_token() -> None:
    clock, stop = FakeClock(), threading.Event()
    limiter = TokenBucketRateLimiter(1.0, 1, clock=clock)
    stop.set()
    assert limiter.wait(stop), "a token that is there needs no waiting"
    assert not limiter.wait(stop)
    clock.step(1)
    assert limiter.try_accept()


@pytest.mark.behaviour("FC-16")
def test_small_rates_do_not_lose_tokens_to_rounding() -> None:
    (qps,) = struct.unpack("f", struct.pack("f", 1 / 1.031425))
    clock = FakeClock(now=946_684_800.0)  # 2000-01-01, as seconds of the epoch
    limiter = TokenBucketRateLimiter(qps, 1, clock=clock)
    for _ in range(60):
        assert limiter.try_accept()
        clock.step(2)


@given(st.floats(0.01, 1000), st.lists(st.floats(0, 5), max_size=40))
def test_token_is_available_after_the_reserved_wait(qps: float, gaps: list[float]) -> None:
    clock = FakeClock(auto=True)
    limiter = TokenBucketRateLimiter(qps, 1, clock=clock)
    began = clock.now()
    for gap in gaps:
        clock.step(gap)
        assert limiter.wait(NEVER)
    assert clock.now() - began >= (len(gaps) - 1) / qps - 1e-6
