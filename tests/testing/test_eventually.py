"""Waiting for what others bring about."""

from collections.abc import Callable, Iterator

import pytest

from clientgo.errors import Conflict, NotFound
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import EVERY, NotSo, always, eventually

pytestmark = pytest.mark.feature("B-CR-15")


def looks(*seen: object) -> Callable[[], object]:
    """One after another; an exception is raised, and the last one is seen for ever."""
    left: Iterator[object] = iter(seen)
    last: list[object] = []

    def look() -> object:
        last[:] = [next(left, *last)]
        if isinstance(last[0], Exception):
            raise last[0]
        return last[0]

    return look


def test_what_is_looked_for_is_given_as_soon_as_it_is_so() -> None:
    clock = FakeClock(auto=True)
    look = looks(NotFound("not found"), 1, AssertionError("not yet"), 3, 4)
    assert eventually(look, lambda seen: seen == 3, clock=clock) == 3
    assert clock.slept == [EVERY] * 3


def test_without_a_question_anything_that_is_no_error_will_do() -> None:
    assert eventually(looks(Conflict("changed"), None), clock=FakeClock(auto=True)) is None


@pytest.mark.parametrize(
    ("seen", "told"), [(NotFound("no foo"), "NotFound: no foo"), ("old", "'old'"), (AssertionError("2"), "Asser.*: 2")]
)
def test_what_never_comes_is_told_with_what_was_seen_last(seen: object, told: str) -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(NotSo, match=f"^not so after 10 s: {told}$"):
        eventually(looks(seen), lambda found: found == "new", clock=clock)
    assert clock.now() == pytest.approx(10.0, abs=2 * EVERY)


def test_a_mistake_in_the_question_is_raised_at_once() -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(ZeroDivisionError):
        eventually(looks(0), lambda _: 1 / 0, clock=clock)
    assert clock.slept == []


def test_what_stays_so_for_the_time_given_is_given() -> None:
    clock = FakeClock(auto=True)
    assert always(looks(1, 2), lambda seen: seen, seconds=1.0, every=0.5, clock=clock) == 2
    assert clock.slept == [0.5, 0.5]


def test_what_ceases_to_be_so_is_told() -> None:
    clock = FakeClock(auto=True)
    with pytest.raises(NotSo, match=r"^no longer so after 1 s: 0$"):
        always(looks(1, 1, 0), lambda seen: seen, seconds=9.0, every=0.5, clock=clock)
    with pytest.raises(NotFound):
        always(looks(NotFound("not found")), lambda _: True, clock=clock)
