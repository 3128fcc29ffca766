"""Crashes end leadership: crashed work must not keep the lease, and no crash is lost."""

import threading

import pytest

from clientgo.stop.lifecycle import StillRunning
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from tests.leaderelection.election import SECONDS, Bench, Gate, Updates, record_in

EVENTS = ["Normal LeaderElection baz became leader", "Normal LeaderElection baz stopped leading"]


class Boom(Exception):
    """Cause of the crash."""


def test_crash_of_the_work_ends_leadership_and_is_raised() -> None:
    def die(_: threading.Event) -> None:
        raise Boom("the work")

    bench = Bench(on_started_leading=die)
    with pytest.raises(Boom, match="the work"):
        bench.elector.run(bench.stop)
    assert bench.stop.is_set()
    assert bench.clock.now() == 0.0
    assert record_in(bench.clientset).holder_identity == ""
    assert bench.recorder.drain() == EVENTS
    assert bench.calls == ["stopped"]


def test_crash_during_shutdown_is_raised() -> None:
    def die_at_the_end(stop: threading.Event) -> None:
        assert stop.wait(SECONDS)
        raise Boom("the end")

    bench = Bench(on_started_leading=die_at_the_end)
    with pytest.raises(Boom, match="the end"), bench.running():
        bench.clock.wait_for_sleeps(1)
    assert record_in(bench.clientset).holder_identity == ""
    assert bench.calls == ["stopped"]


def test_work_that_returns_leaves_its_process_leader() -> None:
    bench = Bench(on_started_leading=lambda _: None)
    with bench.running():
        bench.step_through_sleep(1, 1.0)
        bench.clock.wait_for_sleeps(2)
        assert bench.elector.is_leader
    assert bench.recorder.drain() == EVENTS


def test_work_that_does_not_end_keeps_the_lease_until_it_expires_and_is_named() -> None:
    gate = Gate()
    bench = Bench(on_started_leading=gate.hold, lease_duration=0.5, renew_deadline=0.2, retry_period=0.1)
    with pytest.raises(StillRunning, match=r"^still running after 0\.2 s: leading-foo/bar$"), bench.running():
        bench.clock.wait_for_sleeps(1)
    assert record_in(bench.clientset).holder_identity == "baz"
    assert bench.calls == ["stopped"]
    gate.open()


def test_work_must_end_before_the_lease_expires() -> None:
    gate = Gate()
    bench = Bench(on_started_leading=gate.hold, lease_duration=0.5, renew_deadline=0.4, retry_period=0.1)
    with pytest.raises(StillRunning, match=r"^still running after 0\.1 s: leading-foo/bar$"), bench.running():
        bench.step_through_sleep(1, 0.5)
    assert bench.calls == ["stopped"]
    gate.open()


def test_crash_of_a_listener_ends_leadership() -> None:
    def die(identity: str) -> None:
        raise Boom(identity)

    bench = Bench(on_new_leader=die)
    with pytest.raises(Boom, match="baz"):
        bench.elector.run(bench.stop)
    assert bench.calls == ["began", "ended", "stopped"]
    assert record_in(bench.clientset).holder_identity == ""


def test_bug_in_the_lock_ends_leadership_and_is_raised() -> None:
    def fail(number: int) -> None:
        if number == 1:
            raise TypeError("a mistake")

    bench = Bench()
    Updates(bench.clientset, "update", fail)
    with pytest.raises(TypeError, match="a mistake"):
        bench.elector.run(bench.stop)
    assert bench.calls == ["began", "ended", "stopped"]
    assert record_in(bench.clientset).holder_identity == ""


def test_no_thread_is_left_when_an_election_ends() -> None:
    before = {thread.name for thread in threading.enumerate()} | {"stop-watcher"}
    bench = Bench(on_new_leader=lambda _: None)
    with bench.running():
        assert bench.led.wait(SECONDS)
        bench.clock.wait_for_sleeps(1)
        names = {thread.name for thread in threading.enumerate()} - before
        assert names == {"elector", "leading-foo/bar", "new-leader-foo/bar"}
    eventually(lambda: {thread.name for thread in threading.enumerate()} <= before)


@pytest.mark.feature("B-LE-08")
def test_every_change_of_leader_is_reported_once_and_in_order() -> None:
    clock, messages = FakeClock(), list[str]()
    first = Bench(clock=clock, identity="first")
    second = Bench(clock=clock, identity="second", clientset=first.clientset, on_new_leader=messages.append)
    with first.running() as leading:
        clock.wait_for_sleeps(1)
        with second.running():
            clock.wait_for_sleeps(2)
            first.stop.set()
            leading.join(SECONDS)
            clock.step(1.0)
            assert second.led.wait(SECONDS)
    assert messages == ["first", "second", ""]
