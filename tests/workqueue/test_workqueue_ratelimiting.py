"""RateLimitingQueue: delayed retries of failed keys."""

from collections.abc import Callable

import pytest

from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimiter, RateLimitingQueue
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
