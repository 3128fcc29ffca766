"""Checks for probes."""

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from clientgo.cache import SharedInformer
from clientgo.cache.state import InformerState
from clientgo.errors import ClientGoError, ConnectionFailed, Forbidden, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta.codec import ObjectList
from clientgo.meta.listwatch import ListOptions, Watch
from clientgo.serving import (
    Check,
    Unhealthy,
    informers_alive,
    informers_synced,
    keys_not_stuck,
    not_shutting_down,
    ping,
    threads_alive,
)
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import WorkQueue


class FakeInformer:
    def __init__(self, name: str, *, synced: bool = True, last_active: float | None = None) -> None:
        self.now = InformerState(name, "Foo", synced, 0, "", 0, 0, 0, None, None, "", last_active=last_active)

    def state(self) -> InformerState:
        return self.now


class Refusing:
    """Source that rejects every request."""

    kind = ConfigMap

    def __init__(self, refuse: Callable[[], Exception]) -> None:
        self._refuse = refuse

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        raise self._refuse()

    def watch_from(self, options: ListOptions) -> Watch[ConfigMap]:
        raise self._refuse()


def why(check: Check) -> str:
    """Return the reason of a failed check; empty if it passes."""
    try:
        check()
    except Unhealthy as error:
        return str(error)
    return ""


def test_ping_always_succeeds() -> None:
    assert why(ping) == ""


def test_shutdown_fails_the_check_at_once() -> None:
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


def test_stuck_informer_is_named() -> None:
    clock = FakeClock()
    foos, pods = FakeInformer("foos", last_active=clock.now()), FakeInformer("pods", last_active=clock.now())
    check = informers_alive([foos, pods], silent_seconds=60, clock=clock)
    clock.step(60)
    assert why(check) == ""
    pods.now = replace(pods.now, last_active=clock.now())
    clock.step(1)
    assert why(check) == "informers neither list nor watch: foos for 61 s"


def test_stuck_informer_is_found_among_equal_names() -> None:
    clock = FakeClock()
    ours, fake_informer = FakeInformer("foos", last_active=clock.now()), FakeInformer("foos", last_active=61.0)
    check = informers_alive([ours, fake_informer], silent_seconds=60, clock=clock)
    clock.step(61)
    assert why(check) == "informers neither list nor watch: foos for 61 s"


def test_informer_that_was_not_started_is_alive() -> None:
    clock = FakeClock()
    check = informers_alive([FakeInformer("foos")], clock=clock)
    clock.step(1_000_000)
    assert why(check) == ""


@pytest.mark.parametrize(
    "error",
    [ConnectionFailed("connection refused", refused=True), NotFound("404 page not found"), Forbidden("no")],
    ids=lambda error: type(error).__name__,
)
def test_informer_whose_requests_fail_for_hours_is_alive(error: ClientGoError) -> None:
    clock, stop, answers = FakeClock(auto=True), threading.Event(), list[str]()

    def refuse() -> Exception:
        answers.append(why(check))
        if clock.now() > 4 * 3600.0:
            stop.set()
        return error

    informer = SharedInformer(Refusing(refuse), clock=clock)
    check = informers_alive([informer], clock=clock)
    informer.run(stop)
    assert set(answers) == {""}
    clock.step(901.0)
    assert why(check) == "informers neither list nor watch: configmap for 901 s"


def test_thread_that_has_ended_is_named() -> None:
    ends = threading.Event()
    with Group().ending_within(20) as group:
        group.start(group.stop_event.wait, name="worker-0")
        group.start(ends.wait, name="worker-1")
        check = threads_alive(group, "worker-0", "worker-1")
        assert why(check) == ""
        [ending] = [thread for thread in threading.enumerate() if thread.name == "worker-1"]
        ends.set()
        ending.join(10)
        assert why(check) == "threads have ended: worker-1"


def test_stuck_worker_fails_the_check() -> None:
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


@pytest.mark.parametrize("check", [informers_synced([]), informers_alive([]), keys_not_stuck([], seconds=1)])
def test_checks_without_objects_succeed(check: Check) -> None:
    assert why(check) == ""
