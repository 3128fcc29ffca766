"""Elections: when a candidate leads, when it stops, and the contents of the lease then."""

import threading

import pytest

from clientgo.errors import Conflict
from clientgo.leaderelection import LeaseNotRenewed
from clientgo.testing.clock import FakeClock
from tests.leaderelection.election import CANCELLED, SECONDS, Bench, Gate, Updates, record_in, verbs

EVENTS = ["Normal LeaderElection baz became leader", "Normal LeaderElection baz stopped leading"]


@pytest.mark.behaviour("LE-15")
def test_leader_cancelled_during_an_update_releases_its_lease() -> None:
    bench, gate = Bench(), Gate()

    def update(number: int) -> None:
        if number == 4:
            gate.pass_through()
        if number in (1, 3, 4):
            raise CANCELLED

    updates = Updates(bench.clientset, "update", update)
    with bench.running():
        bench.step_through_sleep(1, 1.0)
        gate.wait_until_reached()
        bench.stop.set()
        gate.open()
    assert updates.count == 5
    assert record_in(bench.clientset).holder_identity == ""
    assert bench.recorder.drain() == EVENTS
    assert bench.calls == ["began", "ended", "stopped"]


@pytest.mark.behaviour("LE-16")
def test_leader_cancelled_during_a_get_stops_without_a_release() -> None:
    bench, gate = Bench(), Gate()

    def update(number: int) -> None:
        if number % 2:
            raise CANCELLED

    def get(number: int) -> None:
        if number == 4:
            gate.pass_through()
        if number >= 4:
            raise CANCELLED

    updates, gets = Updates(bench.clientset, "update", update), Updates(bench.clientset, "get", get)
    with bench.running():
        bench.step_through_sleep(1, 1.0)
        bench.step_through_sleep(2, 1.0)
        gate.wait_until_reached()
        bench.stop.set()
        gate.open()
    assert (gets.count, updates.count) == (5, 5)
    assert record_in(bench.clientset).holder_identity == "baz"
    assert bench.recorder.drain() == EVENTS
    assert bench.calls == ["began", "ended", "stopped"]


@pytest.mark.behaviour("LE-19")
def test_renewal_that_conflicts_reads_and_goes_on_without() -> None:
    bench = Bench(release_on_cancel=False)

    def update(number: int) -> None:
        if number == 2:
            raise Conflict("changed")
        if number == 4:
            bench.stop.set()

    Updates(bench.clientset, "update", update)
    with bench.running() as group:
        bench.step_through_sleep(1, 1.0)
        bench.step_through_sleep(2, 1.0)
        group.join(SECONDS)
    assert verbs(bench.clientset) == ["get", "create", "update", "update", "get", "update", "update"]


@pytest.mark.behaviour("LE-20")
def test_health_can_be_checked_during_a_renewal() -> None:
    bench = Bench(lease_duration=2, renew_deadline=1, retry_period=0.005)
    with bench.running():
        assert bench.led.wait(SECONDS)
        for number in range(1, 201):
            bench.elector.check(1)
            bench.step_through_sleep(number, 0.01)
    assert verbs(bench.clientset).count("update") >= 201


@pytest.mark.feature("B-LE-03")
def test_candidate_tries_again_after_its_period_and_a_random_part() -> None:
    other = Bench(identity="bing")
    rands = iter([0.0, 0.5, 1.0])
    bench = Bench(clientset=other.clientset, retry_period=1.5, rand=lambda: next(rands))
    with other.running():
        assert other.led.wait(SECONDS)
        with bench.running():
            for number, seconds in enumerate((1.5, 2.4, 3.3), 1):
                bench.clock.wait_for_sleeps(number)
                assert bench.clock.slept[-1] == pytest.approx(seconds)
                bench.stop.set() if number == 3 else bench.clock.step(bench.clock.slept[-1])
    assert bench.calls == ["stopped"]
    assert bench.recorder.drain() == []


