"""Reflector: list, watch, and retry of every failure."""

import threading
from typing import Any

import pytest

from clientgo.cache import Reflector
from clientgo.cache.reflector import ReflectorOptions
from clientgo.errors import (
    ApiError,
    BadRequest,
    ConnectionFailed,
    Expired,
    Forbidden,
    InternalError,
    Invalid,
    StatusCause,
    StatusDetails,
    TooManyRequests,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, Undecodable
from clientgo.meta.listwatch import BadEvent, Bookmark, ListOptions
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeWatch
from tests.cache.scripted import Script, Sink, added, config_map, deleted, modified, page, run, watch

REFUSED = ConnectionFailed("refused", refused=True)
BUSY = TooManyRequests("busy")


@pytest.mark.feature("B-REF-08", "B-REF-09")
@pytest.mark.behaviour("RL-30")
def test_next_watch_starts_after_the_last_event_or_bookmark() -> None:
    events = (added("a", 10), modified("a", 20), Bookmark("30"), deleted("a", 40))
    source = Script(
        page(version="10"), watch(*events[:1]), watch(*events[1:3]), watch(events[3]), watch(added("x", 50))
    )
    sink = Sink()
    run(source, sink)
    assert source.calls() == ["list 0", "watch 10", "watch 10", "watch 30", "watch 40"]
    assert sink.versions[:5] == ["10", "10", "20", "30", "40"]


@pytest.mark.feature("B-REF-05")
def test_watch_requests_bookmarks_and_a_timeout_of_five_to_ten_minutes() -> None:
    source = Script(page(), watch(added("a", 11)))
    run(source)
    options = source.asked[1][1]
    assert options.allow_watch_bookmarks
    assert options.watch
    assert 300 <= options.timeout_seconds <= 600


@pytest.mark.feature("B-REF-04")
@pytest.mark.behaviour("RL-22")
def test_list_at_a_version_has_no_limit_which_would_bypass_the_watch_cache() -> None:
    source = Script(page(version="10"), watch(error=Expired("too old")), page(version="20"), watch(added("a", 21)))
    run(source)
    assert source.calls() == ["list 0", "watch 10", "list 10", "watch 20"]
    assert [options.limit for options in source.options("list")] == [500, 0]


@pytest.mark.feature("B-REF-04")
@pytest.mark.behaviour("RL-23")
def test_server_that_sends_pages_for_version_0_always_gets_a_limit() -> None:
    source = Script(
        page(config_map("a", 1), continue_="more"), page(version="10"), watch(error=Expired("too old")),
        page(version="20"), watch(added("a", 21)),
    )  # fmt: skip
    run(source)
    assert [options.limit for options in source.options("list")] == [500, 500, 500]


@pytest.mark.feature("B-REF-04")
@pytest.mark.behaviour("RL-21")
def test_configured_page_size_is_used_for_every_list() -> None:
    pages = [
        page(*(config_map(str(n), n) for n in numbers), continue_=token)
        for numbers, token in ((range(1, 5), "C1"), (range(5, 9), "C2"), (range(9, 11), ""))
    ]
    source, sink = Script(page(version="10"), watch(error=Expired("old")), *pages, watch(added("x", 11))), Sink()
    run(source, sink, page_size=4)
    requested = [(options.resource_version, options.continue_, options.limit) for options in source.options("list")]
    assert requested == [("0", "", 4), ("10", "", 4), ("", "C1", 4), ("", "C2", 4)]
    assert sink.told[1] == "replace " + ",".join(str(n) for n in range(1, 11))


@pytest.mark.feature("B-REF-02")
@pytest.mark.behaviour("RL-26")
def test_expired_page_causes_a_full_list_at_the_first_version() -> None:
    sink = Sink()
    source = Script(
        page(version="10"), watch(error=Expired("old")), page(config_map("a", 1), continue_="C1", version="11"),
        Expired("gone"), page(config_map("b", 2), version="30"), watch(added("c", 31)),
    )  # fmt: skip
    run(source, sink, page_size=4)
    requested = [(options.resource_version, options.continue_, options.limit) for options in source.options("list")]
    assert requested == [("0", "", 4), ("10", "", 4), ("", "C1", 4), ("10", "", 0)]
    assert sink.told[1] == "replace b"


@pytest.mark.feature("B-REF-02")
def test_expired_version_causes_a_list_of_the_newest_state() -> None:
    expired = Expired("gone")
    source = Script(
        page(version="10"), watch(error=expired), expired, page(version="30"), watch(error=expired), page(version="40"),
    )  # fmt: skip
    run(source)
    assert source.calls() == ["list 0", "watch 10", "list 10", "list newest", "watch 30", "list 30"]


def test_after_two_expired_lists_the_next_one_requests_the_newest_state() -> None:
    source = Script(Expired("gone"), Expired("gone"), page(version="30"), watch(added("a", 31)))
    errors = run(source)
    assert source.calls() == ["list 0", "list newest", "list newest", "watch 30"]
    assert [type(error) for error in errors] == [Expired]


TOO_LARGE = StatusDetails(causes=(StatusCause(reason="ResourceVersionTooLarge"),))
TOO_LARGE_IN_WORDS = StatusDetails(
    causes=(StatusCause(message=None), StatusCause(message="Too large resource version"))
)


@pytest.mark.feature("B-REF-02", "B-REF-03")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ApiError("x", code=504, details=TOO_LARGE), id="by cause"),
        pytest.param(ApiError("Too large resource version: 9, current: 5", code=504), id="by message"),
        pytest.param(ApiError("Too large resource version", code=500), id="by the message of older servers"),
        pytest.param(ApiError("x", code=504, details=TOO_LARGE_IN_WORDS), id="by the message of a cause"),
    ],
)
def test_too_large_version_causes_a_list_of_the_newest_state(error: ApiError) -> None:
    source = Script(error, page(version="5"), watch(added("a", 6)))
    run(source)
    assert source.calls() == ["list 0", "list newest", "watch 5"]


