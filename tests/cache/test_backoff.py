"""Delays between attempts of a reflector."""

import threading

import pytest

from clientgo.backoff import Backoff
from clientgo.cache import Reflector
from clientgo.cache.backoff import ReflectorBackoff, RetryWithDeadline
from clientgo.cache.reflector import ReflectorOptions
from clientgo.cache.watcher import ResourceVersionRegressed, VeryShortWatch
from clientgo.errors import (
    ApiError,
    ConnectionFailed,
    Expired,
    Forbidden,
    InternalError,
    NotFound,
    ServerTimeout,
    TooManyRequests,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta.listwatch import ListOptions
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeWatch
from tests.cache.scripted import Script, Sink, added, page, run, watch

BUSY = TooManyRequests("busy")

REFUSED = ConnectionFailed("refused", refused=True)
LOST = ConnectionFailed("reset by peer")
TOO_LARGE = ServerTimeout("Too large resource version: 11, current: 4")
EXPIRED = Expired("too old resource version: 11 (13)")


def reflector_backoff(longest: bool = True) -> ReflectorBackoff:
    return ReflectorBackoff(clock=FakeClock(), rand=lambda: 0.9999 if longest else 0.0)


def test_refused_connection_is_retried_within_one_and_a_half_seconds() -> None:
    backoff = reflector_backoff()
    assert [backoff.next(REFUSED) for _ in range(20)] == pytest.approx([1.5] * 20, rel=1e-3)
    assert "connection refused" in repr(backoff)
    assert [reflector_backoff(longest=False).next(REFUSED) for _ in range(3)] == pytest.approx([0.75] * 3)


@pytest.mark.parametrize(
    "error",
    [None, EXPIRED, ResourceVersionRegressed("it has another one"), TOO_LARGE],
    ids=["watch expired", "list expired", "went back", "too large"],
)
def test_returned_server_without_history_is_listed_soon_and_then_with_backoff(error: Exception | None) -> None:
    backoff = reflector_backoff()
    backoff.next(REFUSED)
    assert backoff.next(error) == pytest.approx(0.4, rel=1e-3)
    assert [backoff.next(error) for _ in range(2)] == pytest.approx([3.2, 6.4], rel=1e-3)


@pytest.mark.parametrize(
    "error",
    [Forbidden("waking up"), InternalError("no"), LOST, VeryShortWatch("short")],
    ids=lambda error: type(error).__name__,
)
def test_returned_server_with_other_errors_starts_a_new_backoff(error: Exception) -> None:
    backoff = reflector_backoff()
    for _ in range(9):
        backoff.next(REFUSED)
    assert backoff.next(error) == pytest.approx(1.6, rel=1e-3)


def test_list_without_a_refused_connection_waits_for_the_backoff() -> None:
    backoff = reflector_backoff(longest=False)
    assert [backoff.next(error) for error in (None, EXPIRED, LOST)] == [0.8, 1.6, 3.2]


def test_retry_after_is_respected_after_a_refused_connection() -> None:
    backoff = reflector_backoff()
    backoff.next(REFUSED)
    assert backoff.next(TooManyRequests("busy", retry_after=7)) == 7


def test_kind_that_is_not_served_is_listed_every_ten_seconds() -> None:
    backoff = reflector_backoff()
    delays = [backoff.next(NotFound("the server could not find the requested resource")) for _ in range(8)]
    assert delays == pytest.approx([1.6, 3.2, 6.4, 10.0, 10.0, 10.0, 10.0, 10.0], rel=1e-3)
    patient = NotFound("later", retry_after=60.0)
    assert backoff.next(patient) == 60.0


def test_each_restart_of_the_server_costs_one_early_list() -> None:
    backoff = reflector_backoff(longest=False)
    assert [backoff.next(error) for error in (REFUSED, None, REFUSED, None)] == pytest.approx([0.75, 0.2] * 2)


def test_restarted_server_without_history_is_listed_within_two_seconds() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), watch(added("a", 11), error=LOST), REFUSED, watch(error=EXPIRED), page(version="13"))
    run(source, clock=clock, rand=lambda: 0.9999)
    assert source.calls() == ["list 0", "watch 10", "watch 11", "watch 11", "list 11"]
    assert sum(clock.slept[:2]) < 2.0


def test_server_that_refuses_the_first_connection_is_listed_soon_after_it_starts() -> None:
    clock = FakeClock(auto=True)
    run(Script(*[REFUSED] * 6, Forbidden("still waking up"), page()), clock=clock, rand=lambda: 0.9999)
    assert clock.slept[:7] == pytest.approx([1.5] * 6 + [1.6], rel=1e-3)


INTERNAL, OTHER = InternalError("boom"), ConnectionFailed("reset")


