"""How long a reflector waits after what: soon after a restart, ever longer in trouble."""

import pytest

from clientgo.cache.pausing import Pauses
from clientgo.cache.watching import VeryShortWatch, WentBack
from clientgo.errors import ConnectionFailed, Expired, Forbidden, InternalError, ServerTimeout, TooManyRequests
from clientgo.testing.clock import FakeClock
from tests.cache.scripted import Script, added, page, run, watch

REFUSED = ConnectionFailed("refused", refused=True)
LOST = ConnectionFailed("reset by peer")
TOO_LARGE = ServerTimeout("Too large resource version: 11, current: 4")
EXPIRED = Expired("too old resource version: 11 (13)")


def pauses(longest: bool = True) -> Pauses:
    return Pauses(clock=FakeClock(), rand=lambda: 0.9999 if longest else 0.0)


def test_a_server_nobody_listens_at_is_tried_again_within_one_and_a_half_seconds() -> None:
    after = pauses()
    assert [after.after(REFUSED) for _ in range(20)] == pytest.approx([1.5] * 20, rel=1e-3)
    assert "the server is away" in repr(after)
    assert [pauses(longest=False).after(REFUSED) for _ in range(3)] == pytest.approx([0.75] * 3)


@pytest.mark.parametrize(
    "error",
    [None, EXPIRED, WentBack("it has another one"), TOO_LARGE],
    ids=["watch expired", "list expired", "went back", "too large"],
)
def test_a_server_that_is_back_and_has_forgotten_is_listed_soon_and_then_as_ever(error: Exception | None) -> None:
    after = pauses()
    after.after(REFUSED)
    assert after.after(error) == pytest.approx(0.4, rel=1e-3)
    assert [after.after(error) for _ in range(2)] == pytest.approx([3.2, 6.4], rel=1e-3)


@pytest.mark.parametrize(
    "error",
    [Forbidden("waking up"), InternalError("no"), LOST, VeryShortWatch("short")],
    ids=lambda error: type(error).__name__,
)
def test_a_server_that_is_back_and_in_trouble_is_given_time_but_owed_none_for_having_been_away(
    error: Exception,
) -> None:
    after = pauses()
    for _ in range(9):
        after.after(REFUSED)
    assert after.after(error) == pytest.approx(1.6, rel=1e-3)


def test_a_server_that_was_there_all_the_time_is_listed_after_a_step_of_the_backoff() -> None:
    after = pauses(longest=False)
    assert [after.after(error) for error in (None, EXPIRED, LOST)] == [0.8, 1.6, 3.2]


def test_a_server_that_says_when_to_come_back_is_believed_also_when_it_was_away() -> None:
    after = pauses()
    after.after(REFUSED)
    assert after.after(TooManyRequests("busy", retry_after=7)) == 7


def test_a_server_that_keeps_going_away_costs_one_list_for_each_time_it_was_away() -> None:
    after = pauses(longest=False)
    assert [after.after(error) for error in (REFUSED, None, REFUSED, None)] == pytest.approx([0.75, 0.2] * 2)


def test_a_restarted_server_that_has_forgotten_its_history_is_listed_within_two_seconds() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), watch(added("a", 11), error=LOST), REFUSED, watch(error=EXPIRED), page(version="13"))
    run(source, clock=clock, rand=lambda: 0.9999)
    assert source.calls() == ["list 0", "watch 10", "watch 11", "watch 11", "list 11"]
    assert sum(clock.slept[:2]) < 2.0


def test_a_server_nobody_listened_at_from_the_beginning_is_listed_soon_when_it_is_back() -> None:
    clock = FakeClock(auto=True)
    run(Script(*[REFUSED] * 6, Forbidden("still waking up"), page()), clock=clock, rand=lambda: 0.9999)
    assert clock.slept[:7] == pytest.approx([1.5] * 6 + [1.6], rel=1e-3)
