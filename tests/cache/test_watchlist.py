"""Streamed lists, and their comparison with regular ones."""

import gc
import logging
import threading
from typing import Any

import pytest

from clientgo.cache import Reflector
from clientgo.cache.reflector import ReflectorOptions
from clientgo.cache.watcher import VeryShortWatch
from clientgo.cache.watchlist import (
    BOOKMARK_PERIOD,
    PREPARED_AT_ONCE,
    BookmarkTicker,
    ListsDiffer,
    differences,
    is_detector_enabled,
    streams_lists,
)
from clientgo.errors import ApiError, Expired, Forbidden, InternalError, Invalid, NotFound, TooManyRequests
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, Undecodable
from clientgo.meta.codec import ObjectList
from clientgo.meta.listwatch import AnyEvent, BadEvent, Bookmark, WatchEvent
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.watchsource import FakeSource, FakeWatch
from tests.cache.scripted import (
    Script,
    Sink,
    added,
    config_map,
    deleted,
    following,
    handling,
    list_end,
    modified,
    page,
    run,
    watch,
)


@pytest.mark.feature("B-REF-07", "C-23")
@pytest.mark.parametrize(
    ("expected", "declared", "streams"),
    [
        pytest.param(False, True, False, marks=pytest.mark.behaviour("WL-01")),
        pytest.param(True, True, True, marks=pytest.mark.behaviour("WL-02")),
        pytest.param(True, False, False, marks=pytest.mark.behaviour("WL-03")),
        pytest.param(True, None, True, marks=pytest.mark.behaviour("WL-04")),
        (None, True, True),
        (None, False, False),
        pytest.param(None, None, False, id="by default only what declares it is asked"),
    ],
)
@pytest.mark.behaviour("LW-01")
def test_lists_are_streamed_as_requested_unless_the_source_declares_no_support(
    expected: bool | None, declared: bool | None, streams: bool
) -> None:
    source: Any = Script()
    if declared is not None:
        source.supports_watch_list = declared
    assert (streams_lists(source, expected) is True) is streams
    assert Reflector(source, Sink(), ReflectorOptions(watch_list=expected)).watch_list is streams


def test_fake_source_declares_its_support_of_streamed_lists() -> None:
    assert not streams_lists(FakeSource(ConfigMap), requested=True)
    assert streams_lists(FakeSource(ConfigMap, supports_watch_list=True), None)


@pytest.mark.behaviour("WL-05")
def test_missing_bookmark_is_logged_repeatedly() -> None:
    clock = FakeClock()
    notice = BookmarkTicker("testName", clock, period=1.0)
    texts = []
    for _ in range(2):
        clock.step(1.0)
        texts.append(notice.text())
    notice.event_received(clock.now())
    for _ in range(2):
        clock.step(1.0)
        texts.append(notice.text())
    waiting = "testName: awaiting required bookmark event for initial events stream, no events received for"
    missing = (
        "testName: hasn't received required bookmark event marking the end of initial events stream, "
        "received last event"
    )
    assert texts == [f"{waiting} 1s", f"{waiting} 2s", f"{missing} 1s ago", f"{missing} 2s ago"]
    assert BOOKMARK_PERIOD == 10.0


