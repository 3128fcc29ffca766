"""RateLimitingQueue: failing keys come later and later."""

import pytest

from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue


@pytest.mark.feature("B-WQ-06")
def test_failing_keys_come_back_after_growing_delays_until_forgotten() -> None:
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


def test_without_a_limiter_the_default_for_controllers_counts() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    queue.add_rate_limited("one")
    clock.step(0.004)
    assert len(queue) == 0
    clock.step(0.001)
    assert len(queue) == 1


def test_a_key_rate_limited_after_shut_down_is_dropped() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    queue.shut_down()
    queue.add_rate_limited("one")
    clock.step(10.0)
    assert len(queue) == 0
