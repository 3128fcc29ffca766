"""Groups of threads."""

import logging
import threading

import pytest

from clientgo.errors import ClientGoError
from clientgo.leaderelection import LeadershipLost
from clientgo.stop.lifecycle import Group, StillRunning, exit_code


def test_group_stops_and_joins_its_threads_at_the_end_of_the_block() -> None:
    ended: list[str] = []
    with Group() as group:

        def run() -> None:
            group.stop_event.wait(10)
            ended.append(threading.current_thread().name)

        group.start(run, name="informer-foos")
        assert group.alive() == ["informer-foos"]
        assert repr(group) == "<Group informer-foos>"
    assert ended == ["informer-foos"]
    assert repr(group) == "<Group empty>"


def test_arguments_are_passed_to_the_thread() -> None:
    got: list[tuple[int, str]] = []
    group = Group()
    group.start(lambda number, text: got.append((number, text)), 1, "a", name="t")
    group.join(10)
    assert got == [(1, "a")]


def test_group_can_share_a_stop_event() -> None:
    stop = threading.Event()
    group = Group(stop=stop)
    group.start(stop.wait, 10, name="waiting")
    stop.set()
    group.join(10)


class Boom(Exception):
    """Exception that ends a thread."""


def die() -> None:
    raise Boom("died")


def test_exception_stops_the_other_threads_and_is_raised_by_join(caplog: pytest.LogCaptureFixture) -> None:
    group = Group()
    group.start(group.stop_event.wait, 10, name="bystander")
    group.start(die, name="dying")
    with pytest.raises(Boom, match="died"):
        group.join(10)
    assert group.stop_event.is_set()
    (record,) = caplog.records
    assert (record.levelno, record.threadName) == (logging.ERROR, "dying")
    assert record.exc_info is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_exception_is_raised_even_if_logging_fails() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise SystemExit("a handler that fails")

    handler, logger, group = Broken(), logging.getLogger("clientgo.stop.lifecycle"), Group()
    logger.addHandler(handler)
    try:
        group.start(die, name="dying")
        with pytest.raises(Boom):
            group.join(10)
    finally:
        logger.removeHandler(handler)


def test_system_exit_in_a_thread_is_raised_by_join() -> None:
    def leave() -> None:
        raise SystemExit(3)

    group = Group()
    group.start(leave, name="leaving")
    with pytest.raises(SystemExit):
        group.join(10)


def test_first_exception_is_raised() -> None:
    group, second = Group(), threading.Event()

    def later() -> None:
        second.wait(10)
        raise ValueError("second")

    group.start(later, name="second")
    group.start(die, name="first")
    assert group.stop_event.wait(10)
    second.set()
    for _ in range(2):
        with pytest.raises(Boom):
            group.join(10)
    with pytest.raises(Boom):
        group.raise_crash()


def test_thread_that_does_not_end_is_named() -> None:
    group, release = Group(), threading.Event()
    group.start(release.wait, 10, name="stuck")
    with pytest.raises(StillRunning, match=r"still running after 0.01 s: stuck"):
        group.join(0.01)
    release.set()
    group.join(10)


def test_exception_is_the_cause_of_still_running() -> None:
    group, release = Group(), threading.Event()
    group.start(release.wait, 10, name="stuck")
    group.start(die, name="dying")
    assert group.stop_event.wait(10)
    with pytest.raises(StillRunning) as caught:
        group.join(0.01)
    assert isinstance(caught.value.__cause__, Boom)
    release.set()
    with pytest.raises(Boom):
        group.join(10)


def test_join_waits_for_threads_started_by_threads() -> None:
    group, release, ended = Group(), threading.Event(), []

    def child() -> None:
        release.wait(10)
        ended.append("child")

    def parent() -> None:
        group.start(child, name="child")
        release.set()

    group.start(parent, name="parent")
    group.join(10)
    assert ended == ["child"]


def test_thread_of_the_group_can_join_the_others() -> None:
    group, done = Group(), threading.Event()

    def join() -> None:
        group.join(10)
        done.set()

    group.start(join, name="joining")
    group.join(10)
    assert done.is_set()


def test_group_removes_ended_threads() -> None:
    group = Group()
    for _ in range(50):
        group.start(lambda: None, name="short")
        group.join(10)
    assert len(group._threads) <= 2


def test_ending_within_stops_the_group_and_waits() -> None:
    with Group().ending_within(10.0) as group:
        group.start(group.stop_event.wait, name="obedient")
    assert group.alive() == []
    release = threading.Event()
    with pytest.raises(StillRunning, match="stubborn"), Group().ending_within(0.01) as group:
        group.start(release.wait, name="stubborn")
    release.set()
    group.join(10)


@pytest.mark.parametrize(
    "error", [LeadershipLost("leader election lost"), ClientGoError("x"), OSError("y"), StillRunning("z")]
)
def test_expected_errors_are_logged_and_give_exit_code_1(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise error

    assert exit_code(fails) == 1
    assert [(item.msg, item.exc_info) for item in caplog.records] == [(str(error), None)]
    assert exit_code(lambda: None) == 0


def test_everything_that_was_still_running_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def ends_two_blocks() -> None:
        try:
            raise StillRunning("still running after 1 s: worker-0")
        finally:
            raise StillRunning("still running after 1 s: informer-foos")

    assert exit_code(ends_two_blocks) == 1
    assert [item.msg.rpartition(" ")[2] for item in caplog.records] == ["worker-0", "informer-foos"]


def test_exit_code_propagates_other_exceptions() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 / 0)
