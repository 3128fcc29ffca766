"""State of delaying and rate limiting queues."""

import threading

from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import (
    DelayingQueue,
    ItemExponentialFailureRateLimiter,
    QueueState,
    RateLimitingQueue,
    ShutDown,
    WorkQueue,
)


def test_delayed_keys_have_the_seconds_until_they_are_due() -> None:
    clock = FakeClock()
    queue = DelayingQueue[str](clock=clock)
    queue.add_after("late", 10.0)
    queue.add_after("soon", 4.0)
    clock.step(1)
    assert queue.state() == QueueState("", waiting=(("soon", 3.0), ("late", 9.0)))


def test_due_key_not_promoted_yet_is_due_in_zero_seconds() -> None:
    clock = FakeClock()
    queue = DelayingQueue[str](clock=clock)
    queue.add_after("a", 4.0)
    clock.step(5)
    assert queue.state() == QueueState("", waiting=(("a", 0.0),))
    assert len(queue) == 1
    assert queue.state() == QueueState("", queued=(("a", 0.0),))


def test_state_of_a_rate_limiting_queue_has_the_failures_of_its_keys() -> None:
    clock = FakeClock()
    queue = RateLimitingQueue[str](ItemExponentialFailureRateLimiter(1.0, 60.0), clock=clock)
    for key in ("in process", "delayed", "fine"):
        queue.add(key)
        queue.get()
    for _ in range(3):
        queue.add_rate_limited("delayed")
    queue.done("delayed")
    queue.done("fine")
    queue.add("fine")
    queue.add_rate_limited("in process")
    state = queue.state()
    assert dict(state.retries) == {"in process": 1, "delayed": 3}
    assert state.waiting == (("delayed", 1.0), ("in process", 1.0))


def test_state_is_consistent_while_workers_are_busy() -> None:
    # A key moves from queued to in process and back under one lock: a state that is not of one moment would lose it.
    queue, stop = WorkQueue[int](), threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                with queue.processing() as key:
                    queue.add(key)
        except ShutDown:
            return

    for key in range(8):
        queue.add(key)
    with Group(stop=stop) as group:
        for number in range(3):
            group.start(work, name=f"worker-{number}")
        states = [queue.state() for _ in range(300)]
        queue.shut_down()
        group.stop()
    assert {frozenset(state.keys) for state in states} == {frozenset(range(8))}
    assert all(len(state.processing) <= 3 for state in states)
