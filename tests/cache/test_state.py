"""Snapshots of informers, and waiting for cache sync."""

import logging
import threading
from collections.abc import Iterator

import pytest

from clientgo.cache import InformerState, Reflector, SharedInformer, wait_for, wait_for_cache_sync
from clientgo.cache.reflector import ReflectorOptions
from clientgo.cache.state import ReflectorState, combined
from clientgo.errors import ConnectionFailed, InternalError, TooManyRequests
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, Undecodable
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.watchsource import FakeSource
from tests.cache.scripted import Running, Script, Sink, config_map, handling, page, watch

REFUSED = ConnectionFailed("connect to 10.0.0.1: refused", refused=True)
BUSY = TooManyRequests("slow down")


@pytest.fixture
def running() -> Iterator[Running]:
    built = Running()
    yield built
    built.end()


def watched(running: Running, handler: RecordingHandler[ConfigMap]) -> None:
    """Start, and wait until the watch is open."""
    handling(handler)(running.informer)
    running.start()


def test_state_before_the_start_is_empty(running: Running) -> None:
    assert running.informer.state() == InformerState("configmap", "ConfigMap", False, 0, "", 0, 0, 0, None, None, "")


def test_state_has_objects_version_and_times_of_the_last_event(running: Running) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    running.source.add(config_map("a"))
    running.clock.step(3)
    watched(running, handler)
    running.clock.step(4)
    running.source.add(config_map("b"))
    handler.wait_for(2)
    state = running.informer.state()
    assert (state.synced, state.objects, state.resource_version, state.waiting) == (True, 2, "3", 0)
    assert (state.lists, state.watches, state.watching_since, state.last_event) == (1, 1, 3.0, 7.0)


def test_bookmark_counts_as_an_event(running: Running) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    watched(running, handler)
    running.clock.step(60)
    running.source.bookmark()
    running.source.add(config_map("after it"))
    handler.wait_for(1)
    assert running.informer.state().last_event == 60.0


def test_list_error_is_reported_until_a_list_succeeds(running: Running) -> None:
    running.source.fail_next_lists(InternalError("etcd is away"))
    running.informer.start(running.group)
    running.clock.wait_for_sleeps(1)
    state = running.informer.state()
    assert (state.synced, state.lists, state.watches, state.last_event) == (False, 1, 0, None)
    assert "etcd is away" in state.last_error
    running.clock.step(60)
    running.source.wait_for_watch()
    assert (running.informer.state().lists, running.informer.state().last_error) == (2, "")


@pytest.mark.parametrize("error", [REFUSED, BUSY], ids=["refused", "429"])
def test_watch_error_is_reported_until_a_watch_opens(
    running: Running, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    running.source.fail_next_watches(error)
    watched(running, handler)
    running.clock.wait_for_sleeps(1)
    state = running.informer.state()
    assert (state.synced, state.lists, state.watches, state.watching_since) == (True, 1, 1, None)
    assert state.last_error == str(error)
    with caplog.at_level(logging.INFO, logger="clientgo"):
        running.clock.step(60)
        running.source.add(config_map("a"))
        handler.wait_for(1)
    state = running.informer.state()
    assert (state.lists, state.watches, state.watching_since, state.last_error) == (1, 2, 60.0, "")
    told_of = [record.msg for record in caplog.records if record.levelno == logging.INFO]
    assert told_of == ["list and watch recovered"]


def test_undecodable_objects_are_counted_while_they_exist(running: Running) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    watched(running, handler)
    bad = Undecodable("ConfigMap", ObjectMeta(name="bad", namespace="ns", resource_version="2"), "Expected `str`")
    running.source.make_undecodable(bad, "ADDED")
    running.source.add(config_map("a"))
    handler.wait_for(1)
    assert running.informer.state().undecodable == 1
    running.source.make_undecodable(bad, "DELETED")
    running.source.add(config_map("b"))
    handler.wait_for(2)
    assert running.informer.state().undecodable == 0


def test_stopped_informer_has_no_open_watch(running: Running) -> None:
    running.start()
    running.end()
    assert running.informer.state().watching_since is None


def test_state_of_several_namespaces_is_the_worst() -> None:
    reflector_state = ReflectorState(lists=1, watches=2, last_event=5.0, watching_since=1.0, last_error="away")
    other = ReflectorState(lists=3, watches=4, last_event=3.0, watching_since=2.0, last_error="away")
    silent = ReflectorState(lists=1, watches=0, last_event=None, watching_since=None, last_error="forbidden")
    assert combined([reflector_state, other]) == ReflectorState(4, 6, 3.0, 2.0, "away")
    assert combined([reflector_state, silent]) == ReflectorState(2, 2, None, None, "away; forbidden")
    assert combined([]) == ReflectorState(0, 0, None, None, "")


def test_last_activity_of_several_namespaces_is_the_oldest() -> None:
    reflector_state = ReflectorState(1, 1, None, None, "", last_active=5.0)
    assert combined([reflector_state, reflector_state._replace(last_active=3.0)]).last_active == 3.0


@pytest.mark.parametrize("failing", ["list", "watch"])
def test_failed_request_counts_as_activity(failing: str, running: Running) -> None:
    assert running.informer.state().last_active is None
    if failing == "list":
        running.source.fail_next_lists(REFUSED, REFUSED)
    else:
        running.source.fail_next_watches(REFUSED, REFUSED)
    running.informer.start(running.group)
    running.clock.wait_for_sleeps(1)
    assert running.informer.state().last_active == 0.0
    running.clock.step(60)
    running.clock.wait_for_sleeps(2)
    assert running.informer.state().last_active == 60.0


def test_requests_of_two_namespaces_are_added() -> None:
    running = Running()
    sources = {"a": FakeSource(ConfigMap), "b": FakeSource(ConfigMap)}
    running.informer = SharedInformer(sources, name="maps", clock=running.clock)
    running.informer.start(running.group)
    for source in sources.values():
        source.wait_for_watch()
    state = running.informer.state()
    running.end()
    assert (state.name, state.lists, state.watches) == ("maps", 2, 2)


def test_opened_watch_counts_as_a_response() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), watch(), clock=clock, step=1.0)
    reflector = Reflector(source, Sink(), ReflectorOptions(on_error=lambda _: None), clock=clock)
    reflector.run(source.stop)
    assert reflector.state().last_event == 2.0