@pytest.mark.parametrize("error", [BadRequest("Invalid value"), Invalid("Invalid value")], ids=["400", "422"])
def test_version_that_the_server_does_not_understand_causes_a_list_of_the_newest_state(error: ApiError) -> None:
    source = Script(page(version="abc"), error, error, page(version="20"), watch(added("a", 21)))
    errors = run(source)
    assert source.calls() == ["list 0", "watch abc", "list abc", "list newest", "watch 20"]
    assert errors == [error]


@pytest.mark.feature("B-REF-02", "B-REF-11")
def test_expired_watch_causes_a_list_no_older_than_the_last_version() -> None:
    source = Script(page(version="10"), watch(added("a", 15), error=Expired("old")), page(version="20"))
    errors = run(source)
    assert source.calls() == ["list 0", "watch 10", "list 15"]
    assert errors == []


TIMED_OUT = ConnectionFailed("timed out", timeout=True)


def test_watch_whose_opening_times_out_is_opened_again_without_a_list() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), *[TIMED_OUT] * 8, watch(added("a", 11)))
    errors = run(source, clock=clock)
    assert source.calls() == ["list 0"] + ["watch 10"] * 9
    assert errors == [TIMED_OUT] * 8
    assert clock.slept[:8] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])


def test_watches_that_time_out_for_ten_minutes_are_followed_by_a_list() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), *[TIMED_OUT] * 30, page(version="20"), watch(added("a", 21)), clock=clock, step=30.0)
    run(source, clock=clock)
    assert source.calls()[0] == "list 0"
    at = source.calls().index("list 10")
    assert set(source.calls()[1:at]) == {"watch 10"}
    assert 10 <= at <= 20  # 30 s for each, and the backoff


@pytest.mark.parametrize("change", ["raises", "exits", "None"])
def test_tweak_that_fails_is_reported_and_retried(change: str) -> None:
    calls = 0

    def tweak(options: ListOptions) -> ListOptions:
        nonlocal calls
        calls += 1
        if calls > 3:
            return options
        if change == "None":
            return None  # type: ignore[return-value]
        raise LookupError("no") if change == "raises" else SystemExit(1)

    source = Script(page(), watch(added("a", 11)))
    errors = run(source, tweak=tweak)
    reason = {
        "raises": "failed: LookupError: no", "exits": "failed: SystemExit: 1",
        "None": "returned a NoneType, expected ListOptions",
    }  # fmt: skip
    assert [str(error) for error in errors] == [f"tweak_list_options {reason[change]}"] * 3
    assert source.calls() == ["list 0", "watch 10"]


