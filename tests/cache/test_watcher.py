"""Watches that fail: idle, very short, or with older resourceVersions."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.cache import Reflector, SharedInformer
from clientgo.cache.reflector import ReflectorOptions
from clientgo.cache.watcher import ResourceVersionRegressed, VeryShortWatch
from clientgo.cache.watchlist import BOOKMARK_TIMEOUT, BookmarkTicker
from clientgo.errors import ApiError, ConnectionFailed, Expired, Forbidden, ServerTimeout, StatusCause, StatusDetails
from clientgo.kubernetes.clients.core_v1 import ConfigMapClient
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta.listwatch import Bookmark, ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.transport import FakeStream, FakeTransport, reply
from clientgo.testing.watchsource import FakeWatch
from tests.cache.scripted import RecordedWatch, Script, Sink, added, config_map, list_end, modified, page, run, watch

REFUSED = ConnectionFailed("refused", refused=True)
LOST = ConnectionFailed("reset by peer")
TOO_LARGE = ServerTimeout(
    "Too large resource version: 11, current: 4",
    details=StatusDetails(causes=(StatusCause(reason="ResourceVersionTooLarge"),)),
)


@pytest.mark.feature("B-REF-10")
@pytest.mark.parametrize(
    ("ending", "requested"),
    [
        ((watch(added("a", 11), error=LOST),), ["11"]),
        ((watch(added("a", 11)), REFUSED), ["11"]),
        ((watch(added("a", 11)), REFUSED, REFUSED), ["11", "11"]),
    ],
    ids=["lost", "refused", "refused twice"],
)
def test_server_is_verified_after_a_lost_connection(ending: tuple[Any, ...], requested: list[str]) -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), *ending, watch(modified("a", 12)), clock=clock, step=300.0)
    run(source, clock=clock)
    assert source.confirmed == requested
    assert [call for call in source.calls() if call.startswith("list")] == ["list 0"]


def test_verification_requests_one_object_not_older_than_the_version() -> None:
    requested: list[ListOptions] = []

    class Source(Script):
        def list_page(self, options: ListOptions) -> Any:
            requested.append(options)
            return super().list_page(options)

    run(Source(page(), watch(added("a", 11), error=LOST), watch(modified("a", 12))))
    assert (requested[1].limit, requested[1].resource_version, requested[1].resource_version_match) == (
        1,
        "11",
        "NotOlderThan",
    )


@pytest.mark.parametrize("error", [TOO_LARGE, Expired("too old")], ids=["too large", "expired"])
def test_server_that_rejects_the_version_is_listed_again(error: ApiError) -> None:
    source, sink = Script(page(), watch(added("a", 11), error=LOST), page(config_map("b", 4), version="4")), Sink()
    source.confirms = error
    errors = run(source, sink)
    assert source.calls() == ["list 0", "watch 10", "list newest"]
    assert sink.stored == {"b": "4"}
    assert errors[0] is error


def test_failed_verification_costs_a_list_at_the_last_version() -> None:
    source = Script(page(), watch(added("a", 11), error=LOST), page(version="12"))
    source.confirms = Forbidden("no")
    run(source)
    assert source.calls() == ["list 0", "watch 10", "list 11"]


def test_older_bookmark_causes_a_list_of_the_newest_state() -> None:
    source, sink = Script(page(), watch(added("a", 11), Bookmark("4")), page(config_map("b", 4), version="4")), Sink()
    errors = run(source, sink)
    assert source.calls() == ["list 0", "watch 10", "list newest"]
    assert sink.stored == {"b": "4"}
    assert "11" not in sink.versions[2:]
    assert isinstance(errors[0], ResourceVersionRegressed)
    assert str(errors[0]) == "the server is at resourceVersion 4, and was at 11 before"


@pytest.mark.parametrize("version", ["10", "9999999999999999999999", "opaque", ""])
def test_unordered_versions_of_bookmarks_are_accepted(version: str) -> None:
    source = Script(page(), watch(Bookmark(version), added("a", 11)))
    assert [error for error in run(source) if isinstance(error, ResourceVersionRegressed)] == []


def test_consecutive_short_watches_are_reopened_with_backoff() -> None:
    clock = FakeClock(auto=True)
    run(Script(page(), *(watch(modified("a", version)) for version in range(11, 16))), clock=clock)
    # After each except the first, and at the end of the script.
    assert clock.slept == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8])


def test_single_short_watch_is_reopened_at_once() -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), *(watch(modified("a", version)) for version in (11, 12)), clock=clock)

    class Long(FakeWatch[ConfigMap]):
        def __iter__(self) -> Any:
            yield modified("a", 13)
            clock.step(60.0)

    source.answers.insert(2, Long())
    run(source, clock=clock)
    assert clock.slept[:1] == pytest.approx([0.8])
    assert source.calls() == ["list 0", "watch 10", "watch 11", "watch 13"]


def test_server_without_a_final_bookmark_is_listed_and_not_streamed_again() -> None:
    source, sink = Script(
        watch(added("a", 9), Bookmark("9")), page(config_map("a", 9), config_map("b", 8), version="10"),
        watch(error=Expired("old")), page(config_map("a", 9), version="20"),
    ), Sink()  # fmt: skip
    run(source, sink, watch_list=True)
    assert source.calls() == ["stream newest", "list 0", "watch 10", "list 10"]
    assert sink.stored == {"a": "9"}


def test_server_that_is_silent_before_the_final_bookmark_is_listed(caplog: pytest.LogCaptureFixture) -> None:
    clock, group = FakeClock(), Group()
    silent: FakeWatch[ConfigMap] = FakeWatch()
    source, sink = Script(silent, page(config_map("a", 9), version="10")), Sink()
    reflector = Reflector(source, sink, ReflectorOptions(watch_list=True, on_error=lambda _: None), clock=clock)
    with caplog.at_level(logging.INFO, logger="clientgo"):
        group.start(reflector.run, source.stop, name="reflector")
        for notice in range(1, int(BOOKMARK_TIMEOUT / 10.0) + 1):
            clock.wait_for_sleeps(notice)
            clock.step(10.0)
        source.wait_for_requests(2)
        group.join(10)
    assert sink.stored == {"a": "9"}
    assert silent.closed
    assert not reflector.watch_list
    assert any("no bookmark marked" in str(vars(record).get("err")) for record in caplog.records)


@pytest.mark.parametrize("heard_each_time", [True, False])
def test_streamed_list_is_abandoned_only_without_events(heard_each_time: bool) -> None:
    clock, done, given_up = FakeClock(), threading.Event(), threading.Event()
    notice = BookmarkTicker("maps", clock, period=10.0)
    with Group(stop=done) as group:
        group.start(notice.run, done, given_up.set, name="notice")
        for sleep in range(1, 4):
            clock.wait_for_sleeps(sleep)
            if heard_each_time:
                notice.event_received(clock.now())
            clock.step(10.0)
        if heard_each_time:
            clock.wait_for_sleeps(4)
        else:
            given_up.wait(10)
    assert notice.gave_up == given_up.is_set() == (not heard_each_time)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain lists", "streamed lists"])
def test_repeated_410_of_watches_costs_one_list_per_backoff_step(streamed: bool) -> None:
    clock = FakeClock(auto=True)
    gone = Expired("too old resource version")
    rounds: list[Any] = []
    for _ in range(8):
        if not streamed:
            rounds.append(page(config_map("a", 9), version="10"))
        rounds.append(watch(added("a", 9), list_end(10), error=gone) if streamed else watch(error=gone))
    source = Script(*rounds)
    run(source, clock=clock, watch_list=streamed)
    assert clock.slept[:7] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0])
    lists = [call for call in source.calls() if call.startswith(("list", "stream"))]
    assert len(lists) == 8


def test_repeated_410_of_lists_costs_one_list_per_backoff_step() -> None:
    clock = FakeClock(auto=True)
    gone = Expired("too old resource version")
    source = Script(*[gone] * 7)
    run(source, clock=clock)
    assert clock.slept[:6] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6])
    assert source.calls() == ["list 0", *["list newest"] * 6]


def test_refused_connection_of_a_streamed_list_is_reported_and_retried() -> None:
    source, sink = Script(REFUSED, REFUSED, watch(added("a", 9), list_end(10))), Sink()
    assert run(source, sink, watch_list=True)[:2] == [REFUSED, REFUSED]
    assert source.calls() == ["stream newest"] * 3
    assert sink.stored == {"a": "9"}


def test_reflector_stopped_without_a_server_ends_a_streamed_list() -> None:
    stop = threading.Event()

    class Away(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            stop.set()
            raise REFUSED

    reflector = Reflector(
        Away(page()), Sink(), ReflectorOptions(watch_list=True, bookmark_notice=0.0), clock=FakeClock(auto=True)
    )
    reflector.run(stop)
    assert reflector.state().watches == 1


CONFIG = Config("http://fake")
LIMIT = CONFIG.watch_idle_timeout


def sent_map(name: str, version: int) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version)}}


def sent_page(*items: dict[str, Any], version: int) -> Any:
    return reply({"kind": "ConfigMapList", "metadata": {"resourceVersion": str(version)}, "items": list(items)})


def client(clock: FakeClock, *steps: Any) -> tuple[FakeTransport, ConfigMapClient]:
    transport = FakeTransport(*steps)
    return transport, Clientset(RESTClient(CONFIG, transport=transport, clock=clock)).core_v1.config_maps("ns")


@contextmanager
def following(source: ConfigMapClient, clock: FakeClock) -> Iterator[RecordingHandler[ConfigMap]]:
    informer = SharedInformer(source, watch_list=False, clock=clock)
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add)
    group = Group()
    informer.start(group)
    try:
        yield handler
    finally:
        group.stop()
        group.join(10)


def test_idle_watch_is_replaced_from_the_last_version_without_a_failure() -> None:
    clock = FakeClock()
    idle, next_one = FakeStream(clock=clock), FakeStream(clock=clock)
    transport, source = client(clock, sent_page(sent_map("a", 5), version=10), idle, sent_page(version=12), next_one)
    with recorded_metrics() as metrics, following(source, clock) as handler:
        idle.event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "10"}})
        idle.event("ADDED", sent_map("b", 11))
        handler.wait_for(2)
        clock.wait_for_waiters(2)  # the stream's reader, and the handler's thread
        clock.step(LIMIT)
        next_one.event("ADDED", sent_map("c", 13))
        assert handler.wait_for(3)[-1] == ("add", "ns/c")
    assert [sent.streamed for sent in transport.sent] == [True, True, False, True]
    assert transport.sent[2].target.endswith("limit=1")  # a verification of the server
    assert "resourceVersion=11" in transport.sent[3].target
    assert not metrics.series("reflector_failures_total")


def test_idle_watch_without_bookmarks_stays_open_until_its_timeout() -> None:
    clock = FakeClock()
    quiet = FakeStream(clock=clock)
    transport, source = client(clock, sent_page(sent_map("a", 5), version=10), quiet)
    with following(source, clock) as handler:
        for _ in range(3):
            clock.wait_for_waiters(2)
            clock.step(LIMIT)
        quiet.event("ADDED", sent_map("b", 11))
        assert handler.wait_for(2)[-1] == ("add", "ns/b")
    assert [sent.streamed for sent in transport.sent] == [True, True]


def test_watch_of_a_client_ends_when_it_is_idle_after_a_bookmark() -> None:
    clock = FakeClock(auto=True)
    stream = FakeStream(clock=clock)
    stream.event("ADDED", sent_map("a", 5))
    stream.event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "9"}})
    _, source = client(clock, stream)
    assert [event.object.metadata.name for event in source.watch()] == ["a"]
    assert clock.now() == LIMIT


@pytest.mark.feature("B-REF-24")
@pytest.mark.behaviour("RL-06")
@pytest.mark.behaviour("RL-07")
@pytest.mark.behaviour("RL-11")
@pytest.mark.parametrize("when", ["before it is read", "while it is read"])
def test_stopped_watch_is_closed_without_an_error(when: str) -> None:
    stop = threading.Event()

    recorded_watch = RecordedWatch(stop.set if when == "while it is read" else lambda: None)

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            if when == "before it is read":
                stop.set()
            return recorded_watch

    reflector = Reflector(Source(page()), Sink(), clock=FakeClock())
    reflector.list_and_watch(stop)
    assert recorded_watch.closed
    assert recorded_watch.calls.count("read") <= 1


@pytest.mark.feature("B-REF-12")
@pytest.mark.behaviour("RL-06")
@pytest.mark.behaviour("RL-08")
@pytest.mark.behaviour("RL-09")
@pytest.mark.parametrize("when", ["before it is read", "while it is read"])
def test_watch_that_ends_at_once_is_closed_once_and_is_an_error(when: str) -> None:
    recorded_watch = RecordedWatch(lambda: recorded_watch.end() if when == "while it is read" else None)
    if when == "before it is read":
        recorded_watch.end()

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            return recorded_watch

    with pytest.raises(VeryShortWatch, match="very short watch: ConfigMap"):
        Reflector(Source(page()), Sink(), clock=FakeClock()).list_and_watch(threading.Event())
    assert recorded_watch.calls == ["read", "close"]


@pytest.mark.feature("B-REF-12")
@pytest.mark.parametrize(("lasted", "short"), [(0.999, True), (1.0, False)])
def test_watch_without_events_below_a_second_is_too_short(lasted: float, short: bool) -> None:
    clock = FakeClock(auto=True)

    def take_time() -> None:
        clock.step(lasted)
        recorded_watch.end()

    recorded_watch = RecordedWatch(take_time)
    errors = run(source := Script(page(), recorded_watch), clock=clock)
    assert [isinstance(error, VeryShortWatch) for error in errors] == [True] * short
    assert source.calls() == ["list 0", "watch 10"]
