"""Fencing of a leader's writes (`may_work`)."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest

from tests.leaderelection.election import CANCELLED, SECONDS, Bench, Gate, Updates


def bench_that_asks(do: Callable[[threading.Event], object], **options: Any) -> tuple[Bench, SimpleQueue[bool]]:
    """Return an election whose leader calls `may_work` after its work."""
    simple_queue = SimpleQueue[bool]()

    def work(stop: threading.Event) -> None:
        do(stop)
        simple_queue.put(bench.elector.may_work())

    bench = Bench(on_started_leading=work, release_on_cancel=False, **options)
    return bench, simple_queue


def test_candidate_may_not_work_before_it_leads_and_may_while_it_does() -> None:
    bench = Bench()
    assert not bench.elector.may_work()
    with bench.running():
        bench.clock.wait_for_sleeps(1)
        assert bench.elector.may_work()


def test_leader_that_wakes_after_its_lease_may_not_work() -> None:
    """The elector is still blocked in a request when the work checks."""
    woken, gate = threading.Event(), Gate()
    bench, requested = bench_that_asks(lambda _: woken.wait(SECONDS))
    Updates(bench.clientset, "update", lambda number: gate.pass_through() if number >= 2 else None)
    with bench.running():
        bench.step_through_sleep(1, 1.0)
        gate.wait_until_reached()
        assert bench.elector.may_work()
        bench.clock.step(14.0)
        woken.set()
        assert not requested.get(timeout=SECONDS)
        gate.open()  # whether the renewal comes in time for the elector or too late


@pytest.mark.parametrize("lost", [True, False])
def test_stopped_leader_may_finish_but_not_after_losing_the_lease(lost: bool) -> None:
    bench, requested = bench_that_asks(
        lambda stop: stop.wait(SECONDS), lease_duration=60, renew_deadline=10, retry_period=2
    )
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        if lost:
            bench.clientset.prepend_reactor("*", "leases", cancelled)
            for number in range(1, 7):
                bench.step_through_sleep(number, 2.0)
        else:
            bench.stop.set()
        group.join(SECONDS)
    assert requested.get(timeout=SECONDS) is not lost
    assert bench.clock.now() < 60


def cancelled(_: object) -> tuple[bool, object]:
    raise CANCELLED


def test_older_leases_in_responses_do_not_prolong_the_lease() -> None:
    bench = Bench(lease_duration=3, renew_deadline=2, retry_period=1)
    with bench.running():
        bench.clock.wait_for_sleeps(1)
        stored = bench.clientset.coordination_v1.leases("foo").get("bar")
        bench.clientset.prepend_reactor("*", "leases", lambda _: (True, stored))
        for number in (1, 2, 3):
            assert bench.elector.may_work()
            bench.step_through_sleep(number, 1.0)
        assert not bench.elector.may_work()