def test_handler_of_errors_that_exits_does_not_end_the_reflector(caplog: pytest.LogCaptureFixture) -> None:
    def fail(error: Exception) -> None:
        raise SystemExit

    source = Script(Forbidden("no"), page(), watch(added("a", 11)))
    Reflector(source, Sink(), ReflectorOptions(on_error=fail), clock=FakeClock(auto=True)).run(source.stop)
    assert source.calls() == ["list 0", "list 0", "watch 10"]
    [messages] = [vars(record) for record in caplog.records if "raised" in record.msg]
    assert (messages["err"], messages["exc_info"][0]) == ("no", SystemExit)


def test_connection_lost_at_once_is_a_failure_with_backoff() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), watch(error=ConnectionFailed("reset")), page())
    errors = run(source, clock=clock)
    assert source.calls() == ["list 0", "watch 10", "list 10"]
    assert "very short watch" in str(errors[0])
    assert clock.slept[0] == pytest.approx(0.8)


@pytest.mark.feature("B-REF-10")
@pytest.mark.parametrize("error", [Forbidden("no"), InternalError("boom"), ConnectionFailed("timed out")])
def test_other_errors_are_reported_and_retried(error: Exception) -> None:
    source = Script(error, page(), watch(added("a", 11)))
    assert run(source) == [error]
    assert source.calls() == ["list 0", "list 0", "watch 10"]


@pytest.mark.feature("B-REF-01")
@pytest.mark.behaviour("RL-16")
def test_delays_double_up_to_30_seconds() -> None:
    clock = FakeClock(auto=True)
    run(Script(*[Forbidden("no")] * 8), clock=clock)
    assert clock.slept[:8] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])


def test_undecodable_object_advances_the_version() -> None:
    bad = Undecodable("ConfigMap", ObjectMeta(name="bad", resource_version="12"), "odd")
    sink, source = Sink(), Script(page(), watch(BadEvent("ADDED", bad)), watch(added("a", 13)))
    run(source, sink)
    assert sink.told[1:3] == ["reject bad", "ADDED a"]
    assert source.calls() == ["list 0", "watch 10", "watch 12"]


@pytest.mark.behaviour("RL-04")
def test_stopped_reflector_sends_no_request() -> None:
    source = Script(page())
    source.stop.set()
    run(source)
    assert source.asked == []


def test_repr_of_a_reflector_contains_its_version() -> None:
    source = Script(page(version="10"), watch(added("a", 11)))
    reflector = Reflector(
        source, Sink(), ReflectorOptions(name="maps", on_error=lambda _: None), clock=FakeClock(auto=True)
    )
    assert repr(reflector) == "<Reflector maps at no version>"
    assert repr(reflector._watcher) == "<ReflectorWatcher maps at no version>"
    assert repr(reflector._pager) == "<ReflectorPager>"
    reflector.run(source.stop)
    assert repr(reflector) == "<Reflector maps at 11>"
    assert repr(reflector._watcher) == "<ReflectorWatcher maps at 11>"


@pytest.mark.behaviour("RL-05")
def test_reflector_stopped_during_a_watch_logs_nothing() -> None:
    stop = threading.Event()
    silent: FakeWatch[ConfigMap] = FakeWatch()
    requested: list[ListOptions] = []

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            requested.append(options)
            stop.set()  # before the reflector has the watch
            return silent

    errors: list[Exception] = []
    reflector = Reflector(Source(page()), Sink(), ReflectorOptions(on_error=errors.append), clock=FakeClock(auto=True))
    reflector.run(stop)
    assert (len(requested), silent.closed, errors) == (1, True, [])


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


@pytest.mark.feature("B-REF-05")
@pytest.mark.behaviour("RL-29")
@pytest.mark.parametrize(
    ("requested", "shortest", "longest"), [(None, 300, 600), (1.0, 300, 600), (1800.0, 1800, 3600)]
)
def test_watch_timeout_is_between_the_minimum_and_twice_that(
    requested: float | None, shortest: int, longest: int
) -> None:
    expected: dict[str, Any] = {} if requested is None else {"min_watch_seconds": requested}
    seen = []
    for draw in (0.0, 0.5, 0.999999):
        source = Script(page(), watch(added("a", 11)))
        run(source, rand=lambda draw=draw: draw, **expected)
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
    failures = [record.levelname for record in caplog.records if "failed to list" in record.msg]
    assert failures == ["WARNING", "DEBUG", "WARNING"]
    assert caplog.text.count("list and watch recovered") == 1
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
