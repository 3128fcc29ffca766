"""A handler that is removed is told nothing more; whoever removes it may wait until it is not being called."""

import threading
from collections.abc import Iterator

import pytest

from clientgo.cache import Registration
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.testing.handler import RecordingHandler
from tests.cache.standing import Running, config_map


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.end()


def test_a_removed_handler_is_not_kept(running: Running) -> None:
    registration = running.informer.add_event_handler()
    running.informer.add_event_handler()
    assert "2 handlers" in repr(running.informer)
    registration.remove()
    registration.remove()
    assert "1 handlers" in repr(running.informer)


@pytest.mark.feature("B-INF-05")
@pytest.mark.behaviour("SI-13")
@pytest.mark.behaviour("SI-17")
@pytest.mark.behaviour("SI-18")
def test_a_removed_handler_is_told_nothing_more_and_may_be_removed_again(running: Running) -> None:
    gone, stays = RecordingHandler[ConfigMap](), RecordingHandler[ConfigMap]()
    registration = running.informer.add_event_handler(on_add=gone.on_add)
    running.informer.add_event_handler(on_add=stays.on_add)
    running.source.add(config_map("pod1"))
    running.start()
    gone.wait_for(1)
    stays.wait_for(1)
    assert registration.remove(wait=True, timeout=10)
    assert registration.remove()
    running.source.add(config_map("pod2"))
    stays.wait_for(2)
    running.end()
    assert registration.remove(wait=True)
    assert gone.calls() == [("add", "ns/pod1")]


def test_informer_does_not_remove_the_handler_of_another_one(running: Running) -> None:
    handler, other = RecordingHandler[ConfigMap](), Running()
    registration = running.informer.add_event_handler(on_add=handler.on_add)
    other.informer.remove(registration._listener)
    running.source.add(config_map("pod1"))
    running.start()
    assert handler.wait_for(1) == [("add", "ns/pod1")]


class Busy:
    """A handler that is in its call until told to return."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()
        self.returned = threading.Event()

    def on_add(self, _: ConfigMap) -> None:
        self.entered.set()
        self.release.wait(10)
        self.returned.set()


@pytest.mark.behaviour("SI-23")
def test_removing_does_not_wait_for_a_call_that_is_under_way(running: Running) -> None:
    busy = Busy()
    registration = running.informer.add_event_handler(on_add=busy.on_add)
    running.source.add(config_map("a"))
    running.start()
    assert busy.entered.wait(10)
    assert not registration.remove()
    assert not busy.returned.is_set()
    busy.release.set()


@pytest.mark.feature("B-INF-17", "C-05")
@pytest.mark.behaviour("SI-24")
def test_removing_waits_for_a_call_that_is_under_way_if_asked_to(running: Running) -> None:
    busy, waiting = Busy(), Group()
    registration = running.informer.add_event_handler(on_add=busy.on_add)
    running.source.add(config_map("a"))
    running.start()
    assert busy.entered.wait(10)
    assert not registration.remove(wait=True, timeout=0.01)
    returned_first: list[bool] = []
    waiting.start(lambda: returned_first.append(registration.remove(wait=True) and busy.returned.is_set()), name="wait")
    busy.release.set()
    waiting.join(10)
    assert returned_first == [True]


@pytest.mark.behaviour("SI-25")
@pytest.mark.parametrize("when", ["never started", "before the start", "after the start"])
def test_waiting_for_a_removed_handler_returns_whatever_the_informer_does(running: Running, when: str) -> None:
    if when == "after the start":
        running.start()
    registration = running.informer.add_event_handler()
    if when == "before the start":
        running.start()
    assert registration.remove(wait=True, timeout=10)


@pytest.mark.feature("C-12")
def test_a_handler_that_removes_itself_does_not_wait_for_itself(running: Running) -> None:
    answers: list[bool] = []
    done = threading.Event()
    mine: list[Registration[ConfigMap]] = []

    def remove_myself(_: ConfigMap) -> None:
        answers.append(mine[0].remove(wait=True))
        done.set()

    mine.append(running.informer.add_event_handler(on_add=remove_myself))
    running.source.add(config_map("a"))
    running.start()
    assert done.wait(10)
    assert answers == [False]
