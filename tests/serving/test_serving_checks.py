"""Each ready-made check, against what it looks at."""

import threading

import pytest
from msgspec.structs import replace

from clientgo.cache.state import InformerState
from clientgo.lifecycle import Group
from clientgo.serving import (
    Check,
    Unhealthy,
    informers_synced,
    keys_not_stuck,
    not_shutting_down,
    ping,
    threads_alive,
    watches_heard,
)
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import WorkQueue


class FakeInformer:
    def __init__(self, name: str, *, synced: bool = True, last_event: float | None = None) -> None:
        self.now = InformerState(name, "Foo", synced, 0, "", 0, 0, 0, last_event, None, "")

    def state(self) -> InformerState:
        return self.now


def why(check: Check) -> str:
    """What is wrong; empty if nothing is."""
    try:
        check()
    except Unhealthy as error:
        return str(error)
    return ""


def test_ping_is_always_well() -> None:
    assert why(ping) == ""


def test_shutting_down_is_seen_at_once() -> None:
    stop = threading.Event()
    check = not_shutting_down(stop)
    assert why(check) == ""
    stop.set()
    assert why(check) == "shutting down"


def test_informers_are_named_until_they_are_synced() -> None:
    foos, pods = FakeInformer("foos", synced=False), FakeInformer("pods", synced=False)
    check = informers_synced([foos, pods])
    assert why(check) == "informers not synced: foos, pods"
    foos.now = replace(foos.now, synced=True)
    assert why(check) == "informers not synced: pods"
    pods.now = replace(pods.now, synced=True)
    assert why(check) == ""


def test_a_watch_that_is_silent_too_long_is_named() -> None:
    clock = FakeClock()
    foos, pods = FakeInformer("foos", last_event=clock.now()), FakeInformer("pods", last_event=clock.now())
    check = watches_heard([foos, pods], silent_seconds=60, clock=clock)
    clock.step(60)
    assert why(check) == ""
    pods.now = replace(pods.now, last_event=clock.now())
    clock.step(1)
    assert why(check) == "nothing heard of the server: foos for 61 s"


def test_a_watch_that_has_never_been_heard_is_given_as_long() -> None:
    clock = FakeClock()
    check = watches_heard([FakeInformer("foos")], silent_seconds=60, clock=clock)
    clock.step(60)
    assert why(check) == ""
    clock.step(1)
    assert why(check) == "nothing heard of the server: foos for 61 s"


def test_a_thread_that_has_ended_is_named() -> None:
    ends = threading.Event()
    with Group() as group:
        group.start(group.stop_event.wait, name="worker-0")
        group.start(ends.wait, name="worker-1")
        check = threads_alive(group, "worker-0", "worker-1")
        assert why(check) == ""
        [ending] = [thread for thread in threading.enumerate() if thread.name == "worker-1"]
        ends.set()
        ending.join(10)
        assert why(check) == "threads have ended: worker-1"


def test_a_worker_that_hangs_is_seen() -> None:
    clock = FakeClock()
    queue: WorkQueue[str] = WorkQueue(name="foos", clock=clock)
    check = keys_not_stuck([queue], seconds=30)
    queue.add("a")
    queue.add("b")
    queue.get()
    clock.step(30)
    assert why(check) == ""
    clock.step(1)
    assert why(check) == "foos: 1 key is in process for more than 30 s"
    queue.get()
    clock.step(31)
    assert why(check) == "foos: 2 keys are in process for more than 30 s"
    queue.done("a")
    queue.done("b")
    assert why(check) == ""


@pytest.mark.parametrize("made", [informers_synced([]), watches_heard([]), keys_not_stuck([], seconds=1)])
def test_nothing_to_look_at_is_well(made: Check) -> None:
    assert why(made) == ""
