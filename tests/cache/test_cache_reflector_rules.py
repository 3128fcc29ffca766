"""Timeouts, backoff, internal errors and skipped objects of a reflector."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.backoff import Backoff
from clientgo.cache import Reflector
from clientgo.cache.watcher import VeryShortWatch
from clientgo.errors import (
    ApiError,
    ConnectionFailed,
    Expired,
    Forbidden,
    InternalError,
    TooManyRequests,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectList, ObjectMeta, Undecodable
from clientgo.meta.listwatch import Bookmark, ListOptions
from clientgo.testing.clock import FakeClock
from clientgo.testing.source import FakeWatch
from tests.cache.scripted import Script, Sink, added, config_map, page, run, watch

REFUSED = ConnectionFailed("refused", refused=True)
BUSY = TooManyRequests("busy")


class RecordedWatch(FakeWatch[ConfigMap]):
    """Watch that records reads and closes; `while_read` is called by the reader."""

    def __init__(self, while_read: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._while_read = while_read

    def __iter__(self) -> Iterator[Any]:
        self.calls.append("read")
        self._while_read()
        return super().__iter__()

    def close(self) -> None:
        self.calls.append("close")
        super().close()


@pytest.mark.feature("B-REF-24")
@pytest.mark.behaviour("RL-06")
@pytest.mark.behaviour("RL-07")
@pytest.mark.behaviour("RL-11")
@pytest.mark.parametrize("when", ["before it is read", "while it is read"])
def test_stopped_watch_is_closed_without_an_error(when: str) -> None:
    stop = threading.Event()

    def stop_it() -> None:
        stop.set()
        reflector.close()

    made = RecordedWatch(stop_it if when == "while it is read" else lambda: None)

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            if when == "before it is read":
                stop_it()
            return made

    reflector = Reflector(Source(page()), Sink(), clock=FakeClock())
    reflector.list_and_watch(stop)
    assert made.closed
    assert made.calls.count("read") <= 1


@pytest.mark.behaviour("RL-08")
@pytest.mark.behaviour("RL-09")
@pytest.mark.parametrize("when", ["before it is read", "while it is read"])
def test_watch_that_ends_at_once_is_closed_once_and_is_an_error(when: str) -> None:
    made = RecordedWatch(lambda: made.end() if when == "while it is read" else None)
    if when == "before it is read":
        made.end()

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            return made

    with pytest.raises(VeryShortWatch, match="very short watch: ConfigMap"):
        Reflector(Source(page()), Sink(), clock=FakeClock()).list_and_watch(threading.Event())
    assert made.calls == ["read", "close"]


@pytest.mark.feature("B-REF-12")
@pytest.mark.parametrize(("lasted", "short"), [(0.999, True), (1.0, False)])
def test_watch_without_events_below_a_second_is_too_short(lasted: float, short: bool) -> None:
    clock = FakeClock(auto=True)

    def take_time() -> None:
        clock.step(lasted)
        made.end()

    made = RecordedWatch(take_time)
    errors = run(source := Script(page(), made), clock=clock)
    assert [isinstance(error, VeryShortWatch) for error in errors] == [True] * short
    assert source.calls() == ["list 0", "watch 10"]


def test_closed_reflector_opens_no_watch_without_a_stop() -> None:
    source = Script(page(), watch(added("a", 11)), page())
    reflector = Reflector(source, Sink(), clock=FakeClock(auto=True))
    reflector.close()
    reflector.list_and_watch(threading.Event())
    assert source.calls() == ["list 0"]


def test_repr_of_a_reflector_contains_its_version() -> None:
    source = Script(page(version="10"), watch(added("a", 11)))
    reflector = Reflector(source, Sink(), name="maps", clock=FakeClock(auto=True), on_error=lambda _: None)
    assert repr(reflector) == "<Reflector maps at no version>"
    assert repr(reflector._watcher) == "<ReflectorWatcher maps at no version>"
    assert repr(reflector._pager) == "<ReflectorPager>"
    reflector.run(source.stop)
    assert repr(reflector) == "<Reflector maps at 11>"
    assert repr(reflector._watcher) == "<ReflectorWatcher maps at 11>"


@pytest.mark.feature("B-REF-12")
def test_short_watch_with_events_is_not_a_failure() -> None:
    source = Script(page(), watch(added("a", 11)), watch(added("b", 12)))
    errors = run(source)
    assert source.calls() == ["list 0", "watch 10", "watch 11"]
    assert [type(error) for error in errors if not isinstance(error, VeryShortWatch)] == []


@pytest.mark.behaviour("RL-05")
def test_reflector_stopped_during_a_watch_logs_nothing() -> None:
    stop = threading.Event()
    silent: FakeWatch[ConfigMap] = FakeWatch()
    asked: list[ListOptions] = []

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            asked.append(options)
            stop.set()
            reflector.close()  # before the reflector has the watch
            return silent

    errors: list[Exception] = []
    reflector = Reflector(Source(page()), Sink(), clock=FakeClock(auto=True), on_error=errors.append)
    reflector.run(stop)
    assert (len(asked), silent.closed, errors) == (1, True, [])


@pytest.mark.behaviour("RL-14")
def test_errors_of_lists_and_watches_are_raised_and_do_not_change_the_store() -> None:
    sink, stop = Sink(), threading.Event()
    source = Script()
    reflector = Reflector(source, sink, clock=FakeClock(auto=True))
    boom = Forbidden("no")
    expected: dict[str, str] = {}
    for round_ in range(6):
        objects = [config_map(str(n), n + 1) for n in range(round_)]
        if round_ % 2:
            source.answers = [boom]
        else:
            source.answers = [page(*objects), boom]
            expected = {obj.metadata.name: obj.metadata.resource_version for obj in objects}
        with pytest.raises(Forbidden):
            reflector.list_and_watch(stop)
        assert sink.stored == expected


@pytest.mark.feature("B-REF-01", "C-14")
@pytest.mark.behaviour("RL-16")
def test_backoff_can_be_configured() -> None:
    clock = FakeClock(auto=True)
    backoff = Backoff(duration=0.01, factor=2.0, jitter=0.0, cap=0.1)
    run(Script(page(), *[REFUSED] * 5, watch(added("a", 11))), clock=clock, backoff=backoff)
    assert clock.slept[:5] == pytest.approx([0.01, 0.02, 0.04, 0.08, 0.1])
    assert sum(clock.slept[:5]) == pytest.approx(0.25)


@pytest.mark.behaviour("RL-16")
def test_two_refused_connections_cost_less_than_ten_seconds() -> None:
    clock = FakeClock(auto=True)
    run(Script(page(), REFUSED, REFUSED, watch(added("a", 11))), clock=clock, rand=lambda: 0.999)
    assert sum(clock.slept[:2]) < 10.0


@pytest.mark.behaviour("RL-17")
def test_each_429_backs_off_once_before_or_during_a_watch() -> None:
    clock, stopped = FakeClock(auto=True), Script(page(), BUSY, watch(error=BUSY))
    run(stopped, clock=clock)
    # Before and during the watch, and at the end of the script.
    assert clock.slept == pytest.approx([0.8, 1.6, 3.2])
    assert stopped.calls() == ["list 0", "watch 10", "watch 10"]


def test_retry_after_is_respected() -> None:
    clock = FakeClock(auto=True)
    run(Script(page(), TooManyRequests("busy", retry_after=7.0), watch(added("a", 11))), clock=clock)
    assert clock.slept[0] == 7.0


@pytest.mark.feature("B-REF-01")
def test_two_minutes_without_failures_reset_the_backoff() -> None:
    clock = FakeClock(auto=True)
    calm = Script(*[Forbidden("no")] * 3)
    reflector = Reflector(calm, Sink(), clock=clock, rand=lambda: 0.0, on_error=lambda _: None)
    reflector.run(calm.stop)
    clock.step(121.0)
    calm.answers, calm.stop = [Forbidden("no")], threading.Event()
    reflector.run(calm.stop)
    assert clock.slept[4] == pytest.approx(0.8)


class Failing(Script):
    """Source whose watches end with an internal error after a second each; stops after `last` calls."""

    def __init__(self, clock: FakeClock, *, jump_at: int = 0) -> None:
        super().__init__(page())
        self.opened = 0
        self._fake = clock
        self._jump_at = jump_at

    def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
        self.opened += 1
        self._fake.step(1.0 + (60.0 if self.opened == self._jump_at else 0.0))
        return watch(error=InternalError("etcd is down"))


@pytest.mark.feature("B-REF-11")
@pytest.mark.behaviour("RL-19")
@pytest.mark.parametrize(
    ("seconds", "jump_at", "retries"), [(0.0, 0, 0), (30.0, 0, 31), pytest.param(30.0, 10, 40, id="a minute of quiet")]
)
def test_internal_errors_are_retried_by_a_watch_until_the_deadline(seconds: float, jump_at: int, retries: int) -> None:
    clock = FakeClock()
    source = Failing(clock, jump_at=jump_at)
    reflector = Reflector(source, Sink(), internal_error_retry=seconds, clock=clock)
    with pytest.raises(InternalError):
        reflector.list_and_watch(threading.Event())
    assert source.opened - 1 == retries
    assert clock.slept == []


@pytest.mark.behaviour("RL-32")
def test_object_that_storage_cannot_read_causes_a_list_without_it() -> None:
    unreadable = ApiError("corrupt", code=500, reason="StorageReadError")
    kept = [config_map(f"foo-{n}", n) for n in (1, 2, 3)]
    source = Script(page(*kept, version="3"), watch(added("foo", 4), error=unreadable), page(*kept, version="5"))
    sink = Sink()
    errors = run(source, sink)
    assert source.calls() == ["list 0", "watch 3", "list 4"]
    assert sorted(sink.stored) == ["foo-1", "foo-2", "foo-3"]
    assert sink.versions[-1] == "5"
    assert errors[0] is unreadable


@pytest.mark.feature("B-REF-05")
@pytest.mark.behaviour("RL-29")
@pytest.mark.parametrize(("asked", "shortest", "longest"), [(None, 300, 600), (1.0, 300, 600), (1800.0, 1800, 3600)])
def test_watch_timeout_is_between_the_minimum_and_twice_that(asked: float | None, shortest: int, longest: int) -> None:
    wanted: dict[str, Any] = {} if asked is None else {"min_watch_seconds": asked}
    seen = []
    for draw in (0.0, 0.5, 0.999999):
        source = Script(page(), watch(added("a", 11)))
        run(source, rand=lambda draw=draw: draw, **wanted)
        seen.append(source.options("watch")[0].timeout_seconds)
    assert seen[0] == shortest
    assert seen[1] == (shortest + longest) // 2
    assert shortest < seen[2] <= longest


@pytest.mark.feature("B-REF-09")
def test_initial_events_of_a_watch_without_a_version_do_not_advance_it() -> None:
    source = Script(
        page(version="0"),
        watch(added("b", 7), added("a", 3)),
        watch(added("a", 3), Bookmark("9")),
        watch(added("c", 10)),
    )
    run(source)
    assert source.calls()[:4] == ["list 0", "watch 0", "watch 0", "watch 9"]


@pytest.mark.feature("B-REF-18")
def test_repeated_errors_and_their_end_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    expired = watch(added("a", 11), error=Expired("old"))
    source = Script(
        Forbidden("no"), Forbidden("no"), Forbidden("never"), page(), expired, page(), watch(added("a", 11))
    )
    reflector = Reflector(source, Sink(), clock=FakeClock(auto=True))
    reflector.run(source.stop)
    failures = [record.levelname for record in caplog.records if "failed to list" in record.getMessage()]
    assert failures == ["WARNING", "DEBUG", "WARNING"]
    assert caplog.text.count("works again") == 1
    assert caplog.text.count("watch expired; listing again") == 1


def test_too_many_requests_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    run(Script(page(), BUSY, BUSY, BUSY, watch(added("a", 11))))
    assert caplog.text.count("the server asks for fewer requests; waiting") == 1


def test_refused_connection_is_reported_and_too_many_requests_are_not() -> None:
    assert run(Script(page(), REFUSED, BUSY, watch(error=BUSY), watch(added("a", 11)))) == [REFUSED]


@pytest.mark.feature("B-REF-21")
@pytest.mark.parametrize(("seconds", "lines"), [(10.0, 0), (10.5, 1)])
def test_list_of_more_than_ten_seconds_is_logged(seconds: float, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = FakeClock(auto=True)
    run(Script(page(), watch(added("a", 11)), clock=clock, step=seconds), clock=clock)
    assert caplog.text.count("list was slow") == lines


def test_undecodable_list_is_reported_and_retried() -> None:
    class Odd(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            if not self.asked:
                self.asked.append(("list", options))
                raise Undecodable("ConfigMapList", ObjectMeta(), "it is a table")
            return super().list_page(options)

    errors = run(Odd(page(), watch(added("a", 11))))
    assert str(errors[0]).endswith("it is a table")


@pytest.mark.feature("B-REF-16")
def test_unexpected_errors_are_raised_to_the_caller() -> None:
    class Broken(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Broken())
