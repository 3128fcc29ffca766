"""RateLimitingQueue: delayed retries of failed keys."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimiter, RateLimitingQueue, WorkQueue
from clientgo.workqueue.ratelimiters import default_controller_rate_limiter, default_item_based_rate_limiter


@pytest.mark.feature("B-WQ-06", "A-03")
def test_failed_keys_are_retried_with_growing_delays_until_forgotten() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(ItemExponentialFailureRateLimiter(0.001, 1.0), clock=clock)
    queue.add_rate_limited("one")
    queue.add_rate_limited("one")
    assert queue.num_requeues("one") == 2
    # The earlier of the two times, 1 ms and 2 ms, wins.
    assert len(queue) == 0
    clock.step(0.001)
    assert queue.get() == "one"
    queue.done("one")
    queue.add_rate_limited("one")
    clock.step(0.003)
    assert len(queue) == 0
    clock.step(0.001)
    assert queue.get() == "one"
    queue.add_rate_limited("two")
    assert queue.num_requeues("two") == 1
    queue.forget("one")
    assert queue.num_requeues("one") == 0
    queue.done("one")
    queue.add_rate_limited("one")
    clock.step(0.001)
    assert len(queue) == 2


@pytest.mark.parametrize(("merge_delays", "delays"), [(False, [1.0, 0.5]), (True, [1.0, 2.0])])
def test_retry_is_due_at_the_time_that_is_returned(*, merge_delays: bool, delays: list[float]) -> None:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter[str](1.0, 60.0)
    queue = WorkQueue[str](limiter, clock=clock, merge_delays=merge_delays)
    returned = []
    for _ in range(2):
        queue.add("a")  # an event: without merged delays, an earlier retry remains
        with queue.processing() as key:
            returned.append(queue.add_rate_limited(key))
        assert queue.state().waiting == (("a", returned[-1]),)
        clock.step(0.5)
    assert returned == delays
    queue.add("a")
    with queue.processing() as key:
        queue.add(key)
        assert queue.add_after(key, -1.0) == 0.0
        assert not merge_delays or queue.add_rate_limited(key) == 0.0


def test_default_limiter_is_that_of_controllers() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    queue.add_rate_limited("one")
    clock.step(0.004)
    assert len(queue) == 0
    clock.step(0.001)
    assert len(queue) == 1


def test_key_rate_limited_after_shut_down_is_dropped() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    queue.shut_down()
    queue.add_rate_limited("one")
    clock.step(10.0)
    assert len(queue) == 0


@pytest.mark.feature("C-55")
@pytest.mark.parametrize(
    ("limiter", "expected"),
    [
        # 5 ms of its own; but the 100 tokens are gone and so are those of the next 90 seconds, for one key.
        pytest.param(default_controller_rate_limiter, 90.1, id="the bucket is everybody's"),
        pytest.param(lambda **_: default_item_based_rate_limiter(), 0.001, id="each key by itself"),
    ],
)
def test_frequent_key_delays_others_only_through_a_shared_bucket(
    limiter: Callable[..., RateLimiter[str]], expected: float
) -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(limiter(clock=clock), clock=clock)
    for _ in range(1000):
        queue.add_rate_limited("noisy")  # one entry, however often it is added
    queue.add_rate_limited("quiet")
    assert dict(queue.state().waiting)["quiet"] == pytest.approx(expected)


class Limiter:
    """Limiter of a program whose methods all raise, or return, the same."""

    def __init__(self, result: object) -> None:
        self.result = result

    def when(self, _: str) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    forget = num_requeues = when


@pytest.mark.parametrize(
    "result",
    [
        ValueError("no"), SystemExit(1), asyncio.CancelledError(), None, "5", math.nan, math.inf, True, 10**400,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_key_has_the_default_backoff_if_the_limiter_fails(result: object, caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(Limiter(result), clock=clock)
    delays = []
    for _ in range(3):
        queue.add("a")
        with queue.processing() as key:
            delays.append(queue.add_rate_limited(key))
            clock.step(delays[-1])
            queue.trigger(key)
    assert delays == [0.005, 0.01, 0.02]
    queue.forget("a")
    assert queue.add_rate_limited("a") == 0.005
    assert queue.state().queued == (("a", 0.0),)
    assert 0 < len([record for record in caplog.records if "rate limiter failed" in record.message]) <= 3


def test_negative_delay_of_a_limiter_adds_at_once() -> None:
    queue: RateLimitingQueue[str] = RateLimitingQueue(Limiter(-1))
    queue.add_rate_limited("a")
    assert queue.get() == "a"
