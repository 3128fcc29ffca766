"""Watches that fail: idle, very short, or with older resourceVersions."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clientgo.cache import Reflector, SharedInformer
from clientgo.cache.watcher import ResourceVersionRegressed
from clientgo.cache.watchlist import BOOKMARK_TIMEOUT, BookmarkTicker
from clientgo.errors import (
    ApiError,
    ConnectionFailed,
    Expired,
    Forbidden,
    ServerTimeout,
    StatusCause,
    StatusDetails,
    TooManyRequests,
)
from clientgo.kubernetes.clients.core_v1 import ConfigMapClient
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.meta.listwatch import Bookmark, ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.source import FakeWatch
from clientgo.testing.transport import FakeStream, FakeTransport, reply
from tests.cache.scripted import Script, Sink, added, config_map, list_end, modified, page, run, watch

REFUSED = ConnectionFailed("refused", refused=True)
LOST = ConnectionFailed("reset by peer")
TOO_LARGE = ServerTimeout(
    "Too large resource version: 11, current: 4",
    details=StatusDetails(causes=(StatusCause(reason="ResourceVersionTooLarge"),)),
)


@pytest.mark.parametrize(
    ("ending", "asked"),
    [
        ((watch(added("a", 11), error=LOST),), ["11"]),
        ((watch(added("a", 11)), REFUSED), ["11"]),
        ((watch(added("a", 11)), REFUSED, REFUSED), ["11", "11"]),
    ],
    ids=["lost", "refused", "refused twice"],
)
def test_after_a_lost_connection_the_server_is_asked_whether_it_knows_the_version(
    ending: tuple[Any, ...], asked: list[str]
) -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), *ending, watch(modified("a", 12)), clock=clock, step=300.0)
    run(source, clock=clock)
    assert source.confirmed == asked
    assert [call for call in source.calls() if call.startswith("list")] == ["list 0"]


def test_one_object_no_older_than_the_version_is_asked_for() -> None:
    asked: list[ListOptions] = []

    class Source(Script):
        def list_page(self, options: ListOptions) -> Any:
            asked.append(options)
            return super().list_page(options)

    run(Source(page(), watch(added("a", 11), error=LOST), watch(modified("a", 12))))
    assert (asked[1].limit, asked[1].resource_version, asked[1].resource_version_match) == (1, "11", "NotOlderThan")


@pytest.mark.parametrize("error", [TOO_LARGE, Expired("too old")], ids=["too large", "expired"])
def test_a_server_that_does_not_know_the_version_is_listed_anew(error: ApiError) -> None:
    source, sink = Script(page(), watch(added("a", 11), error=LOST), page(config_map("b", 4), version="4")), Sink()
    source.confirms = error
    errors = run(source, sink)
    assert source.calls() == ["list 0", "watch 10", "list newest"]
    assert sink.stored == {"b": "4"}
    assert errors[0] is error


def test_a_server_that_refuses_to_say_costs_a_list_at_the_version_seen() -> None:
    source = Script(page(), watch(added("a", 11), error=LOST), page(version="12"))
    source.confirms = Forbidden("no")
    run(source)
    assert source.calls() == ["list 0", "watch 10", "list 11"]


def test_a_bookmark_older_than_what_was_seen_leads_to_the_newest_list() -> None:
    source, sink = Script(page(), watch(added("a", 11), Bookmark("4")), page(config_map("b", 4), version="4")), Sink()
    errors = run(source, sink)
    assert source.calls() == ["list 0", "watch 10", "list newest"]
    assert sink.stored == {"b": "4"}
    assert "11" not in sink.versions[2:]
    assert isinstance(errors[0], ResourceVersionRegressed)
    assert str(errors[0]) == "the server is at resourceVersion 4, and was at 11 before"


@pytest.mark.parametrize("version", ["10", "9999999999999999999999", "opaque", ""])
def test_other_bookmarks_are_taken_as_they_come(version: str) -> None:
    source = Script(page(), watch(Bookmark(version), added("a", 11)))
    assert [error for error in run(source) if isinstance(error, ResourceVersionRegressed)] == []


def test_watches_that_are_cut_off_at_once_are_reopened_ever_more_slowly_whatever_they_said() -> None:
    clock = FakeClock(auto=True)
    run(Script(page(), *(watch(modified("a", version)) for version in range(11, 16))), clock=clock)
    # After each but the first, and once more for the script's end, which ends the round.
    assert clock.slept == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8])


def test_one_short_watch_between_long_ones_is_reopened_at_once() -> None:
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


def test_a_closed_reflector_ends_although_nobody_told_it_to_stop() -> None:
    reflector: Reflector[ConfigMap]

    class Source(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            reflector.close()
            return super().watch_from(options)

    reflector = Reflector(Source(page(), watch()), Sink(), clock=FakeClock(auto=True))
    reflector.run(threading.Event())
    assert reflector.lists == 1


def test_a_handler_of_errors_that_raises_is_logged_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def complain(error: Exception) -> None:
        raise RuntimeError("I can't stand it")

    source, sink = Script(Forbidden("no"), page(config_map("a", 10))), Sink()
    Reflector(source, sink, clock=FakeClock(auto=True), on_error=complain).run(source.stop)
    assert sink.stored == {"a": "10"}
    assert [record.message for record in caplog.records] == ["the handler of watch errors raised"]
    assert caplog.records[0].exc_info is not None


def test_a_server_whose_bookmark_ends_no_list_is_listed_and_never_asked_for_a_stream_again() -> None:
    source, sink = Script(
        watch(added("a", 9), Bookmark("9")), page(config_map("a", 9), config_map("b", 8), version="10"),
        watch(error=Expired("old")), page(config_map("a", 9), version="20"),
    ), Sink()  # fmt: skip
    run(source, sink, watch_list=True)
    assert source.calls() == ["stream newest", "list 0", "watch 10", "list 10"]
    assert sink.stored == {"a": "9"}


def test_a_server_that_is_silent_instead_of_ending_the_list_is_listed(caplog: pytest.LogCaptureFixture) -> None:
    clock, group = FakeClock(), Group()
    silent: FakeWatch[ConfigMap] = FakeWatch()
    source, sink = Script(silent, page(config_map("a", 9), version="10")), Sink()
    reflector = Reflector(source, sink, watch_list=True, clock=clock, on_error=lambda _: None)
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
def test_only_silence_makes_a_streamed_list_be_given_up(heard_each_time: bool) -> None:
    clock, done, given_up = FakeClock(), threading.Event(), threading.Event()
    notice = BookmarkTicker("maps", clock, period=10.0)
    with Group(stop=done) as group:
        group.start(notice.run, done, given_up.set, name="notice")
        for sleep in range(1, 4):
            clock.wait_for_sleeps(sleep)
            if heard_each_time:
                notice.event_received()
            clock.step(10.0)
        if heard_each_time:
            clock.wait_for_sleeps(4)
        else:
            given_up.wait(10)
    assert notice.gave_up == given_up.is_set() == (not heard_each_time)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain lists", "streamed lists"])
def test_410_again_and_again_costs_one_list_for_each_step_of_the_backoff(streamed: bool) -> None:
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


def test_410_for_every_list_too_costs_one_list_a_step_once_the_newest_is_asked_for() -> None:
    clock = FakeClock(auto=True)
    gone = Expired("too old resource version")
    source = Script(*[gone] * 7)
    run(source, clock=clock)
    assert clock.slept[:6] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6])
    assert source.calls() == ["list 0", *["list newest"] * 6]


def test_what_a_server_says_of_when_to_come_back_is_honoured_by_lists() -> None:
    clock = FakeClock(auto=True)
    run(Script(TooManyRequests("busy", retry_after=17.0), page()), clock=clock)
    assert clock.slept[0] == 17.0


def test_a_server_that_refuses_streamed_lists_their_connection_is_reported_and_asked_again() -> None:
    source, sink = Script(REFUSED, REFUSED, watch(added("a", 9), list_end(10))), Sink()
    assert run(source, sink, watch_list=True)[:2] == [REFUSED, REFUSED]
    assert source.calls() == ["stream newest"] * 3
    assert sink.stored == {"a": "9"}


def test_a_reflector_closed_while_nobody_listens_ends_although_it_streams_lists() -> None:
    reflector: Reflector[ConfigMap]

    class Away(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            reflector.close()
            raise REFUSED

    reflector = Reflector(Away(page()), Sink(), watch_list=True, clock=FakeClock(auto=True), bookmark_notice=0.0)
    reflector.run(threading.Event())
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
        informer.close()
        group.join(10)


def test_idle_watch_is_replaced_from_the_last_version_without_a_failure() -> None:
    clock = FakeClock()
    idle, next_one = FakeStream(clock=clock), FakeStream(clock=clock)
    transport, source = client(clock, sent_page(sent_map("a", 5), version=10), idle, sent_page(version=12), next_one)
    with recorded_metrics() as kept, following(source, clock) as handler:
        idle.event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "10"}})
        idle.event("ADDED", sent_map("b", 11))
        handler.wait_for(2)
        clock.wait_for_waiters(2)  # the stream's reader, and the handler's thread
        clock.step(LIMIT)
        next_one.event("ADDED", sent_map("c", 13))
        assert handler.wait_for(3)[-1] == ("add", "ns/c")
    assert [sent.streamed for sent in transport.sent] == [False, True, False, True]
    assert transport.sent[2].target.endswith("limit=1")  # only asked whether it is still the same server
    assert "resourceVersion=11" in transport.sent[3].target
    assert not kept.series("reflector_failures_total")


def test_quiet_watch_without_bookmarks_stays_open_until_its_time_is_over() -> None:
    clock = FakeClock()
    quiet = FakeStream(clock=clock)
    transport, source = client(clock, sent_page(sent_map("a", 5), version=10), quiet)
    with following(source, clock) as handler:
        for _ in range(3):
            clock.wait_for_waiters(2)
            clock.step(LIMIT)
        quiet.event("ADDED", sent_map("b", 11))
        assert handler.wait_for(2)[-1] == ("add", "ns/b")
    assert [sent.streamed for sent in transport.sent] == [False, True]


def test_watch_of_a_client_ends_when_it_is_idle_after_a_bookmark() -> None:
    clock = FakeClock(auto=True)
    stream = FakeStream(clock=clock)
    stream.event("ADDED", sent_map("a", 5))
    stream.event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "9"}})
    _, source = client(clock, stream)
    assert [event.object.metadata.name for event in source.watch()] == ["a"]
    assert clock.now() == LIMIT