@pytest.mark.behaviour("WL-05")
@pytest.mark.parametrize(("period", "lines"), [(0.0, 0), (1.0, 3)])
def test_missing_bookmark_is_logged_once_per_period(
    period: float, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock, done = FakeClock(), threading.Event()
    with Group(stop=done) as group:
        group.start(BookmarkTicker("n", clock, period=period).run, done, done.set, name="notice")
        for sleep in range(1, lines + 1):
            clock.wait_for_sleeps(sleep)
            clock.step(period)
        if lines:
            clock.wait_for_sleeps(lines + 1)
    assert len(caplog.records) == lines


def stream(source: Script, **options: Any) -> tuple[Sink, Reflector[ConfigMap], Exception | None]:
    """Run one round of a reflector that streams its lists."""
    sink = Sink()
    settings = ReflectorOptions(watch_list=True, bookmark_notice=0.0, **options)
    reflector = Reflector(source, sink, settings, clock=FakeClock(auto=True), rand=lambda: 0.0)
    try:
        reflector.list_and_watch(source.stop)
    except ApiError as error:
        return sink, reflector, error
    except VeryShortWatch:
        pass  # the script's watches end at once
    return sink, reflector, None


@pytest.mark.behaviour("WL-06")
@pytest.mark.parametrize(
    ("events", "version"), [((), ""), ((added("p1", 1),), ""), ((added("p1", 1), list_end(2)), "2")]
)
def test_version_is_known_once_the_list_is_complete(events: tuple[Any, ...], version: str) -> None:
    source = Script(watch(*events)) if events else Script()  # without events it is stopped while waiting
    _, reflector, _ = stream(source)
    assert reflector.last_sync_resource_version == version


@pytest.mark.behaviour("WL-07")
def test_list_stopped_before_its_end_stores_nothing_and_is_not_repeated() -> None:
    source = Script(watch(added("p1", 1)))
    sink, _, _ = stream(source)
    assert source.calls() == ["stream newest"]
    assert sink.stored == {}
    first = source.options("watch")[0]
    assert (first.send_initial_events, first.resource_version_match, first.allow_watch_bookmarks) == (
        True, "NotOlderThan", True,
    )  # fmt: skip


@pytest.mark.behaviour("WL-08")
def test_without_streaming_a_list_precedes_the_watch() -> None:
    source, sink = Script(page(config_map("p1", 1), version="1"), watch(Bookmark("1"))), Sink()
    run(source, sink, watch_list=False)
    assert source.calls() == ["list 0", "watch 1"]
    assert source.options("list")[0].limit == 500
    assert sink.stored == {"p1": "1"}


@pytest.mark.feature("B-REF-06")
@pytest.mark.behaviour("WL-09")
@pytest.mark.behaviour("WL-10")
@pytest.mark.parametrize("error", [Forbidden("no"), Invalid("sendInitialEvents is forbidden")])
def test_stream_error_falls_back_to_a_regular_list(error: Exception) -> None:
    source = Script(error, page(config_map("p1", 1), version="1"), watch(added("p2", 2)))
    sink, _, _ = stream(source)
    assert source.calls() == ["stream newest", "list 0", "watch 1"]
    assert sink.stored == {"p1": "1", "p2": "2"}


@pytest.mark.feature("B-REF-06")
@pytest.mark.behaviour("WL-11")
def test_list_is_complete_with_its_bookmark() -> None:
    source = Script(watch(added("p1", 1), added("p2", 2), list_end(2)))
    sink, _, _ = stream(source)
    assert source.calls() == ["stream newest"]
    assert sink.stored == {"p1": "1", "p2": "2"}
    assert sink.told == ["replace p1,p2"]


@pytest.mark.behaviour("WL-12")
def test_objects_can_change_and_be_deleted_while_the_list_is_sent() -> None:
    events: list[AnyEvent[ConfigMap]] = [
        added("p1", 1), added("p2", 2), modified("p1", 3), added("p3", 4), deleted("p3", 5), list_end(5),
    ]  # fmt: skip
    sink, reflector, _ = stream(Script(watch(*events)))
    assert sink.stored == {"p1": "3", "p2": "2"}
    assert reflector.last_sync_resource_version == "5"


def test_prepared_objects_of_a_streamed_list_can_change_and_be_deleted() -> None:
    many = [added(f"p{n}", 1 + n) for n in range(PREPARED_AT_ONCE)]
    sink, _, _ = stream(Script(watch(*many, modified("p0", 201), deleted("p1", 202), list_end(202))))
    assert sink.stored == {f"p{n}": str(1 + n) for n in range(2, PREPARED_AT_ONCE)} | {"p0": "201"}


def test_garbage_collector_is_off_until_a_streamed_list_is_stored() -> None:
    states: list[bool] = []

    class Recording(Sink):
        def prepare(self, page: ObjectList[ConfigMap]) -> ObjectList[ConfigMap]:
            states.append(gc.isenabled())
            return page

        def apply(self, event: WatchEvent[ConfigMap], version: str) -> None:
            states.append(gc.isenabled())

    assert gc.isenabled()
    source = Script(watch(added("p1", 1), list_end(1), added("p2", 2)))
    Reflector(source, Recording(), ReflectorOptions(watch_list=True)).run(source.stop)
    assert states == [False, True]


@pytest.mark.behaviour("WL-13")
def test_stream_rejected_with_429_is_retried() -> None:
    busy = TooManyRequests("busy")
    source = Script(busy, busy, watch(added("p1", 1), list_end(1)))
    sink, _, _ = stream(source)
    assert source.calls() == ["stream newest"] * 3
    assert sink.stored == {"p1": "1"}


@pytest.mark.behaviour("WL-14")
def test_stream_that_ends_before_its_bookmark_is_retried() -> None:
    source = Script(watch(added("lost", 1)), watch(added("p1", 1), list_end(1)))
    sink, _, _ = stream(source)
    assert source.calls() == ["stream newest"] * 2
    assert sink.stored == {"p1": "1"}


def test_failing_streams_are_closed_and_retried_with_backoff() -> None:
    clock, early = FakeClock(auto=True), watch(added("lost", 1))
    broken = watch(added("lost", 1), error=Forbidden("no"))
    source = Script(
        TooManyRequests("busy"), early, TooManyRequests("busy", retry_after=9.0), broken, page(), watch(added("x", 11))
    )
    run(source, clock=clock, watch_list=True)
    assert clock.slept[:3] == pytest.approx([0.8, 1.6, 9.0])
    assert source.calls() == [*["stream newest"] * 4, "list 0", "watch 10"]
    assert early.closed
    assert broken.closed


@pytest.mark.feature("B-REF-06")
@pytest.mark.behaviour("WL-15")
def test_next_watch_after_the_list_starts_at_the_last_event() -> None:
    source = Script(watch(added("p1", 1), list_end(2), added("p3", 3)), watch(Bookmark("3")))
    sink, _, _ = stream(source)
    assert source.calls() == ["stream newest", "watch 3"]
    assert sink.told == ["replace p1", "ADDED p3"]


@pytest.mark.behaviour("WL-16")
def test_watch_that_expires_when_reopened_keeps_the_store() -> None:
    source = Script(watch(added("p1", 1), list_end(1), added("p3", 3)), Expired("too old"))
    sink, _, error = stream(source)
    assert source.calls() == ["stream newest", "watch 3"]
    assert isinstance(error, Expired)
    assert sink.stored == {"p1": "1", "p3": "3"}


@pytest.mark.behaviour("WL-17")
def test_ordinary_bookmark_does_not_end_the_list() -> None:
    sink, _, _ = stream(Script(watch(added("p1", 1), Bookmark("2", initial_events_end=False))))
    assert sink.stored == {}


def test_expired_version_causes_a_stream_of_the_newest_state_and_then_a_list() -> None:
    source = Script(
        watch(added("p1", 5), list_end(5), error=Expired("old")), Expired("old"), Expired("old"), page(version="9")
    )
    run(source, watch_list=True)
    assert source.calls() == ["stream newest", "stream 5", "stream newest", "list newest"]


def test_undecodable_object_is_reported_with_the_list() -> None:
    messages: list[str] = []

    class Noting(Sink):
        def replace(self, objects: Any, undecodable: Any, version: str) -> None:
            messages.extend(error.metadata.name for error in undecodable)

    def bad(name: str) -> Undecodable:
        return Undecodable("ConfigMap", ObjectMeta(name=name, namespace="ns", resource_version="1"), "odd")

    events: list[AnyEvent[ConfigMap]] = [
        BadEvent("ADDED", bad("stays")), BadEvent("ADDED", bad("goes")), BadEvent("DELETED", bad("goes")),
        BadEvent("ADDED", bad("mended")), modified("mended", 3), added("", 4), list_end(4),
    ]  # fmt: skip
    source = Script(watch(*events))
    run(source, Noting(), watch_list=True)
    assert messages == ["stays", ""]


def test_bookmark_ticker_ends_with_the_list() -> None:
    source = Script(FakeWatch([added("a", 1), list_end(1)]))
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    with following(source, handling(handler), watch_list=True, clock=FakeClock()):
        handler.wait_for(1)
        assert [t.name for t in threading.enumerate() if t.name.startswith("bookmark-")] == []


def test_automatic_clock_lets_a_streamed_list_end() -> None:
    clock = FakeClock(auto=True)
    stream: FakeWatch[ConfigMap] = FakeWatch([added("a", 1)])
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Script(stream)
    with following(source, handling(handler), watch_list=True, clock=clock):
        clock.wait_for_sleeps(1)  # the warning that the bookmark is missing
        stream.send(list_end(1))
        handler.wait_for(1)
        assert source.calls() == ["stream newest"]


@pytest.mark.parametrize(
    ("errors", "lines"),
    [
        ([Invalid("sendInitialEvents is forbidden for watch")] * 3, 1),
        ([Invalid("no"), Invalid("never"), Invalid("no")], 3),
        ([Forbidden("maps is forbidden")] * 2, 0),
        ([NotFound("404 page not found")] * 2, 0),
    ],
    ids=["unsupported", "several reasons", "403", "404"],
)
def test_fallback_to_a_regular_list_is_logged_once_for_each_reason(
    errors: list[ApiError], lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [response for error in errors for response in (error, Forbidden("lists neither"))]
    with caplog.at_level(logging.INFO, logger="clientgo"):
        run(Script(*answers), watch_list=True)
    assert sum("falling back to a regular list" in record.msg for record in caplog.records) == lines


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), ("T", True), ("false", False), ("0", False), ("", False), ("yes", False)],
)
def test_detector_is_enabled_by_gos_true_values(value: str, expected: bool) -> None:
    assert is_detector_enabled({"KUBE_WATCHLIST_INCONSISTENCY_DETECTOR": value}) is expected
    assert not is_detector_enabled({})


