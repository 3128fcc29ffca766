"""Time limits of calls to a lock."""

import math
import sys
import threading

import pytest

from clientgo.errors import Conflict, NotFound
from clientgo.leaderelection import LeaderElectionRecord
from clientgo.leaderelection.bounded import BoundedLock, CallGivenUp, CallStopped
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.kubernetes import FakeClientset
from tests.leaderelection.election import SECONDS, Gate, Updates, lease_lock

RECORD = LeaderElectionRecord(holder_identity="baz", lease_duration_seconds=1)
THEIRS = LeaderElectionRecord(holder_identity="other", lease_duration_seconds=1)


def bounded(clientset: FakeClientset, clock: FakeClock) -> BoundedLock:
    return BoundedLock(lease_lock(clientset), longest=5, clock=clock)


def test_calls_are_passed_on_and_so_are_their_errors() -> None:
    lock = bounded(FakeClientset(), FakeClock())
    with pytest.raises(NotFound):
        lock.get()
    lock.create(RECORD)
    lock.update(RECORD)
    assert lock.get() == RECORD
    assert (lock.identity, lock.describe()) == ("baz", "foo/bar")
    lock.record_event("no recorder, no event")


def test_answered_call_is_no_longer_under_way_though_its_thread_may_be() -> None:
    lock, interval = bounded(FakeClientset(), FakeClock()), sys.getswitchinterval()
    lock.create(RECORD)
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(1000):
            lock.get()
            assert lock.under_way() == []
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize(
    ("deadline", "stops", "waited"),
    [
        pytest.param(math.inf, False, 5.0, id="longest"),
        pytest.param(3.0, False, 3.0, id="deadline"),
        pytest.param(math.inf, True, 0.0, id="stop"),
    ],
)
def test_call_is_abandoned(deadline: float, stops: bool, waited: float) -> None:
    clientset, clock, gate, stop = FakeClientset(), FakeClock(), Gate(), threading.Event()
    Updates(clientset, "get", lambda _: gate.pass_through())
    lock, given_up = bounded(clientset, clock), list[CallGivenUp]()
    lock.limit(deadline, stop)

    def call() -> None:
        try:
            lock.get()
        except CallGivenUp as error:
            given_up.append(error)

    with Group() as group:
        group.start(call, name="calling")
        gate.wait_until_reached()
        clock.wait_for_waiters(1)
        if stops:
            stop.set()
        clock.step(waited)
        group.join(SECONDS)
    message = (
        "shutting down; abandoned the get of lease foo/bar" if stops else "get of lease foo/bar did not end in time"
    )
    assert [str(error) for error in given_up] == [message]
    assert lock.under_way() == ["lease-get-foo/bar"]
    assert repr(lock) == "<BoundedLock foo/bar, 1 calls>"
    gate.open()


def test_answer_ends_the_wait_for_it_with_no_time_passing() -> None:
    clientset, clock, gate = FakeClientset(), FakeClock(), Gate()
    lock = bounded(clientset, clock)
    lock.create(RECORD)
    Updates(clientset, "get", lambda _: gate.pass_through())
    with Group() as group:
        group.start(lock.get, name="calling")
        gate.wait_until_reached()
        clock.wait_for_waiters(1)
        gate.open()
        group.join(SECONDS)


def test_late_read_of_an_abandoned_call_is_ignored() -> None:
    clientset, clock, gate = FakeClientset(), FakeClock(), Gate()
    first, other = bounded(clientset, clock), lease_lock(clientset, "other")
    first.create(RECORD)
    Updates(clientset, "get", lambda number: gate.pass_through() if number == 1 else None)
    with Group() as group:
        group.start(lambda: _give_up(first), name="calling")
        gate.wait_until_reached()
        clock.wait_for_waiters(1)
        clock.step(5)
        group.join(SECONDS)
    assert first.get() == RECORD
    other.get()
    other.update(THEIRS)
    gate.open()
    eventually(first.under_way, lambda late: not late)
    with pytest.raises(Conflict):
        first.update(RECORD)
    assert first.get() == THEIRS


def _give_up(lock: BoundedLock) -> None:
    with pytest.raises(CallGivenUp):
        lock.get()


def test_no_call_starts_without_time_left() -> None:
    clientset, clock, stop = FakeClientset(), FakeClock(), threading.Event()
    lock = bounded(clientset, clock)
    lock.limit(clock.now())
    with pytest.raises(CallGivenUp, match=r"^no time left to get lease foo/bar$"):
        lock.get()
    stop.set()
    lock.limit(math.inf, stop)
    with pytest.raises(CallStopped, match=r"^shutting down; did not update lease foo/bar$"):
        lock.update(RECORD)
    assert clientset.actions == []


def test_limit_holds_until_the_next() -> None:
    clientset, clock, stop = FakeClientset(), FakeClock(), threading.Event()
    lock = bounded(clientset, clock)
    stop.set()
    lock.limit(clock.now() + 1, stop)
    lock.limit(clock.now() + 1)
    lock.create(RECORD)
    assert lock.get() == RECORD
