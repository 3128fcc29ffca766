"""After a lost connection, or a watch cut short: is it still the server that told of what is in the cache?"""

from typing import Any

import pytest
from msgspec import structs

from clientgo.cache.lineage import foreign
from clientgo.cache.watching import WentBack
from clientgo.errors import ConnectionFailed, ServerTimeout, StatusCause, StatusDetails
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectList, ObjectName, replace
from clientgo.meta.options import ListOptions
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.source import FakeWatch
from tests.cache.scripted import (
    Script,
    Sink,
    added,
    config_map,
    following,
    handling,
    list_end,
    modified,
    page,
    run,
    watch,
)

LOST = ConnectionFailed("reset by peer")
TOO_LARGE = ServerTimeout(
    "Too large resource version: 11, current: 4",
    details=StatusDetails(causes=(StatusCause(reason="ResourceVersionTooLarge"),)),
)


def made(uid: str, version: int | str, name: str = "a") -> ConfigMap:
    obj = config_map(name, version)
    return replace(obj, metadata=replace(obj.metadata, uid=uid))


@pytest.mark.parametrize(
    ("here", "there", "words"),
    [
        (made("1", 8), made("1", 8), ""),
        (made("1", 8), made("1", 12), ""),
        (None, made("1", 12), ""),
        (None, None, ""),
        (made("1", 8), None, ""),
        (made("", 8), made("1", 12), ""),
        (made("1", ""), made("1", 8), ""),
        (None, made("1", "opaque"), ""),
        (made("1", 8), made("2", 12), "another ns/a than"),
        (made("1", 8), made("2", 8), "another ns/a than"),
        (made("1", 8), made("1", 7), "ns/a at resourceVersion 7, of which it never told"),
        (made("1", 8), made("1", 10), "ns/a at resourceVersion 10, of which it never told"),
        (None, made("1", 10), "ns/a at resourceVersion 10, of which it never told"),
    ],
    ids=[
        "the same", "changed since", "came since", "none anywhere", "went since", "uid dropped", "version dropped",
        "version no number", "other uid", "other uid, same version", "undone", "changed unheard", "came unheard",
    ],
)  # fmt: skip
def test_what_one_object_says_about_its_server(here: ConfigMap | None, there: ConfigMap | None, words: str) -> None:
    answer: ObjectList[ConfigMap] = page(there) if there is not None else page()
    known = {ObjectName("ns", "a"): here} if here is not None else {}
    found = foreign(answer, "10", known.get)
    assert words in found
    assert bool(words) is bool(found)


class Confirming(Script):
    """Answers the question whether a version is known with this object."""

    found: ConfigMap

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        answer = super().list_page(options)
        return page(self.found) if options.limit == 1 else answer


def test_another_server_that_knows_the_version_too_is_listed_anew() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Confirming(
        page(made("1", 9), made("2", 10, "b")),
        watch(modified("b", 11), error=LOST),
        page(made("3", 20), version="30"),
        FakeWatch[ConfigMap](),
    )
    source.found = made("3", 20)
    with following(source, handling(handler)) as informer:
        handler.wait_for(5)
        source.wait_for_requests(4)
    assert source.calls() == ["list 0", "watch 10", "list newest", "watch 30"]
    assert [(obj.metadata.name, obj.metadata.uid) for obj in informer.indexer.list()] == [("a", "3")]


def test_the_same_server_is_watched_on() -> None:
    source = Confirming(page(made("1", 9)), watch(added("b", 11), error=LOST), watch(added("c", 12)))
    source.found = made("1", 9)
    errors = run(source, known={ObjectName("ns", "a"): made("1", 9)}.get)
    assert source.calls() == ["list 0", "watch 10", "watch 11"]
    assert not [error for error in errors if isinstance(error, WentBack)]


@pytest.mark.parametrize(
    ("lasted", "asked"),
    [(300.0, []), (299.5, []), (298.0, ["11"]), (1.5, ["11"])],
    ids=["its time", "nearly", "a bit less", "cut short"],
)
def test_a_watch_that_ended_before_its_time_is_followed_by_the_question(lasted: float, asked: list[str]) -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), watch(added("a", 11)), clock=clock, step=lasted)
    run(source, clock=clock)
    assert source.confirmed == asked
    assert source.options("watch")[0].timeout_seconds == 300


def test_a_watch_whose_time_the_server_chooses_never_ends_too_early() -> None:
    source = Script(page(), watch(added("a", 11)))
    run(source, tweak=lambda options: structs.replace(options, timeout_seconds=0))
    assert source.confirmed == []


def test_a_watch_that_began_with_a_list_is_due_from_its_beginning() -> None:
    clock = FakeClock(auto=True)

    class Slow(FakeWatch[ConfigMap]):
        def __iter__(self) -> Any:
            clock.step(100.0)
            yield from (added("a", 9), list_end(10))
            clock.step(200.0)
            yield added("b", 11)

    source = Script(Slow(), clock=clock)
    run(source, clock=clock, watch_list=True)
    assert source.calls() == ["stream newest"]
    assert source.confirmed == []


def test_a_server_restored_before_anybody_missed_it_is_listed_anew() -> None:
    clock, sink = FakeClock(auto=True), Sink()
    source = Script(page(), watch(added("a", 11)), page(config_map("b", 4), version="4"), clock=clock, step=60.0)
    source.confirms = TOO_LARGE
    run(source, sink, clock=clock)
    assert source.calls() == ["list 0", "watch 10", "list newest"]
    assert sink.stored == {"b": "4"}


@pytest.mark.parametrize("watches", [2, 5])
def test_watches_that_are_all_cut_short_cost_one_question_each(watches: int) -> None:
    clock = FakeClock(auto=True)
    cut = [watch(added("a", version)) for version in range(11, 11 + watches)]
    source = Script(page(), *cut, clock=clock, step=60.0)
    run(source, clock=clock)
    assert len(source.confirmed) == len(source.options("watch")) == watches


def test_no_request_is_to_wait_for_a_server_that_lags() -> None:
    asked: list[bool] = []

    class Source(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            asked.append(options.retry_lagging)
            return super().list_page(options)

    source = Source(page(), watch(added("a", 11), error=LOST), watch(modified("a", 12)))
    # Also where the tweak makes the options anew.
    run(source, tweak=lambda options: ListOptions(limit=options.limit, resource_version=options.resource_version))
    assert asked
    assert not any(asked)
    assert not any(options.retry_lagging for options in source.options("watch"))
