"""Exponential backoff."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.backoff import Backoff, HasExpired, KeyedBackoff, ResettingBackoff, jittered
from clientgo.cache.backoff import REFLECTOR_BACKOFF, REFLECTOR_BACKOFF_RESET
from clientgo.testing.clock import FakeClock


def half() -> float:
    return 0.5


def test_delays_are_multiplied_up_to_the_cap() -> None:
    backoff = Backoff(duration=1.0, factor=2.0, cap=5.0)
    assert [backoff.delay(attempt) for attempt in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_delays_without_a_factor_are_constant() -> None:
    assert [Backoff(duration=0.25).delay(attempt) for attempt in range(3)] == [0.25, 0.25, 0.25]


def test_jitter_adds_up_to_its_fraction() -> None:
    backoff = Backoff(duration=1.0, jitter=0.1)
    assert backoff.delay(0, half) == pytest.approx(1.05)
    assert backoff.delay(0, lambda: 0.0) == 1.0


def test_jitter_is_added_after_the_cap() -> None:
    assert Backoff(duration=10.0, jitter=1.0, cap=5.0).delay(0, half) == 7.5


@pytest.mark.parametrize(
    ("duration", "factor", "cap", "delay"),
    [(0.8, 2.0, 30.0, 30.0), (0.8, 2.0, None, math.inf), (1, 2, None, math.inf), (0.0, 2.0, None, 0.0)],
)
def test_many_attempts_do_not_overflow(duration: float, factor: float, cap: float | None, delay: float) -> None:
    backoff = Backoff(duration=duration, factor=factor, cap=cap, jitter=0.5)
    assert (backoff.base(100_000), backoff.delay(100_000, lambda: 0.0)) == (delay, delay)


def test_no_random_number_is_drawn_without_jitter() -> None:
    def never() -> float:
        raise AssertionError("asked")

    assert jittered(2.0, 0.0, never) == 2.0


@given(st.floats(0.001, 10), st.floats(1, 10), st.floats(0, 2), st.integers(0, 2000), st.floats(0, 0.999))
def test_delay_is_between_its_base_and_the_maximum_jitter(
    duration: float, factor: float, jitter: float, attempt: int, chance: float
) -> None:
    backoff = Backoff(duration=duration, factor=factor, jitter=jitter, cap=60.0)
    base = backoff.base(attempt)
    assert min(duration, 60.0) <= base <= 60.0
    assert base <= backoff.delay(attempt, lambda: chance) <= base * (1 + jitter)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def resetting(clock: FakeClock) -> ResettingBackoff:
    return ResettingBackoff(Backoff(duration=1.0, factor=2.0, cap=30.0), reset=120.0, clock=clock)


def test_resetting_backoff_grows(resetting: ResettingBackoff) -> None:
    assert [resetting.next() for _ in range(7)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_resetting_backoff_is_reset_after_a_time_without_calls(resetting: ResettingBackoff, clock: FakeClock) -> None:
    assert [resetting.next(), resetting.next()] == [1.0, 2.0]
    clock.step(120.0)
    assert resetting.next() == 4.0
    clock.step(120.1)
    assert resetting.next() == 1.0


def test_reset_starts_with_the_first_delay(resetting: ResettingBackoff) -> None:
    resetting.next()
    assert repr(resetting) == "<ResettingBackoff attempt 1>"
    resetting.reset()
    assert resetting.next() == 1.0


def test_random_numbers_are_the_callers(clock: FakeClock) -> None:
    backoff = ResettingBackoff(REFLECTOR_BACKOFF, reset=REFLECTOR_BACKOFF_RESET, clock=clock, rand=half)
    assert [backoff.next() for _ in range(8)] == pytest.approx([1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0])


def test_constants_of_the_reflector_are_client_gos() -> None:
    assert (REFLECTOR_BACKOFF.duration, REFLECTOR_BACKOFF.factor, REFLECTOR_BACKOFF.jitter) == (0.8, 2.0, 1.0)
    assert (REFLECTOR_BACKOFF.cap, REFLECTOR_BACKOFF_RESET) == (30.0, 120.0)


def warmed_up(clock: FakeClock, maximum: float) -> tuple[KeyedBackoff[str], list[float]]:
    """Ten failures a second apart, and what the delay was before each."""
    keyed = KeyedBackoff[str](1.0, maximum, clock=clock)
    before = []
    for _ in range(10):
        clock.step(1)
        before.append(keyed.get("a"))
        keyed.next("a")
    return keyed, before


@pytest.mark.behaviour("FC-01")
def test_delay_of_a_key_doubles_up_to_the_maximum_until_it_is_reset(clock: FakeClock) -> None:
    keyed, before = warmed_up(clock, 50.0)
    assert before == [0, 1, 2, 4, 8, 16, 32, 50, 50, 50]
    clock.step(1)
    keyed.reset("a")
    assert keyed.get("a") == 0
    assert keyed.next("a") == 1.0


@pytest.mark.behaviour("FC-03")
def test_key_without_failures_for_its_delay_keeps_its_delay(clock: FakeClock) -> None:
    keyed, _ = warmed_up(clock, 5.0)
    clock.step(6)
    keyed.next("a")
    assert keyed.get("a") == 5.0


@pytest.mark.behaviour("FC-04")
def test_key_expires_after_twice_the_maximum(clock: FakeClock) -> None:
    keyed, _ = warmed_up(clock, 5.0)
    clock.step(6)
    keyed.gc()
    assert keyed.get("a") == 5.0
    clock.step(6)
    keyed.gc()
    assert keyed.get("a") == 0.0
    assert repr(keyed) == "<KeyedBackoff 1 to 5 s, 0 keys>"


def test_expired_key_starts_again_without_gc(clock: FakeClock) -> None:
    keyed, _ = warmed_up(clock, 5.0)
    clock.step(10)
    assert keyed.next("a") == 5.0
    clock.step(10.5)
    assert keyed.next("a") == 1.0


def after_200_seconds(now: float, updated: float, maximum: float) -> bool:
    return now - updated >= 200.0


@pytest.mark.behaviour("FC-05")
@pytest.mark.parametrize(
    ("has_expired", "kept_after", "gone_after"),
    [pytest.param(None, 5, 101, id="twice the maximum"), pytest.param(after_200_seconds, 101, 501, id="their own")],
)
def test_expiry_of_keys_can_be_configured(
    clock: FakeClock, has_expired: HasExpired | None, kept_after: float, gone_after: float
) -> None:
    keyed = KeyedBackoff[str](1.0, 50.0, clock=clock, has_expired=has_expired)
    keyed.next("a")
    clock.step(kept_after)
    keyed.gc()
    assert keyed.get("a") == 1.0
    clock.step(gone_after)
    keyed.gc()
    assert keyed.get("a") == 0.0


@pytest.mark.behaviour("FC-07")
@given(st.randoms(use_true_random=False))
def test_jitter_is_added_to_each_doubling_up_to_the_maximum(random: Random) -> None:
    keyed = KeyedBackoff[str](0.1, 60.0, jitter=0.1, clock=FakeClock(), rand=lambda: random.uniform(1e-6, 0.999999))
    previous = keyed.next("a")
    assert 0.1 < previous <= 0.11
    for _ in range(10):
        delay = keyed.next("a")
        assert 2 * previous < delay <= 2.1 * previous + 1e-9 or delay == 60.0
        previous = delay
    assert previous == 60.0


def test_keys_have_independent_delays(clock: FakeClock) -> None:
    keyed = KeyedBackoff[str](1.0, 50.0, clock=clock)
    assert [keyed.next("a"), keyed.next("a"), keyed.next("b")] == [1.0, 2.0, 1.0]


@pytest.mark.feature("B-FC-02")
def test_remaining_delay_of_a_key_ends_after_its_last_delay(clock: FakeClock) -> None:
    keyed = KeyedBackoff[str](4.0, 50.0, clock=clock)
    clock.step(10)
    keyed.next("a")
    clock.step(3)
    assert keyed.remaining("a") == 1.0
    clock.step(1)
    assert (keyed.remaining("a"), keyed.remaining("b")) == (0.0, 0.0)
