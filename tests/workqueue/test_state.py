"""State of queues: queued, processing, delayed and failed keys."""

from collections.abc import Callable

import pytest

from clientgo.testing.clock import FakeClock
from clientgo.workqueue import DelayingQueue, QueueState, RateLimitingQueue, WorkQueue

QUEUES: dict[str, Callable[[FakeClock], WorkQueue[str]]] = {
    "work": lambda clock: WorkQueue(name="foos", clock=clock),
    "delaying": lambda clock: DelayingQueue(name="foos", clock=clock),
    "rate-limiting": lambda clock: RateLimitingQueue(name="foos", clock=clock),
}

pytestmark = pytest.mark.parametrize("make", QUEUES.values(), ids=QUEUES)
Make = Callable[[FakeClock], WorkQueue[str]]


def test_state_of_an_empty_queue_is_empty(make: Make) -> None:
    assert make(FakeClock()).state() == QueueState("foos")


def test_queued_keys_have_the_seconds_since_they_were_added(make: Make) -> None:
    clock = FakeClock()
    queue = make(clock)
    queue.add("a")
    clock.step(2)
    queue.add("b")
    queue.add("a")
    clock.step(3)
    assert queue.state() == QueueState("foos", queued=(("a", 5.0), ("b", 3.0)))


def test_processing_keys_have_the_seconds_since_get(make: Make) -> None:
    clock = FakeClock()
    queue = make(clock)
    queue.add("a")
    clock.step(2)
    queue.get()
    clock.step(4)
    assert queue.state() == QueueState("foos", processing=(("a", 4.0),))
    queue.done("a")
    assert queue.state() == QueueState("foos")


def test_key_added_while_processing_is_in_both_lists(make: Make) -> None:
    clock = FakeClock()
    queue = make(clock)
    queue.add("a")
    queue.get()
    clock.step(1)
    queue.add("a")
    clock.step(1)
    assert queue.state() == QueueState("foos", queued=(("a", 1.0),), processing=(("a", 2.0),))
    queue.done("a")
    assert queue.state() == QueueState("foos", queued=(("a", 1.0),))


def test_state_of_a_queue_shutting_down_has_the_remaining_keys(make: Make) -> None:
    queue = make(FakeClock())
    queue.add("a")
    queue.shut_down()
    assert queue.state() == QueueState("foos", queued=(("a", 0.0),), shutting_down=True)


def test_state_does_not_change_with_the_queue(make: Make) -> None:
    queue = make(FakeClock())
    queue.add("a")
    before = queue.state()
    queue.get()
    assert before.queued == (("a", 0.0),)
    assert before.keys == ("a",)
