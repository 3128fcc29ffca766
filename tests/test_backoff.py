"""How delays grow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.backoff import REFLECTOR_BACKOFF, REFLECTOR_BACKOFF_RESET, Backoff, ResettingBackoff, jittered
from clientgo.testing.clock import FakeClock


def half() -> float:
    return 0.5


def test_delays_are_multiplied_up_to_the_cap() -> None:
    backoff = Backoff(duration=1.0, factor=2.0, cap=5.0)
    assert [backoff.delay(attempt) for attempt in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_without_a_factor_they_stay() -> None:
    assert [Backoff(duration=0.25).delay(attempt) for attempt in range(3)] == [0.25, 0.25, 0.25]


def test_jitter_stretches_by_up_to_its_part() -> None:
    backoff = Backoff(duration=1.0, jitter=0.1)
    assert backoff.delay(0, half) == pytest.approx(1.05)
    assert backoff.delay(0, lambda: 0.0) == 1.0


def test_jitter_comes_after_the_cap() -> None:
    assert Backoff(duration=10.0, jitter=1.0, cap=5.0).delay(0, half) == 7.5


@pytest.mark.parametrize(("cap", "delay"), [(30.0, 30.0), (None, float("inf"))])
def test_many_attempts_do_not_overflow(cap: float | None, delay: float) -> None:
    assert Backoff(duration=0.8, factor=2.0, cap=cap).base(100_000) == delay


def test_no_jitter_asks_for_no_random_number() -> None:
    def never() -> float:
        raise AssertionError("asked")

    assert jittered(2.0, 0.0, never) == 2.0


@given(st.floats(0.001, 10), st.floats(1, 10), st.floats(0, 2), st.integers(0, 2000), st.floats(0, 0.999))
def test_a_delay_lies_between_its_base_and_the_jitters_end(
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


def test_each_delay_is_longer_than_the_last(resetting: ResettingBackoff) -> None:
    assert [resetting.next() for _ in range(7)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_a_quiet_time_starts_anew(resetting: ResettingBackoff, clock: FakeClock) -> None:
    assert [resetting.next(), resetting.next()] == [1.0, 2.0]
    clock.step(120.0)
    assert resetting.next() == 4.0
    clock.step(120.1)
    assert resetting.next() == 1.0


def test_reset_starts_anew(resetting: ResettingBackoff) -> None:
    resetting.next()
    assert repr(resetting) == "<ResettingBackoff attempt 1>"
    resetting.reset()
    assert resetting.next() == 1.0


def test_the_random_numbers_are_the_callers(clock: FakeClock) -> None:
    backoff = ResettingBackoff(REFLECTOR_BACKOFF, reset=REFLECTOR_BACKOFF_RESET, clock=clock, rand=half)
    assert [backoff.next() for _ in range(8)] == pytest.approx([1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0])


def test_the_reflectors_constants_are_client_gos() -> None:
    assert (REFLECTOR_BACKOFF.duration, REFLECTOR_BACKOFF.factor, REFLECTOR_BACKOFF.jitter) == (0.8, 2.0, 1.0)
    assert (REFLECTOR_BACKOFF.cap, REFLECTOR_BACKOFF_RESET) == (30.0, 120.0)
