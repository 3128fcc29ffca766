"""Polling for a condition."""

from collections.abc import Callable, Iterator

import pytest

from clientgo.errors import Conflict, NotFound
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import EVERY, ConditionTimeout, always, eventually

pytestmark = pytest.mark.feature("B-CR-15")


def looks(*seen: object) -> Callable[[], object]:
    """Return a function that returns or raises each value in turn, then the last one forever."""
    remaining: Iterator[object] = iter(seen)
    last: list[object] = []

    def look() -> object:
        last[:] = [next(remaining, *last)]
        if isinstance(last[0], Exception):
            raise last[0]
        return last[0]

    return look


def test_value_is_returned_as_soon_as_the_condition_holds() -> None:
    clock = FakeClock(auto=True)
    check = looks(NotFound("not found"), 1, AssertionError("not yet"), 3, 4)
    assert eventually(check, lambda seen: seen == 3, clock=clock) == 3
    assert clock.slept == [EVERY] * 3


def test_default_condition_is_that_the_value_is_true() -> None:
    clock = FakeClock(auto=True)
    assert eventually(looks(Conflict("changed"), False, None, [], "new"), clock=clock) == "new"
    assert clock.slept == [EVERY] * 4


@pytest.mark.parametrize("seen", [False, None, 0, [], ""])
def test_value_that_stays_false_times_out(seen: object) -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(ConditionTimeout):
        eventually(looks(seen), clock=clock)
    with pytest.raises(ConditionTimeout):
        always(looks(True, seen), clock=clock)


@pytest.mark.parametrize(
    ("seen", "description"),
    [(NotFound("no foo"), "NotFound: no foo"), ("old", "'old'"), (AssertionError("2"), "AssertionError: 2")],
)
def test_timeout_names_the_last_value(seen: object, description: str) -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(ConditionTimeout, match=f"^condition not met after 10 s; last: {description}$"):
        eventually(looks(seen), lambda result: result == "new", clock=clock)
    assert clock.now() == pytest.approx(10.0, abs=2 * EVERY)


def test_bug_in_the_condition_is_raised_at_once() -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(ZeroDivisionError):
        eventually(looks(0), lambda _: 1 / 0, clock=clock)
    assert clock.slept == []


def test_value_that_stays_true_is_returned() -> None:
    clock = FakeClock(auto=True)
    assert always(looks(1, 2), lambda seen: seen, seconds=1.0, every=0.5, clock=clock) == 2
    assert clock.slept == [0.5, 0.5]


def test_value_that_does_not_stay_true_raises() -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(ConditionTimeout, match=r"^condition not met after 1 s; last: 0$"):
        always(looks(1, 1, 0), lambda seen: seen, seconds=9.0, every=0.5, clock=clock)
    with pytest.raises(NotFound):
        always(looks(NotFound("not found")), lambda _: True, clock=clock)
