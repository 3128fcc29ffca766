"""Acquiring, renewing and releasing a lease, request by request."""

import logging
import math
import threading
from dataclasses import dataclass

import pytest

from clientgo.errors import Conflict, Forbidden, NotFound
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection.bounded import BoundedLock
from clientgo.leaderelection.candidate import Candidate, ElectionMetrics
from clientgo.leaderelection.record import LeaderElectionRecord, Observation
from clientgo.leaderelection.reporter import Reporter
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset
from clientgo.testing.metrics import recorded_metrics
from tests.leaderelection.election import (
    CANCELLED,
    HOURS,
    SECONDS,
    Bench,
    Script,
    Updates,
    candidate,
    lease,
    lease_lock,
    record_in,
    verbs,
)

ABSENT = NotFound('leases.coordination.k8s.io "bar" not found')
FUTURE, PAST = 1000 * HOURS, -1000 * HOURS


def held_by(holder: str, at: float) -> Observation:
    return Observation(LeaderElectionRecord(holder_identity=holder), at)


def reports_of(item: Candidate) -> list[str]:
    """Return the notifications for a program that starts to listen now."""
    messages: list[str] = []
    reporter = Reporter(messages.append, name="bar", clock=FakeClock())
    with reporter.reporting(threading.Event()):
        reporter.report(item.observed.holder)
    return messages


@dataclass(frozen=True)
class Row:
    """One attempt: the server's responses, the earlier observation, and the expected result."""

    answers: tuple[tuple[str, Lease | NotFound | None], ...]
    before: Observation
    holds: bool
    holder: str
    transition: bool


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            Row((("get", ABSENT), ("create", None)), Observation(), holds=True, holder="baz", transition=False),
            id="acquire from no object",
            marks=pytest.mark.behaviour("LE-01"),
        ),
        pytest.param(
            Row((("get", lease()), ("update", None)), Observation(), holds=True, holder="baz", transition=True),
            id="acquire from an empty spec",
            marks=pytest.mark.behaviour("LE-02"),
        ),
        pytest.param(
            Row(
                (("get", lease(holder_identity="", lease_duration_seconds=0, lease_transitions=0)), ("update", None)),
                held_by("", 0.0), holds=True, holder="baz", transition=True,
            ),
            id="acquire from unled object",
            marks=pytest.mark.behaviour("LE-04"),
        ),
        pytest.param(
            Row(
                (("get", lease(holder_identity="bing")), ("update", None)),
                held_by("bing", PAST), holds=True, holder="baz", transition=True,
            ),
            id="acquire from led, unacked object",
            marks=pytest.mark.behaviour("LE-05"),
        ),
        pytest.param(
            Row(
                (("get", lease(holder_identity="")), ("update", None)),
                held_by("", FUTURE), holds=True, holder="baz", transition=True,
            ),
            id="acquire from empty led, acked object",
            marks=pytest.mark.behaviour("LE-06"),
        ),
        pytest.param(
            Row(
                (("get", lease(holder_identity="bing")),),
                held_by("bing", FUTURE), holds=False, holder="bing", transition=False,
            ),
            id="don't acquire from led, acked object",
            marks=pytest.mark.behaviour("LE-07"),
        ),
        pytest.param(
            Row(
                (("get", lease(holder_identity="baz")), ("update", None)),
                held_by("baz", FUTURE), holds=True, holder="baz", transition=False,
            ),
            id="renew already acquired object",
            marks=pytest.mark.behaviour("LE-08"),
        ),
    ],
)  # fmt: skip
def test_one_try(row: Row) -> None:
    script = Script(*row.answers)
    item = candidate(script.clientset, FakeClock())
    item.observed = row.before
    assert item.try_acquire_or_renew() is row.holds
    assert script.left == []
    assert item.observed.holder == row.holder
    assert item.is_leader is (row.holder == "baz")
    assert item.observed.record.leader_transitions == int(row.transition)
    assert reports_of(item) == [row.holder]


@pytest.mark.behaviour("LE-03")
def test_lease_is_taken_when_its_own_duration_has_passed_here() -> None:
    held = lease(holder_identity="bing", lease_duration_seconds=3)
    script, clock = Script(("get", held), ("get", held), ("update", None)), FakeClock()
    item = candidate(script.clientset, clock)
    assert not item.try_acquire_or_renew()
    clock.step(3)
    assert item.try_acquire_or_renew()
    assert script.left == []
    assert (item.observed.holder, item.observed.record.leader_transitions) == ("baz", 1)
    assert reports_of(item) == ["baz"]