@pytest.mark.parametrize(
    ("seconds", "tries", "expected"),
    [
        pytest.param(
            0.0, [(0, OTHER), (0, OTHER), (0, OTHER)], [False] * 3, id="off", marks=pytest.mark.behaviour("RD-01")
        ),
        pytest.param(1.0, [(0, INTERNAL), (1, INTERNAL), (1, INTERNAL)], [True, True, False],
                     id="a second of internal errors", marks=pytest.mark.behaviour("RD-02")),
        pytest.param(1.0, [(0, OTHER)], [False], id="another error", marks=pytest.mark.behaviour("RD-03")),
        pytest.param(1.0, [(0, INTERNAL), (0, OTHER), (1, INTERNAL)], [True, True, True],
                     id="another error does not end a running window", marks=pytest.mark.behaviour("RD-04")),
    ],
)  # fmt: skip
def test_internal_errors_are_retried_until_the_deadline(
    seconds: float, tries: list[tuple[float, Exception]], expected: list[bool]
) -> None:
    clock = FakeClock()
    window = RetryWithDeadline(seconds, reset_after=30.0, clock=clock)
    answers = []
    for pause, error in tries:
        clock.step(pause)
        window.after(error)
        answers.append(window.should_retry())
    assert answers == expected


def test_deadline_is_reset_after_a_time_without_errors() -> None:
    clock = FakeClock()
    window = RetryWithDeadline(10.0, reset_after=30.0, clock=clock)
    window.after(INTERNAL)
    clock.step(30.0)
    window.after(INTERNAL)
    clock.step(10.0)
    assert window.should_retry()
    clock.step(0.001)
    assert not window.should_retry()


def test_internal_error_is_recognized_by_its_reason() -> None:
    window = RetryWithDeadline(1.0, clock=FakeClock())
    window.after(ServerTimeout("later"))
    window.after(None)
    assert not window.should_retry()
    window.after(ApiError("x", code=599, reason="InternalError"))
    assert window.should_retry()


@pytest.mark.feature("B-REF-01", "C-14")
@pytest.mark.behaviour("RL-16")
def test_backoff_can_be_configured() -> None:
    clock = FakeClock(auto=True)
    backoff = Backoff(duration=0.01, factor=2.0, jitter=0.0, cap=0.1)
    run(Script(page(), *[REFUSED] * 5, watch(added("a", 11))), clock=clock, backoff=backoff)
    assert clock.slept[:5] == pytest.approx([0.01, 0.02, 0.04, 0.08, 0.1])
    assert sum(clock.slept[:5]) == pytest.approx(0.25)


@pytest.mark.feature("B-REF-10", "B-REF-11")
@pytest.mark.behaviour("RL-18")
@pytest.mark.behaviour("RL-17")
def test_each_429_backs_off_once_before_or_during_a_watch() -> None:
    clock, stopped = FakeClock(auto=True), Script(page(), BUSY, watch(error=BUSY))
    run(stopped, clock=clock)
    # Before and during the watch, and at the end of the script.
    assert clock.slept == pytest.approx([0.8, 1.6, 3.2])
    assert stopped.calls() == ["list 0", "watch 10", "watch 10"]


def test_retry_after_is_respected() -> None:
    clock = FakeClock(auto=True)
    run(Script(page(), TooManyRequests("busy", retry_after=7.0), watch(added("a", 11))), clock=clock)
    assert clock.slept[0] == 7.0


@pytest.mark.feature("B-REF-01")
def test_two_minutes_without_failures_reset_the_backoff() -> None:
    clock = FakeClock(auto=True)
    calm = Script(*[Forbidden("no")] * 3)
    reflector = Reflector(calm, Sink(), ReflectorOptions(on_error=lambda _: None), clock=clock, rand=lambda: 0.0)
    reflector.run(calm.stop)
    clock.step(121.0)
    calm.answers, calm.stop = [Forbidden("no")], threading.Event()
    reflector.run(calm.stop)
    assert clock.slept[4] == pytest.approx(0.8)


class Failing(Script):
    """Source whose watches end with an internal error after a second each; stops after `last` calls."""

    def __init__(self, clock: FakeClock, *, jump_at: int = 0) -> None:
        super().__init__(page())
        self.opened = 0
        self._fake = clock
        self._jump_at = jump_at

    def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
        self.opened += 1
        self._fake.step(1.0 + (60.0 if self.opened == self._jump_at else 0.0))
        return watch(error=InternalError("etcd is down"))


@pytest.mark.feature("B-REF-11")
@pytest.mark.behaviour("RL-19")
@pytest.mark.parametrize(
    ("seconds", "jump_at", "retries"), [(0.0, 0, 0), (30.0, 0, 31), pytest.param(30.0, 10, 40, id="a minute of quiet")]
)
def test_internal_errors_are_retried_by_a_watch_until_the_deadline(seconds: float, jump_at: int, retries: int) -> None:
    clock = FakeClock()
    source = Failing(clock, jump_at=jump_at)
    reflector = Reflector(source, Sink(), ReflectorOptions(internal_error_retry=seconds), clock=clock)
    with pytest.raises(InternalError):
        reflector.list_and_watch(threading.Event())
    assert source.opened - 1 == retries
    assert clock.slept == []
