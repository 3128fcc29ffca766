"""For how long internal errors are met by another try at once."""

import pytest

from clientgo.cache.retrywindow import RetryWindow
from clientgo.errors import ApiError, ConnectionFailed, InternalError, ServerTimeout
from clientgo.testing.clock import FakeClock

INTERNAL, OTHER = InternalError("boom"), ConnectionFailed("reset")


@pytest.mark.parametrize(
    ("seconds", "tries", "expected"),
    [
        pytest.param(
            0.0, [(0, OTHER), (0, OTHER), (0, OTHER)], [False] * 3, id="off", marks=pytest.mark.behaviour("RD-01")
        ),
        pytest.param(
            1.0, [(0, INTERNAL), (1, INTERNAL), (1, INTERNAL)], [True, True, False],
            id="a second of internal errors", marks=pytest.mark.behaviour("RD-02"),
        ),
        pytest.param(1.0, [(0, OTHER)], [False], id="another error", marks=pytest.mark.behaviour("RD-03")),
        pytest.param(
            1.0, [(0, INTERNAL), (0, OTHER), (1, INTERNAL)], [True, True, True],
            id="another error does not end a running window", marks=pytest.mark.behaviour("RD-04"),
        ),
    ],
)  # fmt: skip
def test_internal_errors_are_retried_for_so_long(
    seconds: float, tries: list[tuple[float, Exception]], expected: list[bool]
) -> None:
    clock = FakeClock()
    window = RetryWindow(seconds, reset_after=30.0, clock=clock)
    answers = []
    for pause, error in tries:
        clock.step(pause)
        window.after(error)
        answers.append(window.should_retry())
    assert answers == expected


def test_a_quiet_time_opens_the_window_anew() -> None:
    clock = FakeClock()
    window = RetryWindow(10.0, reset_after=30.0, clock=clock)
    window.after(INTERNAL)
    clock.step(30.0)
    window.after(INTERNAL)
    clock.step(10.0)
    assert window.should_retry()
    clock.step(0.001)
    assert not window.should_retry()


def test_internal_is_what_the_server_calls_so() -> None:
    window = RetryWindow(1.0, clock=FakeClock())
    window.after(ServerTimeout("later"))
    window.after(None)
    assert not window.should_retry()
    window.after(ApiError("x", code=599, reason="InternalError"))
    assert window.should_retry()