@pytest.mark.feature("B-LE-05")
def test_the_times_in_a_lease_decide_nothing() -> None:
    clock = FakeClock()
    clientset = FakeClientset(clock=clock)
    other, first = candidate(clientset, clock, identity="bing"), candidate(clientset, clock)
    clock.set_time(0.0)
    assert other.try_acquire_or_renew()
    clock.set_time(1e9)
    assert not first.try_acquire_or_renew()
    clock.step(9.9)
    assert not first.try_acquire_or_renew()
    clock.step(0.1)
    assert first.try_acquire_or_renew()


def test_every_observed_renewal_restarts_the_wait() -> None:
    clock = FakeClock()
    clientset = FakeClientset(clock=clock)
    other, first = candidate(clientset, clock, identity="bing"), candidate(clientset, clock)
    for _ in range(5):
        assert other.try_acquire_or_renew()
        assert not first.try_acquire_or_renew()
        clock.step(9)
    clock.step(1)
    assert first.try_acquire_or_renew()


@pytest.mark.behaviour("LE-18")
@pytest.mark.feature("B-LE-06")
def test_leader_renews_with_one_request_until_its_lease_has_expired() -> None:
    clock = FakeClock()
    clientset = FakeClientset(clock=clock)
    item = candidate(clientset, clock)
    assert item.try_acquire_or_renew()
    clock.step(9.9)
    assert item.try_acquire_or_renew()
    assert verbs(clientset) == ["get", "create", "update"]
    clock.step(10)
    assert item.try_acquire_or_renew()
    assert verbs(clientset) == ["get", "create", "update", "get", "update"]
    record = record_in(clientset)
    assert record.acquire_time is not None
    assert record.renew_time is not None
    assert (record.renew_time - record.acquire_time).total_seconds() == 19.9
    assert record.leader_transitions == 0


def test_lease_counts_from_before_it_was_written() -> None:
    clock = FakeClock()
    clientset = FakeClientset(clock=clock)
    Updates(clientset, "create", lambda _: clock.step(4))
    item = candidate(clientset, clock)
    assert item.try_acquire_or_renew()
    assert (clock.now(), item.expires) == (4.0, 10.0)


