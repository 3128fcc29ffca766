"""A reflector lists, watches, and goes on whatever happens."""

import threading
from collections.abc import Callable, Iterable

import pytest

from clientgo.cache import Reflector
from clientgo.errors import (
    ApiError,
    ConnectionFailed,
    Expired,
    Forbidden,
    InternalError,
    StatusCause,
    StatusDetails,
    TooManyRequests,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.meta import ListMeta, ObjectList, ObjectMeta, Undecodable
from clientgo.meta.options import ListOptions
from clientgo.meta.watch import BadEvent, Bookmark, WatchEvent
from clientgo.testing.clock import FakeClock
from clientgo.testing.source import FakeWatch


def config_map(name: str, version: int) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", resource_version=str(version)))


def page(*objects: ConfigMap, version: str = "10", continue_: str = "") -> ObjectList[ConfigMap]:
    return ObjectList(ListMeta(resource_version=version, continue_=continue_), list(objects))


def watch(*events: WatchEvent[ConfigMap] | Bookmark | BadEvent, error: Exception | None = None) -> FakeWatch[ConfigMap]:
    made: FakeWatch[ConfigMap] = FakeWatch(list(events))
    if error is not None:
        made.fail(error)
    made.end()
    return made


class Sink:
    """What a reflector told, in short words."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def replace(self, objects: Iterable[ConfigMap], undecodable: Iterable[Undecodable]) -> None:
        self.told.append("replace " + ",".join(obj.metadata.name for obj in objects))

    def apply(self, event: WatchEvent[ConfigMap]) -> None:
        self.told.append(f"{event.type} {event.object.metadata.name}")

    def reject(self, event: BadEvent) -> None:
        self.told.append(f"reject {event.error.metadata.name}")


class Script:
    """A source that answers lists and watches one after another; when the script is out, it stops the reflector."""

    kind = ConfigMap

    def __init__(self, *answers: ObjectList[ConfigMap] | FakeWatch[ConfigMap] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, ListOptions]] = []
        self.stop = threading.Event()

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        answer = self._next("list", options, page())
        assert isinstance(answer, ObjectList)
        return answer

    def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
        answer = self._next("watch", options, watch())
        assert isinstance(answer, FakeWatch)
        return answer

    def calls(self) -> list[str]:
        """Verb and version of each request."""
        return [f"{verb} {options.resource_version or 'newest'}" for verb, options in self.asked]

    def _next(
        self, verb: str, options: ListOptions, last: ObjectList[ConfigMap] | FakeWatch[ConfigMap]
    ) -> ObjectList[ConfigMap] | FakeWatch[ConfigMap]:
        if not self.answers:
            self.stop.set()
            return last
        self.asked.append((verb, options))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def run(source: Script, sink: Sink | None = None, *, clock: FakeClock | None = None) -> list[Exception]:
    """Run a reflector through the script without a thread; returns the errors it reported."""
    errors: list[Exception] = []
    reflector = Reflector(
        source, sink or Sink(), clock=clock or FakeClock(auto=True), on_error=errors.append, rand=lambda: 0.0
    )
    reflector.run(source.stop)
    return errors


def added(name: str, version: int) -> WatchEvent[ConfigMap]:
    return WatchEvent("ADDED", config_map(name, version))


def test_a_list_is_followed_by_a_watch_from_its_version() -> None:
    sink, source = Sink(), Script(page(config_map("a", 3), version="10"), watch(added("b", 11)))
    run(source, sink)
    assert source.calls() == ["list 0", "watch 10"]
    assert sink.told[:2] == ["replace a", "ADDED b"]


@pytest.mark.behaviour("RL-30")
def test_the_next_watch_begins_after_the_last_event_or_bookmark() -> None:
    events = (
        added("a", 10), WatchEvent[ConfigMap]("MODIFIED", config_map("a", 20)), Bookmark("30"),
        WatchEvent[ConfigMap]("DELETED", config_map("a", 40)),
    )  # fmt: skip
    source = Script(
        page(version="10"), watch(*events[:1]), watch(*events[1:3]), watch(events[3]), watch(added("x", 50))
    )
    run(source)
    assert source.calls() == ["list 0", "watch 10", "watch 10", "watch 30", "watch 40"]


def test_the_watch_asks_for_bookmarks_and_an_end_between_five_and_ten_minutes() -> None:
    source = Script(page(), watch(added("a", 11)))
    run(source)
    options = source.asked[1][1]
    assert options.allow_watch_bookmarks
    assert options.watch
    assert 300 <= options.timeout_seconds <= 600


def test_pages_are_asked_for_only_beyond_the_servers_cache() -> None:
    source = Script(page(version="10"), watch(error=Expired("too old")), page(version="20"), watch(added("a", 21)))
    run(source)
    assert [options.limit for verb, options in source.asked if verb == "list"] == [0, 500]


def test_pages_are_put_together_and_the_token_goes_alone() -> None:
    sink = Sink()
    source = Script(page(config_map("a", 1), continue_="more"), page(config_map("b", 2)), watch(added("c", 11)))
    run(source, sink)
    assert sink.told[0] == "replace a,b"
    second = source.asked[1][1]
    assert (second.continue_, second.resource_version) == ("more", "")


@pytest.mark.behaviour("RL-26")
def test_a_page_that_expired_leads_to_a_list_of_the_newest_state() -> None:
    sink = Sink()
    source = Script(
        page(config_map("a", 1), continue_="more"), Expired("gone"), page(config_map("b", 2), version="30"),
        watch(added("c", 31)),
    )  # fmt: skip
    run(source, sink)
    assert source.calls() == ["list 0", "list newest", "list newest", "watch 30"]
    assert sink.told[0] == "replace b"


TOO_LARGE = StatusDetails(causes=(StatusCause(reason="ResourceVersionTooLarge"),))


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ApiError("x", code=504, details=TOO_LARGE), id="by cause"),
        pytest.param(ApiError("Too large resource version: 9, current: 5", code=504), id="by message"),
    ],
)
def test_a_version_the_server_has_not_reached_leads_to_a_list_of_the_newest_state(error: ApiError) -> None:
    source = Script(error, page(version="5"), watch(added("a", 6)))
    run(source)
    assert source.calls() == ["list 0", "list newest", "watch 5"]


def test_an_expired_watch_leads_to_a_list_no_older_than_what_was_seen() -> None:
    source = Script(page(version="10"), watch(added("a", 15), error=Expired("old")), page(version="20"))
    errors = run(source)
    assert source.calls() == ["list 0", "watch 10", "list 15"]
    assert errors == []


def test_a_refused_watch_is_opened_again_without_a_list() -> None:
    refused = ConnectionFailed("refused", refused=True)
    source = Script(page(), refused, refused, watch(added("a", 11)))
    run(source)
    assert source.calls() == ["list 0", "watch 10", "watch 10", "watch 10"]


@pytest.mark.behaviour("RL-18")
def test_too_many_requests_never_lead_to_a_list() -> None:
    busy = TooManyRequests("busy")
    source = Script(page(), busy, busy, watch(error=busy), busy, watch(added("a", 11)))
    run(source)
    assert source.calls() == ["list 0"] + ["watch 10"] * 5


def test_a_lost_connection_is_followed_by_a_watch_from_the_last_event() -> None:
    source = Script(page(), watch(added("a", 12), error=ConnectionFailed("reset")), watch(added("b", 13)))
    run(source)
    assert source.calls() == ["list 0", "watch 10", "watch 12"]


@pytest.mark.behaviour("RL-06")
def test_a_watch_that_ends_at_once_counts_as_a_failure() -> None:
    source = Script(page(), watch(), page())
    errors = run(source)
    assert source.calls() == ["list 0", "watch 10", "list 10"]
    assert "very short watch" in str(errors[0])


@pytest.mark.parametrize("error", [Forbidden("no"), InternalError("boom"), ConnectionFailed("timed out")])
def test_any_other_trouble_is_reported_and_tried_again_later(error: Exception) -> None:
    source = Script(error, page(), watch(added("a", 11)))
    assert run(source) == [error]
    assert source.calls() == ["list 0", "list 0", "watch 10"]


@pytest.mark.behaviour("RL-16")
def test_tries_are_ever_further_apart_up_to_half_a_minute() -> None:
    clock = FakeClock(auto=True)
    run(Script(*[Forbidden("no")] * 8), clock=clock)
    assert clock.slept[:8] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])


def test_an_object_that_cannot_be_decoded_moves_the_version_on() -> None:
    bad = Undecodable("ConfigMap", ObjectMeta(name="bad", resource_version="12"), "odd")
    sink, source = Sink(), Script(page(), watch(BadEvent("ADDED", bad)), watch(added("a", 13)))
    run(source, sink)
    assert sink.told[1:3] == ["reject bad", "ADDED a"]
    assert source.calls() == ["list 0", "watch 10", "watch 12"]


@pytest.mark.behaviour("RL-04")
def test_a_reflector_that_is_stopped_asks_for_nothing() -> None:
    source = Script(page())
    source.stop.set()
    run(source)
    assert source.asked == []


@pytest.mark.behaviour("RL-02")
def test_close_ends_a_watch_that_is_silent() -> None:
    silent: FakeWatch[ConfigMap] = FakeWatch()
    opened = threading.Event()

    class Silent(Script):
        def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
            opened.set()
            return silent

    source = Silent(page())
    reflector = Reflector(source, Sink())
    with_thread(lambda: reflector.run(source.stop), lambda: _stop(opened, source, reflector))
    assert silent.closed


def _stop(opened: threading.Event, source: Script, reflector: Reflector[ConfigMap]) -> None:
    assert opened.wait(10)
    source.stop.set()
    reflector.close()


def with_thread(target: Callable[[], None], meanwhile: Callable[[], None]) -> None:
    group = Group()
    group.start(target, name="reflector")
    meanwhile()
    group.join(10)
