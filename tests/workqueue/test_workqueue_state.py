"""`state()` of each queue: what is queued, in process, delayed and failing, and for how long."""

from collections.abc import Callable

import pytest

from clientgo.testing.clock import FakeClock
from clientgo.workqueue import (
    DelayingQueue,
    QueueState,
    RateLimitingQueue,
    WorkQueue,
)

QUEUES: dict[str, Callable[[FakeClock], WorkQueue[str]]] = {
    "work": lambda clock: WorkQueue(name="foos", clock=clock),
    "delaying": lambda clock: DelayingQueue(name="foos", clock=clock),
    "rate-limiting": lambda clock: RateLimitingQueue(name="foos", clock=clock),
}

pytestmark = pytest.mark.parametrize("make", QUEUES.values(), ids=QUEUES)
Make = Callable[[FakeClock], WorkQueue[str]]


def test_an_empty_queue_says_so(make: Make) -> None:
    assert make(FakeClock()).state() == QueueState("foos")


def test_queued_keys_come_with_the_seconds_since_they_were_added_first(make: Make) -> None:
    clock = FakeClock()
    queue = make(clock)
    queue.add("a")
    clock.step(2)
    queue.add("b")
    queue.add("a")
    clock.step(3)
    assert queue.state() == QueueState("foos", queued=(("a", 5.0), ("b", 3.0)))


def test_keys_in_process_come_with_the_seconds_since_they_were_handed_out(make: Make) -> None:
    clock = FakeClock()
    queue = make(clock)
    queue.add("a")
    clock.step(2)
    queue.get()
    clock.step(4)
    assert queue.state() == QueueState("foos", processing=(("a", 4.0),))
    queue.done("a")
    assert queue.state() == QueueState("foos")


def test_a_key_added_while_in_process_is_told_of_in_both_and_waits_on_after_done(make: Make) -> None:
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


def test_a_queue_that_shuts_down_says_so_and_still_tells_what_is_left(make: Make) -> None:
    queue = make(FakeClock())
    queue.add("a")
    queue.shut_down()
    assert queue.state() == QueueState("foos", queued=(("a", 0.0),), shutting_down=True)


def test_what_was_told_does_not_change_with_the_queue(make: Make) -> None:
    queue = make(FakeClock())
    queue.add("a")
    before = queue.state()
    queue.get()
    assert before.queued == (("a", 0.0),)
    assert before.keys == ("a",)