@pytest.mark.feature("B-LE-04", "C-51")
def test_leader_gives_up_when_the_renew_deadline_passes(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(renew_deadline=10, retry_period=2, release_on_cancel=False)
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        bench.clientset.prepend_reactor("*", "leases", fail)
        for number in range(1, 6):
            bench.step_through_sleep(number, 2.0)
            assert not bench.ended.is_set()
        bench.step_through_sleep(6, 2.0)
        group.join(SECONDS)
    assert [record.msg for record in caplog.records if record.levelname == "ERROR"] == ["leadership lost"]
    assert bench.clock.slept == [2.0] * 6
    assert bench.clock.now() == 12.0
    assert bench.calls == ["began", "ended", "stopped"]


def fail(_: object) -> tuple[bool, object]:
    raise CANCELLED


def test_leader_never_leads_longer_than_its_lease() -> None:
    """The deadline is 18 s after the last renewal, but others may acquire the lease after 11 s."""
    bench = Bench(lease_duration=11, renew_deadline=9.7, retry_period=8, release_on_cancel=False)
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        bench.clientset.prepend_reactor("*", "leases", fail)
        bench.step_through_sleep(1, 8.0)
        bench.clock.wait_for_sleeps(2)
        assert bench.clock.slept[-1] == 3.0
        bench.clock.step(3.0)
        group.join(SECONDS)
    assert bench.calls == ["began", "ended", "stopped"]


def test_leader_that_was_suspended_past_its_lease_stops_without_a_request() -> None:
    bench = Bench(release_on_cancel=False)
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        bench.clientset.clear_actions()
        bench.clock.step(60)
        group.join(SECONDS)
    assert bench.clientset.actions == []
    assert bench.calls == ["began", "ended", "stopped"]


@pytest.mark.feature("B-LE-07")
def test_leader_that_lost_the_server_for_a_while_releases_when_it_is_back() -> None:
    bench = Bench(renew_deadline=2, retry_period=1)
    down = threading.Event()
    bench.clientset.prepend_reactor("*", "leases", lambda action: fail(action) if down.is_set() else (False, None))
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        down.set()
        bench.step_through_sleep(1, 1.0)
        bench.step_through_sleep(2, 1.0)
        bench.clock.wait_for_sleeps(3)
        down.clear()
        # Two seconds of failures are over; no time is left for another try.
        bench.clock.step(1.0)
        group.join(SECONDS)
    assert record_in(bench.clientset).holder_identity == ""


def test_leader_that_is_overtaken_stops_at_once_and_leaves_the_lease_alone() -> None:
    bench = Bench()
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        bench.clientset.coordination_v1.leases("foo").patch("bar", {"spec": {"holderIdentity": "bing"}})
        bench.clock.step(1.0)
        group.join(SECONDS)
    assert bench.clock.slept == [1.0]
    assert record_in(bench.clientset).holder_identity == "bing"
    assert bench.elector.leader == "bing"
    assert bench.calls == ["began", "ended", "stopped"]


@pytest.mark.feature("B-LE-06")
def test_request_that_hangs_leaves_time_for_another() -> None:
    bench, gate = Bench(renew_deadline=10, retry_period=2), Gate()
    Updates(bench.clientset, "update", lambda number: gate.pass_through() if number == 2 else None)
    with bench.running():
        bench.step_through_sleep(1, 2.0)
        gate.wait_until_reached()
        bench.clock.wait_for_waiters(1)
        bench.clock.step(5.0)
        bench.clock.wait_for_sleeps(2)
        assert bench.calls == ["began"]
        assert record_in(bench.clientset).leader_transitions == 0
        # It went by reading; and the update that hung, when it arrives at last, is refused as stale.
        assert verbs(bench.clientset) == ["get", "create", "update", "update", "get", "update"]
        gate.open()


def test_requests_that_all_hang_end_leadership_before_the_lease_ends(caplog: pytest.LogCaptureFixture) -> None:
    bench, gate = Bench(renew_deadline=10, retry_period=2, release_on_cancel=False), Gate()
    with bench.running() as group:
        bench.clock.wait_for_sleeps(1)
        bench.clientset.prepend_reactor("*", "leases", gate.hold)
        bench.clock.step(2.0)
        for _ in range(2):
            gate.wait_until_reached()
            bench.clock.wait_for_waiters(1)
            bench.clock.step(5.0)
        group.join(SECONDS)
    assert bench.clock.now() == 12.0
    assert bench.calls == ["began", "ended", "stopped"]
    (record,) = [record for record in caplog.records if record.msg == "abandoned requests are still in progress"]
    assert vars(record)["threads"] == "lease-update-foo/bar, lease-get-foo/bar"
    gate.open()


def test_leader_is_stopped_while_its_request_hangs() -> None:
    bench, gate = Bench(release_on_cancel=False), Gate()
    Updates(bench.clientset, "update", lambda _: gate.pass_through())
    with bench.running() as group:
        gate.wait_until_reached()
        bench.clock.wait_for_waiters(1)
        bench.stop.set()
        bench.clock.step(0.05)
        group.join(SECONDS)
    assert bench.calls == ["began", "ended", "stopped"]
    gate.open()


@pytest.mark.feature("B-LE-09")
def test_on_stopped_leading_is_called_for_a_candidate_that_never_led() -> None:
    bench = Bench()
    bench.stop.set()
    bench.elector.run(bench.stop)
    assert bench.calls == ["stopped"]
    assert bench.clientset.actions == []
    assert bench.recorder.drain() == []


@pytest.mark.feature("B-LE-07")
def test_leader_that_may_not_release_leaves_the_lease_to_expire(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(release_on_cancel=False)
    with bench.running():
        assert bench.led.wait(SECONDS)
    assert record_in(bench.clientset).holder_identity == "baz"
    assert caplog.records == []


def test_elector_may_run_again() -> None:
    bench = Bench()
    for _ in range(2):
        bench.stop.clear()
        bench.led.clear()
        with bench.running():
            assert bench.led.wait(SECONDS)
    assert bench.recorder.drain() == EVENTS * 2
    assert record_in(bench.clientset).leader_transitions == 1


def test_elector_runs_once_at_a_time() -> None:
    bench = Bench()
    with bench.running():
        assert bench.led.wait(SECONDS)
        with pytest.raises(RuntimeError, match=r"^the elector of foo/bar is already running$"):
            bench.elector.run(bench.stop)
        assert bench.elector.is_leader


@pytest.mark.feature("B-LE-10")
def test_leader_and_candidate_know_the_leader() -> None:
    clock = FakeClock()
    first = Bench(clock=clock, identity="first")
    second = Bench(clock=clock, identity="second", clientset=first.clientset)
    assert (first.elector.leader, first.elector.is_leader) == ("", False)
    assert repr(first.elector) == "<LeaderElector foo/bar, led by none>"
    with first.running():
        assert first.led.wait(SECONDS)
        with second.running():
            clock.wait_for_sleeps(2)
            assert [bench.elector.leader for bench in (first, second)] == ["first", "first"]
            assert [bench.elector.is_leader for bench in (first, second)] == [True, False]
    assert repr(second.elector) == "<LeaderElector foo/bar, led by first>"


def test_health_of_a_process_that_outlives_its_lost_lease_fails_when_the_time_to_end_is_over() -> None:
    bench = Bench(lease_duration=15, release_on_cancel=False)
    with bench.running():
        bench.clock.wait_for_sleeps(1)
    bench.clock.step(20)
    bench.elector.check(5)
    bench.clock.step(0.1)
    with pytest.raises(LeaseNotRenewed, match=r"^failed election to renew leadership on lease foo/bar$"):
        bench.elector.check(5)
