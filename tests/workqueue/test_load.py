"""Load of queues, single keys, and the reason why a key was queued."""

from collections.abc import Callable

import pytest

from clientgo.testing.clock import FakeClock
from clientgo.workqueue import DelayingQueue, ItemExponentialFailureRateLimiter, RateLimitingQueue, WorkQueue
from clientgo.workqueue.state import KeyState, QueueLoad


def limited(clock: FakeClock) -> RateLimitingQueue[str]:
    return RateLimitingQueue(ItemExponentialFailureRateLimiter[str](1.0, 60.0), clock=clock)


def test_load_counts_keys_and_has_the_time_of_the_oldest() -> None:
    clock = FakeClock()
    queue, began = limited(clock), clock.now()
    assert queue.load() == QueueLoad()
    for key in "abc":
        queue.add(key)
        clock.step(1.0)
    queue.add_after("d", 10.0)
    queue.get()
    assert queue.load() == QueueLoad(depth=2, oldest=began + 1.0, delayed=1, processing=1)
    clock.step(10.0)
    assert queue.load() == QueueLoad(depth=3, oldest=began + 1.0, delayed=0, processing=1)


def test_first_keys_are_the_oldest_and_those_due_next() -> None:
    clock = FakeClock()
    queue, began = limited(clock), clock.now()
    for number in range(5):
        queue.add(f"queued-{number}")
        queue.add_after(f"delayed-{number}", 10.0 - number)
    assert queue.first_keys(2) == [
        KeyState("queued-0", "queued", began),
        KeyState("queued-1", "queued", began),
        KeyState("delayed-4", "delayed", began + 6.0),
        KeyState("delayed-3", "delayed", began + 7.0),
    ]
    assert [state.key for state in queue.first_keys(9, "ED-0")] == ["queued-0", "delayed-0"]


def test_key_has_all_of_its_states_and_its_failures() -> None:
    clock = FakeClock()
    queue, began = limited(clock), clock.now()
    assert queue.states_of("a") == []
    queue.add("a")
    with queue.processing():
        queue.add_rate_limited("a")
        queue.add("a")
        assert queue.states_of("a") == [
            KeyState("a", "processing", began, 1),
            KeyState("a", "queued", began, 1),
            KeyState("a", "delayed", began + 1.0, 1),
        ]


def by_event(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add("a")


def by_requeue(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 5.0)
    clock.step(5.0)


def by_event_before_it_is_due(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 5.0)
    queue.add("a")


def by_retry(queue: DelayingQueue[str], clock: FakeClock) -> None:
    assert isinstance(queue, RateLimitingQueue)
    clock.step(queue.add_rate_limited("a"))


@pytest.mark.parametrize(
    ("add", "reason"),
    [(by_event, "event"), (by_requeue, "requeue"), (by_event_before_it_is_due, "event"), (by_retry, "retry")],
)
def test_trigger_is_the_reason_why_a_key_was_queued(
    add: Callable[[DelayingQueue[str], FakeClock], None], reason: str
) -> None:
    clock = FakeClock()
    queue = limited(clock)
    add(queue, clock)
    for expected in (reason, "event"):
        with queue.processing() as key:
            assert queue.trigger(key) == expected
            queue.add(key)


def test_key_that_becomes_due_while_it_is_processed_is_a_requeue_afterwards() -> None:
    clock = FakeClock()
    queue = DelayingQueue[str](clock=clock)
    queue.add_after("a", 5.0)
    queue.add("a")
    with queue.processing() as key:
        clock.step(5.0)
        queue.load()
        assert queue.trigger(key) == "event"
    with queue.processing() as key:
        assert queue.trigger(key) == "requeue"


def test_plain_queue_knows_events_only() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    with queue.processing() as key:
        assert (queue.trigger(key), queue.load().delayed) == ("event", 0)