NEVER = float("inf")


class After:
    """Cache that has synced after a time of the clock."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    @property
    def has_synced(self) -> bool:
        return self._clock.now() >= self._seconds


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def lines(log: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.msg, str(getattr(r, "instance", ""))) for r in log.records]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


def checkers(clock: FakeClock, **seconds: float) -> dict[str, After]:
    return {name: After(clock, at) for name, at in seconds.items()}


@pytest.mark.behaviour("WF-01")
def test_unnamed_wait_for_nothing_logs_nothing(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    assert wait_for(threading.Event(), "", {}, clock=clock)
    assert lines(log) == []


@pytest.mark.behaviour("WF-02")
def test_named_wait_for_nothing_is_logged_once(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    assert wait_for(threading.Event(), "caches", {}, clock=clock)
    assert lines(log) == [("Waiting", "")]


@pytest.mark.feature("B-INF-18")
@pytest.mark.behaviour("WF-03")
def test_each_synced_cache_is_logged(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    assert wait_for(threading.Event(), "caches", checkers(clock, first=10, second=5, last=0), clock=clock)
    assert clock.now() == pytest.approx(10.0, abs=0.02)
    assert lines(log) == [
        ("Waiting", ""), ("Done waiting", "last"), ("Done waiting", "second"), ("Done waiting", "first"),
    ]  # fmt: skip


@pytest.mark.feature("B-INF-18", "C-20")
@pytest.mark.behaviour("WF-04")
@pytest.mark.behaviour("WF-05")
def test_missing_caches_are_named_after_the_timeout(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    result = wait_for(
        threading.Event(), "caches", checkers(clock, first=10, second=NEVER, last=0), timeout=60, clock=clock
    )
    assert not result
    assert (result.missing, result.cause) == (("second",), "deadline exceeded")
    assert clock.now() == pytest.approx(60.0, abs=0.02)
    record = log.records[-1]
    assert (record.msg, vars(record)["cause"], vars(record)["instances"]) == (
        "Timed out waiting", "deadline exceeded", ["second"],
    )  # fmt: skip


@pytest.mark.behaviour("WF-06")
def test_stopped_wait_still_checks_once(clock: FakeClock, log: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    stop.set()
    result = wait_for(stop, "caches", checkers(clock, second=5, first=10, last=0), clock=clock)
    assert (result.missing, result.cause) == (("first", "second"), "stopped")
    assert ("Done waiting", "last") in lines(log)


@pytest.mark.behaviour("WF-07")
def test_cause_of_a_stop_can_be_given(clock: FakeClock) -> None:
    stop = threading.Event()

    class Stopping(After):
        @property
        def has_synced(self) -> bool:
            if clock.now() >= 5.0:
                stop.set()
            return False

    result = wait_for(stop, "caches", {"fish": Stopping(clock, 0)}, cause="go fish", clock=clock)
    assert (result.missing, result.cause) == (("fish",), "go fish")
    assert clock.now() == pytest.approx(5.0, abs=0.02)


@pytest.mark.behaviour("WF-08")
def test_missing_names_are_sorted(clock: FakeClock) -> None:
    result = wait_for(
        threading.Event(), "", checkers(clock, second=NEVER, last=NEVER, first=NEVER), timeout=1, clock=clock
    )
    assert result.missing == ("first", "last", "second")


@pytest.mark.feature("B-INF-18")
def test_wait_for_cache_sync_returns_true_or_false(clock: FakeClock) -> None:
    stop = threading.Event()
    done, never = After(clock, 0.5), After(clock, NEVER)
    assert wait_for_cache_sync(stop, done, clock=clock)
    assert not wait_for_cache_sync(stop, done, never, timeout=1, clock=clock)
    assert clock.now() == pytest.approx(1.5, abs=0.03)
    stop.set()
    assert not wait_for_cache_sync(stop, never, clock=clock)


class Syncing:
    """Sync state that raises at first."""

    def __init__(self, *errors: BaseException) -> None:
        self._errors = [*errors]

    @property
    def has_synced(self) -> bool:
        if self._errors:
            raise self._errors.pop()
        return True


def test_has_synced_that_raises_is_asked_again_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    synced = Syncing(SystemExit(), LookupError("no"))
    assert wait_for_cache_sync(threading.Event(), synced, clock=FakeClock(auto=True))
    assert [record.msg for record in caplog.records] == ["has_synced raised"]