def test_rejected_request_is_logged_and_nothing_is_held(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(("get", Forbidden("you may not")))
    item = candidate(script.clientset, FakeClock())
    assert not item.try_acquire_or_renew()
    (record,) = caplog.records
    assert record.msg == "cannot read or write lease"
    assert str(vars(record)["err"]) == "you may not"
    assert item.expires < 0


@pytest.mark.parametrize("leads", [False, True])
def test_call_abandoned_by_a_shutdown_is_not_logged(leads: bool, caplog: pytest.LogCaptureFixture) -> None:
    clientset, clock, stop = FakeClientset(), FakeClock(), threading.Event()
    lock = BoundedLock(lease_lock(clientset, "baz"), longest=5, clock=clock)
    item = Candidate(lock, lease_duration=10, metrics=ElectionMetrics("bar"), clock=clock, coordinated=False)
    assert not leads or item.try_acquire_or_renew()
    stop.set()
    lock.limit(math.inf, stop)
    caplog.set_level(logging.INFO)
    caplog.clear()
    assert not item.try_acquire_or_renew()
    assert caplog.records == []


def test_bug_in_a_lock_is_raised() -> None:
    def fail(_: int) -> None:
        raise TypeError("a mistake")

    clientset = FakeClientset()
    Updates(clientset, "get", fail)
    with pytest.raises(TypeError, match="a mistake"):
        candidate(clientset, FakeClock()).try_acquire_or_renew()


@pytest.mark.behaviour("LE-13")
@pytest.mark.behaviour("LE-12")
def test_released_lease_has_no_holder() -> None:
    local = lease(holder_identity="baz")
    script = Script(("get", local), ("update", None), ("get", local), ("update", None))
    item, messages = candidate(script.clientset, FakeClock()), list[str]()
    reporter = Reporter(messages.append, name="bar", clock=FakeClock())
    with reporter.reporting(threading.Event()):
        assert item.try_acquire_or_renew()
        reporter.report(item.observed.holder)
        assert item.release()
        reporter.report(item.observed.holder)
    assert item.observed.holder == ""
    assert item.observed.record.leader_transitions == 0
    assert messages == ["baz", ""]
    assert verbs(script.clientset) == ["get", "update", "get", "update"]


@pytest.mark.feature("C-09")
@pytest.mark.behaviour("LE-14")
def test_release_tries_again_on_a_conflict() -> None:
    local = lease(holder_identity="baz", lease_duration_seconds=10)
    script = Script(("get", local), ("update", Conflict("changed")), ("get", local), ("update", None))
    clock, released = FakeClock(), list[bool]()
    item = candidate(script.clientset, clock)
    item.observed = held_by("baz", 0.0)
    with Group() as group:
        group.stop()  # the program ends; the release goes on within its own time
        group.start(lambda: released.append(item.release()), name="releasing")
        clock.wait_for_sleeps(1)
        clock.step(0.011)
        group.join(10)
    assert released == [True]
    assert script.left == []


@pytest.mark.feature("B-LE-07")
def test_candidate_that_does_not_lead_releases_nothing() -> None:
    script = Script()
    item = candidate(script.clientset, FakeClock())
    item.observed = held_by("bing", 0.0)
    assert item.release()


def test_lease_that_another_holds_by_now_is_left_alone() -> None:
    script = Script(("get", lease(holder_identity="bing", lease_transitions=3)))
    item = candidate(script.clientset, FakeClock())
    item.observed = held_by("baz", 0.0)
    assert item.release()
    assert item.observed.holder == "bing"
    assert item.is_overtaken


def test_lease_that_cannot_be_released_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(("get", ABSENT))
    item = candidate(script.clientset, FakeClock())
    item.observed = held_by("baz", 0.0)
    assert not item.release()
    assert [record.msg for record in caplog.records] == ["cannot release lease"]


def test_lease_counts_as_released_after_a_failed_release() -> None:
    clientset = FakeClientset()
    item = candidate(clientset, FakeClock())
    assert item.try_acquire_or_renew()
    assert item.expires == 10.0

    def refuse(_: int) -> None:
        raise CANCELLED

    Updates(clientset, "update", refuse)
    assert not item.release()
    assert item.is_leader
    assert item.expires < 0


def test_write_with_a_lost_response_is_found_by_reading() -> None:
    clock = FakeClock()
    clientset = FakeClientset(clock=clock)
    item = candidate(clientset, clock)
    assert item.try_acquire_or_renew()

    def lose(count: int) -> None:
        if count == 1:
            leases = clientset.coordination_v1.leases("foo")
            leases.patch("bar", {"spec": {"renewTime": "2023-11-14T22:13:25.000000Z"}})
            raise CANCELLED

    Updates(clientset, "update", lose)
    assert item.try_acquire_or_renew()
    assert verbs(clientset) == ["get", "create", "update", "patch", "get", "update"]
    assert record_in(clientset).leader_transitions == 0


def test_lease_that_was_only_read_is_not_held_even_under_ones_own_name() -> None:
    script = Script(("get", lease(holder_identity="baz", lease_duration_seconds=10)), ("update", Conflict("changed")))
    item = candidate(script.clientset, FakeClock())
    assert not item.try_acquire_or_renew()
    assert item.is_leader
    assert item.expires < 0


def test_repr_shows_state() -> None:
    item = candidate(FakeClientset(), FakeClock())
    assert repr(item) == "<Candidate baz for foo/bar, held by none>"


@pytest.mark.feature("B-LE-15")
def test_leading_and_slow_renewals_are_counted_by_name() -> None:
    with recorded_metrics() as metrics:
        bench = Bench(name="mine")

    def update(number: int) -> None:
        if number == 2:
            raise Conflict("changed")

    Updates(bench.clientset, "update", update)
    status, slow = metrics["leader_election_master_status", "mine"], metrics["leader_election_slowpath_total", "mine"]
    assert status.history == [0.0]
    with bench.running():
        assert bench.led.wait(SECONDS)
        bench.clock.wait_for_sleeps(1)
        assert status.history == [0.0, 1.0]
        assert slow.history == []
        bench.clock.step(1.0)
        bench.clock.wait_for_sleeps(2)
        assert slow.history == [1.0]
    assert status.history == [0.0, 1.0, 0.0]
    assert len(metrics.metrics) == 2
    assert set(metrics.labels.values()) == {("name",)}