def checked(source: Script, clock: FakeClock | None = None) -> Sink:
    """Run one round of a reflector that compares its streamed lists."""
    sink = Sink()
    Reflector(
        source,
        sink,
        ReflectorOptions(name="maps", watch_list=True, check_lists=True, bookmark_notice=0.0, on_error=lambda _: None),
        clock=clock or FakeClock(auto=True),
    ).run(source.stop)
    return sink


@pytest.mark.feature("B-REF-23")
def test_streamed_list_is_compared_with_a_list_of_exactly_its_version() -> None:
    source = Script(watch(added("a", 8), added("b", 9), list_end(10)), page(config_map("b", 9), config_map("a", 8)))
    assert checked(source).stored == {"a": "8", "b": "9"}
    assert source.calls() == ["stream newest", "list 10"]
    requested = source.options("list")[0]
    assert (requested.resource_version_match, requested.limit) == ("Exact", 0)


@pytest.mark.feature("B-REF-23")
def test_different_streamed_list_ends_the_reflector() -> None:
    source = Script(watch(added("a", 8), added("b", 9), list_end(10)), page(config_map("a", 7), config_map("c", 9)))
    with pytest.raises(ListsDiffer) as raised:
        checked(source)
    assert str(raised.value) == (
        "maps at resourceVersion 10: streamed but not listed: ns/b; listed but not streamed: ns/c; different: ns/a"
    )


def test_failed_comparison_list_is_retried_every_second(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(auto=True)
    away = InternalError("away")
    source = Script(watch(added("a", 8), list_end(10)), away, away, page(config_map("a", 8)))
    checked(source, clock)
    assert source.calls() == ["stream newest", "list 10", "list 10", "list 10"]
    assert clock.slept[:2] == [1.0, 1.0]
    assert [record.levelno for record in caplog.records[:3]] == [logging.WARNING, logging.ERROR, logging.ERROR]


def test_lists_are_not_compared_by_default() -> None:
    source = Script(watch(added("a", 8), list_end(10)))
    reflector = Reflector(
        source, Sink(), ReflectorOptions(watch_list=True, bookmark_notice=0.0), clock=FakeClock(auto=True)
    )
    reflector.run(source.stop)
    assert source.calls() == ["stream newest"]


def test_order_of_objects_is_irrelevant() -> None:
    objects = [config_map("a", 1), config_map("b", 2)]
    assert differences(objects, objects[::-1]) == ""
