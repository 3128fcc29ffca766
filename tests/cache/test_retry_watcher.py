"""RetryWatcher: resumes a watch until a change would be missed."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from clientgo.cache import RetryWatcher
from clientgo.cache.watchtools import GONE_TRIES
from clientgo.errors import (
    ApiError,
    ConnectionFailed,
    Expired,
    Forbidden,
    InternalError,
    Status,
    Timeout,
    Unauthorized,
    api_error,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, Undecodable
from clientgo.meta.listwatch import BadEvent, Bookmark, ListOptions, WatchEvent
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeWatch
from tests.cache.scripted import added, watch

Step = int | Exception


class Server:
    """Server that replays events after the requested version; errors are dropped before the first event.

    `first` are errors of the first watch requests; a watch ends after `cut` events, if that is not 0.
    """

    kind = ConfigMap

    def __init__(self, events: Sequence[Step], *, first: Sequence[Exception] = (), cut: int = 0) -> None:
        self.calls = 0
        self.called = threading.Semaphore(0)
        self.asked: list[ListOptions] = []
        self._events = list(events)
        self._first = list(first)
        self._cut = cut

    def list_page(self, options: ListOptions) -> Any:
        raise AssertionError("a watcher does not list")

    def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
        self.calls += 1
        self.called.release()
        self.asked.append(options)
        if self._first:
            raise self._first.pop(0)
        fake_watch: FakeWatch[ConfigMap] = FakeWatch()
        sent = 0
        for step in self._events:
            if isinstance(step, Exception):
                if sent:
                    fake_watch.fail(step)
                    return fake_watch
            elif step > int(options.resource_version):
                fake_watch.send(added("x", step))
                sent += 1
            if self._cut and sent == self._cut:
                break
        if self._cut and sent == self._cut:
            fake_watch.end()
        return fake_watch


def read(server: Server, version: str, count: int, calls: int) -> tuple[list[str], Exception | None]:
    """Return the versions of `count` events from so many watches, and the error that ended them."""
    watcher = RetryWatcher(server, version, restart_delay=0.0, clock=FakeClock(auto=True))
    seen: list[str] = []
    ended: list[Exception] = []
    came = threading.Semaphore(0)

    def consume() -> None:
        try:
            for event in watcher:
                assert isinstance(event, WatchEvent)
                seen.append(event.object.metadata.resource_version)
                came.release()
        except (ApiError, ConnectionFailed) as error:
            ended.append(error)

    group = Group()
    group.start(consume, name="reader")
    for _ in range(count):
        assert came.acquire(timeout=10)
    for _ in range(calls):
        assert server.called.acquire(timeout=10)
    assert not came.acquire(timeout=0.01)  # in which no further event may arrive
    watcher.close()
    group.join(10)
    return seen, ended[0] if ended else None


GONE = Expired("too old")


@pytest.mark.feature("B-WAT-01")
@pytest.mark.parametrize("version", ["", "0"])
@pytest.mark.behaviour("RW-01")
def test_empty_and_zero_versions_are_rejected(version: str) -> None:
    text = f'initial RV "{version}" is not supported due to issues with underlying WATCH'
    with pytest.raises(ValueError, match=text):
        RetryWatcher(Server([]), version)


@pytest.mark.feature("B-WAT-01")
@pytest.mark.parametrize(
    ("version", "events", "cut", "calls", "seen"),
    [
        pytest.param("1", [2], 0, 1, [2], id="one watch", marks=pytest.mark.behaviour("RW-05")),
        pytest.param("1", [1, 2], 0, 1, [2], id="from its version on", marks=pytest.mark.behaviour("RW-06")),
        pytest.param("3", [2], 0, 1, [], id="nothing new", marks=pytest.mark.behaviour("RW-07")),
        pytest.param("5", [6, Timeout("slow"), 7], 0, 2, [6, 7], id="504", marks=pytest.mark.behaviour("RW-11")),
        pytest.param("5", [6, InternalError("boom"), 7], 0, 2, [6, 7], id="500", marks=pytest.mark.behaviour("RW-12")),
        pytest.param(
            "5", [6, ApiError("?", code=666), 7], 0, 2, [6, 7], id="666", marks=pytest.mark.behaviour("RW-13")
        ),
        pytest.param("5", [6, api_error(Status()), 7], 0, 2, [6, 7], id="an error that is not a Status",
                     marks=pytest.mark.behaviour("RW-14")),
        pytest.param("5", [6], 1, 2, [6], id="closed", marks=pytest.mark.behaviour("RW-15")),
        pytest.param("4", [5, 6], 1, 3, [5, 6], id="closed after each", marks=pytest.mark.behaviour("RW-16")),
        pytest.param("4", [5, 7], 1, 3, [5, 7], id="with a gap", marks=pytest.mark.behaviour("RW-17")),
        pytest.param("2", [5, 7], 1, 3, [5, 7], id="from long before", marks=pytest.mark.behaviour("RW-18")),
        pytest.param("2", [5, 6, 7, 11], 1, 5, [5, 6, 7, 11], id="four watches", marks=pytest.mark.behaviour("RW-19")),
        pytest.param(
            "2", [1, 2, 5, 6, 7, 11], 1, 5, [5, 6, 7, 11], id="and old events", marks=pytest.mark.behaviour("RW-19")
        ),
        pytest.param("1", [1, 2, 5, 6, 7, 11], 2, 3, [2, 5, 6, 7, 11], id="closed after two",
                     marks=pytest.mark.behaviour("RW-20")),
    ],
)  # fmt: skip
def test_events_are_returned_once_across_several_watches(
    version: str, events: list[Step], cut: int, calls: int, seen: list[int]
) -> None:
    server = Server(events, cut=cut)
    result, error = read(server, version, len(seen), calls)
    assert ([int(v) for v in result], error, server.calls) == (seen, None, calls)


@pytest.mark.feature("B-WAT-01")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConnectionFailed("reset"), marks=pytest.mark.behaviour("RW-02")),
        pytest.param(GONE, id="410 before the watch is open may pass", marks=pytest.mark.behaviour("RW-03")),
        InternalError("boom"),
    ],
)
def test_failed_watch_request_is_retried(error: Exception) -> None:
    server = Server([2], first=[error])
    assert read(server, "1", 1, 2) == (["2"], None)
    assert server.calls == 2


@pytest.mark.feature("B-WAT-01", "C-06")
@pytest.mark.behaviour("RW-08")
def test_expired_version_during_a_watch_ends_the_iteration() -> None:
    server = Server([5, 6, GONE, 7, 8])
    assert read(server, "5", 1, 1) == (["6"], GONE)
    assert server.calls == 1


@pytest.mark.parametrize("reason", ["Expired", "Gone", "Odd"])
def test_version_that_no_server_has_ends_the_iteration(reason: str) -> None:
    gone = api_error(Status(code=410, reason=reason))
    server = Server([6], first=[gone] * GONE_TRIES)
    assert read(server, "5", 0, GONE_TRIES) == ([], gone)
    assert server.calls == GONE_TRIES


def test_only_consecutive_410_responses_end_the_iteration() -> None:
    server = Server([6], first=[GONE, GONE, InternalError("boom"), GONE, GONE])
    assert read(server, "5", 1, 6) == (["6"], None)


@pytest.mark.feature("B-WAT-01")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Forbidden("no"), marks=pytest.mark.behaviour("RW-09")),
        pytest.param(Unauthorized("who?"), marks=pytest.mark.behaviour("RW-10")),
    ],
)
def test_forbidden_watch_ends_the_iteration(error: Exception) -> None:
    server = Server([6], first=[error])
    assert read(server, "5", 0, 1) == ([], error)
    assert server.calls == 1


@pytest.mark.behaviour("RW-21")
def test_watcher_can_be_closed_unread_and_twice() -> None:
    watcher = RetryWatcher(Server([2, 3, 4]), "1")
    watcher.close()
    watcher.close()
    assert list(watcher) == []


def once(*watches: FakeWatch[ConfigMap]) -> tuple[RetryWatcher[ConfigMap], FakeClock, list[ListOptions]]:
    """Return a watcher over these watches, which is closed after the last one."""
    remaining, clock, requested = list(watches), FakeClock(auto=True), []

    class Source:
        kind = ConfigMap

        def list_page(self, options: ListOptions) -> Any: ...

        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            requested.append(options)
            if not remaining:
                watcher.close()
                return watch()
            return remaining.pop(0)

    watcher = RetryWatcher(Source(), "1", clock=clock)
    return watcher, clock, requested


@pytest.mark.feature("B-WAT-01")
def test_bookmarks_advance_the_version_and_are_not_returned() -> None:
    watcher, _, requested = once(watch(added("a", 2), Bookmark("9")))
    assert [event.type for event in watcher] == ["ADDED"]
    assert [options.resource_version for options in requested] == ["1", "9"]
    assert requested[0].allow_watch_bookmarks


@pytest.mark.feature("B-WAT-01")
def test_watches_start_at_least_a_second_apart() -> None:
    watcher, clock, _ = once(watch(added("a", 2)), watch(added("b", 3)))
    for _ in watcher:
        clock.step(0.25)
    assert clock.slept[:2] == pytest.approx([0.75, 0.75])


def test_retry_after_during_a_watch_is_respected() -> None:
    watcher, clock, _ = once(watch(error=ApiError("later", code=504, retry_after=7.0)))
    assert list(watcher) == []
    assert clock.slept[0] == 7.0


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(WatchEvent("ADDED", ConfigMap(metadata=ObjectMeta(name="b"))), id="no version"),
        pytest.param("?", id="no event"),
    ],
)
def test_invalid_events_end_the_iteration(event: Any) -> None:
    watcher, _, requested = once(watch(added("a", 2), event))
    events = iter(watcher)
    assert isinstance(next(events), WatchEvent)
    with pytest.raises(InternalError):
        next(events)
    assert len(requested) == 1


def test_undecodable_objects_are_returned_and_advance_the_version() -> None:
    bad = BadEvent("ADDED", Undecodable("ConfigMap", ObjectMeta(name="b", resource_version="7"), "odd"))
    watcher, _, requested = once(watch(bad))
    assert list(watcher) == [bad]
    assert requested[-1].resource_version == "7"
