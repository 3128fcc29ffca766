"""The check of streamed lists by plain ones: on when asked for, silent when they agree, fatal when they don't."""

import logging

import pytest

from clientgo.cache import Reflector
from clientgo.cache.consistency import ListsDiffer, check_wanted, differences
from clientgo.errors import InternalError
from clientgo.testing.clock import FakeClock
from tests.cache.scripted import Script, Sink, added, config_map, list_end, page, watch


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("true", True), ("1", True), ("T", True), ("false", False), ("0", False), ("", False), ("yes", False)],
)
def test_the_environment_asks_for_it_in_words_that_go_takes_for_true(value: str, wanted: bool) -> None:
    assert check_wanted({"KUBE_WATCHLIST_INCONSISTENCY_DETECTOR": value}) is wanted
    assert not check_wanted({})


def checked(source: Script, clock: FakeClock | None = None) -> Sink:
    """One round of a reflector that checks its streamed lists."""
    sink = Sink()
    Reflector(
        source, sink, name="maps", watch_list=True, check_lists=True, clock=clock or FakeClock(auto=True),
        bookmark_notice=0.0, on_error=lambda _: None,
    ).run(source.stop)  # fmt: skip
    return sink


@pytest.mark.feature("B-REF-23")
def test_a_streamed_list_is_compared_with_a_list_of_exactly_its_version() -> None:
    source = Script(watch(added("a", 8), added("b", 9), list_end(10)), page(config_map("b", 9), config_map("a", 8)))
    assert checked(source).stored == {"a": "8", "b": "9"}
    assert source.calls() == ["stream newest", "list 10"]
    asked = source.options("list")[0]
    assert (asked.resource_version_match, asked.limit) == ("Exact", 0)


@pytest.mark.feature("B-REF-23")
def test_a_streamed_list_that_differs_ends_the_reflector() -> None:
    source = Script(watch(added("a", 8), added("b", 9), list_end(10)), page(config_map("a", 7), config_map("c", 9)))
    with pytest.raises(ListsDiffer) as raised:
        checked(source)
    assert str(raised.value) == (
        "maps at resourceVersion 10: streamed but not listed: ns/b; listed but not streamed: ns/c; different: ns/a"
    )


def test_a_list_that_fails_is_tried_again_every_second(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(auto=True)
    away = InternalError("away")
    source = Script(watch(added("a", 8), list_end(10)), away, away, page(config_map("a", 8)))
    checked(source, clock)
    assert source.calls() == ["stream newest", "list 10", "list 10", "list 10"]
    assert clock.slept[:2] == [1.0, 1.0]
    assert [record.levelno for record in caplog.records[:3]] == [logging.WARNING, logging.ERROR, logging.ERROR]


def test_without_being_asked_nothing_is_compared() -> None:
    source = Script(watch(added("a", 8), list_end(10)))
    reflector = Reflector(source, Sink(), watch_list=True, clock=FakeClock(auto=True), bookmark_notice=0.0)
    reflector.run(source.stop)
    assert source.calls() == ["stream newest"]


def test_the_same_objects_in_another_order_do_not_differ() -> None:
    objects = [config_map("a", 1), config_map("b", 2)]
    assert differences(objects, objects[::-1]) == ""
