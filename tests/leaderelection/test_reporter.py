"""Notifications of leader changes."""

import threading

import pytest

from clientgo.leaderelection.reporter import Reporter
from clientgo.testing.clock import FakeClock


def test_leader_is_reported_once_per_change_and_all_before_the_end() -> None:
    messages: list[str] = []
    reporter = Reporter(messages.append, name="bar", clock=FakeClock())
    with reporter.reporting(threading.Event()):
        for identity in ("", "a", "a", "b", "b", "", "a"):
            reporter.report(identity)
    assert messages == ["a", "b", "", "a"]
    assert repr(reporter) == "<Reporter of bar, last a>"


def test_leader_that_stays_over_two_elections_is_reported_once() -> None:
    messages: list[str] = []
    reporter = Reporter(messages.append, name="bar", clock=FakeClock())
    for _ in range(2):
        with reporter.reporting(threading.Event()):
            reporter.report("a")
    assert messages == ["a"]


def test_notifications_left_by_a_crashed_handler_are_dropped() -> None:
    messages: list[str] = []

    def die_of_a(identity: str) -> None:
        if identity == "a":
            raise ValueError(identity)
        messages.append(identity)

    reporter, stop = Reporter(die_of_a, name="bar", clock=FakeClock()), threading.Event()

    def report_two() -> None:
        with reporter.reporting(stop):
            reporter.report("a")
            reporter.report("b")

    with pytest.raises(ValueError, match=r"^a$"):
        report_two()
    assert stop.is_set()
    with reporter.reporting(threading.Event()):
        reporter.report("c")
    assert messages == ["c"]


def test_without_a_handler_nothing_is_started() -> None:
    reporter = Reporter(None, name="bar", clock=FakeClock())
    before = threading.active_count()
    with reporter.reporting(threading.Event()):
        reporter.report("a")
        assert threading.active_count() == before
    assert repr(Reporter(None, name="bar", clock=FakeClock())) == "<Reporter of bar, last none>"
