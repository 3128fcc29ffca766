"""Stop scopes: what ends when an event is set."""

import gc
import threading
import weakref

import pytest

from clientgo.stop import stopping
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import GRACE, StopEvent, StopScope, TaskScope, current_scopes, ends_with, scope_of
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually

EVENTS = pytest.mark.parametrize("event", [threading.Event, StopEvent])


class Callback:
    def __init__(self, error: Exception | None = None) -> None:
        self.called = threading.Event()
        self.calls = 0
        self._error = error

    def __call__(self) -> None:
        self.calls += 1
        self.called.set()
        if self._error is not None:
            raise self._error


@EVENTS
def test_callback_is_called_when_the_event_is_set(event: type[threading.Event]) -> None:
    stop, callback = event(), Callback()
    scope_of(stop).add(self_owner := object(), callback)
    assert not callback.called.is_set()
    stop.set()
    assert callback.called.wait(10)
    scope_of(stop).remove(self_owner)
    assert callback.calls == 1


@EVENTS
def test_callback_added_after_the_stop_is_called_at_once(event: type[threading.Event]) -> None:
    stop, callback = event(), Callback()
    stop.set()
    scope_of(stop).add(object(), callback)
    assert callback.calls == 1


def test_removed_callback_is_not_called() -> None:
    stop, removed, other = threading.Event(), Callback(), Callback()
    scope, owner = scope_of(stop), object()
    scope.add(owner, removed)
    scope.remove(owner)
    scope.add(object(), other)
    stop.set()
    assert other.called.wait(10)
    assert removed.calls == 0


def test_callback_that_raises_does_not_keep_others_from_being_called(caplog: pytest.LogCaptureFixture) -> None:
    stop, failing, other = threading.Event(), Callback(ValueError("boom")), Callback()
    scope_of(stop).add(object(), failing)
    scope_of(stop).add(object(), other)
    stop.set()
    assert other.called.wait(10)
    assert failing.calls == 1
    assert [record.msg for record in caplog.records] == ["cannot end what the stop should end"]


@pytest.mark.parametrize("before", [True, False], ids=["added before the stop", "added after it"])
def test_callback_with_a_delay_is_called_that_long_after_the_stop(before: bool) -> None:
    stop, clock, callback = threading.Event(), FakeClock(), Callback()
    scope = StopScope(stop, clock=clock)
    if before:
        scope.add(object(), callback, after=0.4)
    stop.set()
    if not before:
        scope.add(object(), callback, after=0.4)
    clock.wait_for_sleeps(1)
    clock.step(0.3)
    clock.wait_for_sleeps(2)
    assert callback.calls == 0
    clock.step(0.1)
    assert callback.called.wait(10)


def test_one_thread_waits_for_an_event_and_ends_with_it() -> None:
    def watchers() -> int:
        return sum(thread.name == "stop-watcher" for thread in threading.enumerate())

    stop, before = threading.Event(), watchers()
    callbacks = [Callback() for _ in range(200)]
    for callback in callbacks:
        scope_of(stop).add(callback, callback)
    assert watchers() == before + 1
    stop.set()
    for callback in callbacks:
        assert callback.called.wait(10)
    eventually(lambda: watchers() == before)


def test_stop_events_need_no_thread_each() -> None:
    before = threading.active_count()
    stops = [StopEvent() for _ in range(50)]
    callbacks = [Callback() for _ in stops]
    for stop, callback in zip(stops, callbacks, strict=True):
        scope_of(stop).add(callback, callback)
    assert threading.active_count() <= before + 1
    scopes = [scope_of(stop) for stop in stops]
    for stop in stops:
        stop.set()
    for callback in callbacks:
        assert callback.called.wait(10)
    assert len(scopes) == 50


def test_stop_event_is_set_while_its_own_thread_holds_the_locks_as_in_a_signal_handler() -> None:
    stop, callback = StopEvent(), Callback()
    scope = scope_of(stop)
    scope.add(callback, callback)
    with scope._lock:
        stop.set()
    assert callback.called.wait(10)


@EVENTS
def test_callbacks_of_many_threads_are_called_once_each_whenever_the_stop_comes(event: type[threading.Event]) -> None:
    for _ in range(20):
        stop, callbacks = event(), [Callback() for _ in range(40)]
        adders = Group()
        for callback in callbacks:
            adders.start(scope_of(stop).add, callback, callback, name="adder")
        stop.set()
        adders.join(10)
        for callback in callbacks:
            assert callback.called.wait(10)
        assert {callback.calls for callback in callbacks} == {1}


def test_event_has_one_scope_which_does_not_outlive_it() -> None:
    event = threading.Event()
    assert scope_of(event) is scope_of(event)
    assert scope_of(event) is not scope_of(threading.Event())
    gone, before = weakref.ref(event), len(stopping._scopes)
    del event
    gc.collect()
    assert gone() is None
    assert len(stopping._scopes) < before + 1


def test_patience_is_the_time_since_a_request_was_not_answered_at_most_the_grace() -> None:
    scope = scope_of(threading.Event())
    assert scope.patience(100.0) == GRACE
    scope.answered(100.0, yes=False)
    assert scope.patience(100.0) == 0
    assert scope.patience(100.1) == pytest.approx(0.1)
    assert scope.patience(200.0) == GRACE
    scope.answered(100.0, yes=True)
    assert scope.patience(100.0) == GRACE


def test_block_replaces_the_scopes_of_its_thread() -> None:
    outer, inner = threading.Event(), threading.Event()
    assert current_scopes() == ()
    with ends_with(outer):
        assert current_scopes() == (scope_of(outer),)
        with ends_with(scope_of(inner)):
            assert current_scopes() == (scope_of(inner),)
        assert current_scopes() == (scope_of(outer),)
    assert current_scopes() == ()


def test_thread_of_a_group_has_the_scope_of_its_stop_event() -> None:
    seen: list[object] = []
    group = Group(stop=threading.Event())
    group.start(lambda: seen.extend(current_scopes()), name="worker")
    group.join(10)
    assert seen == [scope_of(group.stop_event)]


def test_task_calls_its_callbacks_in_the_stopping_thread() -> None:
    task, early, late = TaskScope(), Callback(), Callback()
    task.add(object(), early)
    task.stop()
    assert early.calls == 1
    task.add(object(), late)
    assert late.calls == 1
    assert repr(task) == "<TaskScope stopped, 0 callbacks>"
