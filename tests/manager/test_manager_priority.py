"""Order of keys in the priority queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.manager.priority import LOW, NORMAL, STARVATION_INTERVAL, ByPriority, PriorityQueue
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics


def taken(queue: PriorityQueue[str]) -> list[str]:
    order = []
    while len(queue):
        with queue.processing() as key:
            order.append(key)
    return order


@pytest.mark.feature("C-30")
def test_a_live_event_overtakes_ten_thousand_of_the_initial_list() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    for number in range(10_000):
        queue.add(f"listed-{number}", priority=LOW)
    queue.add("live")
    assert queue.get() == "live"
    assert queue.get() == "listed-0"


@pytest.mark.feature("C-30")
def test_highest_priority_of_a_key_counts() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("a", priority=LOW)
    queue.add("b", priority=LOW)
    queue.add("b", priority=NORMAL)
    queue.add("b", priority=LOW)
    assert taken(queue) == ["b", "a"]


@pytest.mark.feature("C-53")
def test_every_sixteenth_key_is_the_oldest() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    for number in range(3):
        queue.add(f"listed-{number}", priority=LOW)
    order = []
    for number in range(48):
        queue.add(f"live-{number}")
        with queue.processing() as key:
            order.append(key)
    assert [order.index(f"listed-{number}") for number in range(3)] == [15, 31, 47]
    assert taken(queue) == [f"live-{number}" for number in (45, 46, 47)]


def test_outdated_entries_do_not_accumulate() -> None:
    order: ByPriority[int] = ByPriority()
    for number in range(10_000):
        if number % 2:
            order.raise_priority(number, LOW)
        order.push(number)
        if number > 100:
            order.pop()
    most = 2 * len(order) + STARVATION_INTERVAL
    assert len(order) == 101
    assert len(order._arrivals) <= most
    assert len(order._heap) <= most


@pytest.mark.feature("B-CR-10")
def test_depth_is_exported_by_priority() -> None:
    with recorded_metrics() as kept:
        queue: PriorityQueue[str] = PriorityQueue(name="foos", clock=FakeClock())
        depths = {priority: kept["workqueue_depth", "foos", str(priority)] for priority in (NORMAL, LOW)}
        assert [depth.value for depth in depths.values()] == [0, 0]
        queue.add("a", priority=LOW)
        queue.add("b", priority=LOW)
        assert [depth.value for depth in depths.values()] == [0, 2]
        queue.add("b")
        queue.add("c", priority=7)
        assert [depth.value for depth in depths.values()] == [1, 1]
        assert kept["workqueue_depth", "foos", "7"].value == 1
        assert taken(queue) == ["c", "b", "a"]
    assert {kept["workqueue_depth", "foos", str(one)].value for one in (NORMAL, LOW, 7)} == {0}
    assert ("workqueue_depth", "foos", "") not in kept
    assert kept["workqueue_adds_total", "foos"].value == 3


def test_raised_key_keeps_its_order_of_arrival() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("early", priority=LOW)
    queue.add("later")
    queue.add("early")
    assert taken(queue) == ["early", "later"]


def test_priority_of_a_key_in_process_applies_when_it_is_requeued() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("a", priority=LOW)
    assert queue.get() == "a"
    queue.add("a", priority=LOW)
    queue.add("b")
    queue.done("a")
    assert taken(queue) == ["b", "a"]


@pytest.mark.feature("C-31")
def test_failed_key_keeps_its_priority() -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock)
    queue.add("a", priority=LOW)
    with queue.processing() as key:
        queue.add_rate_limited(key)
    clock.step(1.0)
    queue.add("b")
    assert taken(queue) == ["b", "a"]


@pytest.mark.feature("C-31")
def test_delayed_key_can_have_another_priority() -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock)
    queue.add("a", priority=LOW)
    with queue.processing() as key:
        queue.add_after(key, 1.0, priority=7)
    queue.add("b")
    clock.step(1.0)
    assert taken(queue) == ["a", "b"]


def test_taken_key_leaves_no_state() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("a", priority=7)
    assert taken(queue) == ["a"]
    queue.add("b", priority=1)
    queue.add("a")
    assert taken(queue) == ["b", "a"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(-2, 2)), max_size=40))
def test_keys_leave_by_priority_and_then_by_first_arrival(wishes: list[tuple[str, int]]) -> None:
    order: ByPriority[str] = ByPriority()
    known: dict[str, int] = {}
    for key, priority in wishes:
        order.raise_priority(key, priority)
        (order.touch if key in known else order.push)(key)
        known[key] = max(known.get(key, priority), priority)
    assert len(order) == len(known)
    arrival = list(known)
    expected = sorted(known, key=lambda key: (-known[key], arrival.index(key)))
    assert [order.pop() for _ in range(len(order))] == expected
    assert order.taken == known


def test_delayed_priority_raises_a_ready_key_at_once() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("b")
    queue.add("a")
    queue.add_after("a", 1.0, priority=5)
    assert taken(queue) == ["a", "b"]


def test_trigger_tells_the_initial_list_and_resyncs_from_events() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("listed", priority=LOW)
    queue.add("live")
    triggers = {}
    for _ in range(2):
        with queue.processing() as key:
            triggers[key] = queue.trigger(key)
    assert triggers == {"live": "event", "listed": "resync"}
