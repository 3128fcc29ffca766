"""Rate limiters: delays of failed keys."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.backoff import Backoff
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import (
    BackoffRateLimiter,
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)

MINUTE, HOUR = 60.0, 3600.0


def delays(limiter: RateLimiter[str], key: str, count: int) -> list[float]:
    return [limiter.when(key) for _ in range(count)]


@pytest.mark.feature("B-WQ-07")
@pytest.mark.behaviour("WQ-17", "WQ-20")
@pytest.mark.parametrize(
    ("limiter", "expected"),
    [
        (ItemExponentialFailureRateLimiter[str](0.001, 1.0), [0.001, 0.002, 0.004, 0.008, 0.016]),
        (ItemFastSlowRateLimiter[str](0.005, 10.0, 3), [0.005, 0.005, 0.005, 10.0, 10.0]),
        (BackoffRateLimiter[str](Backoff(duration=1.0, factor=3.0, cap=5.0)), [1.0, 3.0, 5.0, 5.0, 5.0]),
        (
            MaxOfRateLimiter[str](
                ItemFastSlowRateLimiter(0.005, 3.0, 3), ItemExponentialFailureRateLimiter(0.001, 1.0)
            ),
            [0.005, 0.005, 0.005, 3.0, 3.0],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_delays_of_each_key_grow_until_it_is_forgotten(limiter: RateLimiter[str], expected: list[float]) -> None:
    assert delays(limiter, "one", 5) == expected
    assert limiter.num_requeues("one") == 5
    assert delays(limiter, "two", 2) == expected[:2]
    assert limiter.num_requeues("two") == 2
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == expected[0]


@pytest.mark.behaviour("WQ-18")
@pytest.mark.parametrize(
    ("base", "longest", "failures", "delay"),
    [
        pytest.param(0.001, 1000.0, 5, 0.032, id="1ms-sixth"),
        pytest.param(0.001, 1000.0, 1000, 1000.0, id="1ms-overflow"),
        pytest.param(MINUTE, 1000 * HOUR, 2, 4 * MINUTE, id="1min-third"),
        pytest.param(MINUTE, 1000 * HOUR, 1000, 1000 * HOUR, id="1min-overflow"),
        pytest.param(MINUTE, 1000 * HOUR, 5000, 1000 * HOUR, id="beyond-a-float"),
    ],
)
def test_delay_of_many_failures_is_the_maximum(base: float, longest: float, failures: int, delay: float) -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(base, longest)
    delays(limiter, "key", failures)
    assert limiter.when("key") == delay


class StepLimiter:
    """5 ms for the first 100 calls, 1000 s for all later ones."""

    def __init__(self) -> None:
        self.calls = 0
        self.forgotten: list[int] = []

    def when(self, item: int, /) -> float:
        self.calls += 1
        return 0.005 if self.calls <= 100 else 1000.0

    def forget(self, item: int, /) -> None:
        self.forgotten.append(item)

    def num_requeues(self, item: int, /) -> int:
        return self.calls


@pytest.mark.behaviour("WQ-21")
def test_max_wait_limits_the_delay_of_another_limiter() -> None:
    inner = StepLimiter()
    limiter: WithMaxWaitRateLimiter[int] = WithMaxWaitRateLimiter(inner, 500.0)
    assert [limiter.when(item) for item in range(100)] == [0.005] * 100
    assert [limiter.when(item) for item in range(100, 200)] == [500.0] * 100
    assert limiter.num_requeues(3) == 200
    limiter.forget(3)
    assert inner.forgotten == [3]


def test_bucket_delays_calls_after_its_burst() -> None:
    limiter: BucketRateLimiter[str] = BucketRateLimiter(10.0, 3, clock=FakeClock())
    assert delays(limiter, "any", 5) == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])
    limiter.forget("any")
    assert limiter.num_requeues("any") == 0
    assert limiter.when("other") == pytest.approx(0.3)


@pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_bucket_without_tokens_is_rejected(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="invalid rate limit"):
        BucketRateLimiter(qps, burst)


def test_max_of_without_limiters_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least one is required"):
        MaxOfRateLimiter()


@pytest.mark.feature("B-WQ-08")
def test_default_controller_rate_limiter_has_the_delays_of_client_go() -> None:
    limiter: MaxOfRateLimiter[str] = default_controller_rate_limiter(clock=FakeClock())
    assert delays(limiter, "one", 3) == [0.005, 0.010, 0.020]
    assert [limiter.when(str(number)) for number in range(97)] == [0.005] * 97
    assert limiter.when("beyond the burst") == pytest.approx(0.1)
    delays(limiter, "one", 1000)
    assert limiter.when("one") == 1000.0


@pytest.mark.feature("A-31")
def test_bucket_of_the_default_is_configurable() -> None:
    limiter: MaxOfRateLimiter[str] = default_controller_rate_limiter(qps=50.0, burst=300, clock=FakeClock())
    assert [limiter.when(str(number)) for number in range(300)] == [0.005] * 300
    assert limiter.when("beyond the burst") == pytest.approx(1 / 50)


@pytest.mark.feature("B-WQ-08")
def test_default_item_based_rate_limiter_is_1_ms_to_1000_s() -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = default_item_based_rate_limiter()
    assert delays(limiter, "one", 2) == [0.001, 0.002]
    delays(limiter, "one", 100)
    assert limiter.when("one") == 1000.0


LIMITERS: list[Callable[[], RateLimiter[str]]] = [
    lambda: ItemExponentialFailureRateLimiter(0.001, 1.0),
    lambda: ItemFastSlowRateLimiter(0.001, 1.0, 3),
    lambda: default_controller_rate_limiter(clock=FakeClock()),
]


@pytest.mark.parametrize("make", LIMITERS)
def test_failures_from_many_threads_are_all_counted(make: Callable[[], RateLimiter[str]]) -> None:
    limiter, start, group = make(), threading.Barrier(8), Group()

    def fail() -> None:
        start.wait(10)
        delays(limiter, "key", 500)

    for number in range(8):
        group.start(fail, name=f"failing-{number}")
    group.join(20)
    assert limiter.num_requeues("key") == 4000


def test_tokens_reserved_by_many_threads_are_unique() -> None:
    limiter: BucketRateLimiter[str] = BucketRateLimiter(10.0, 1, clock=FakeClock())
    group, reserved, lock = Group(), [], threading.Lock()

    def reserve() -> None:
        mine = delays(limiter, "any", 100)
        with lock:
            reserved.extend(mine)

    for number in range(4):
        group.start(reserve, name=f"reserving-{number}")
    group.join(20)
    assert sorted(reserved) == pytest.approx([number / 10 for number in range(400)])


@given(st.floats(1e-9, 1e6), st.floats(1e-9, 1e9), st.integers(1, 80))
def test_exponential_delays_are_monotonic_and_limited(base: float, longest: float, count: int) -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(base, longest)
    result = delays(limiter, "key", count)
    assert result == sorted(result)
    assert result[0] == min(base, longest)
    assert max(result) <= longest


@pytest.mark.parametrize(
    ("limiter", "text"),
    [
        (ItemFastSlowRateLimiter(1.0, 2.0, 3), "<ItemFastSlowRateLimiter 0 keys failing>"),
        (BucketRateLimiter(1.0, 3), "<BucketRateLimiter <TokenBucket 3 of 3 tokens, 1 a second>>"),
        (
            WithMaxWaitRateLimiter(MaxOfRateLimiter(BucketRateLimiter(1.0, 3)), 9.0),
            "<WithMaxWaitRateLimiter 9 s, "
            "<MaxOfRateLimiter <BucketRateLimiter <TokenBucket 3 of 3 tokens, 1 a second>>>>",
        ),
    ],
)
def test_repr_shows_the_state(limiter: object, text: str) -> None:
    assert repr(limiter) == text
