"""Priority queue: order of the keys, delays, and the depth by priority."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.internal.keyheap import KeyHeap
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics
from clientgo.workqueue import LOW, NORMAL, ByPriority, PriorityQueue, RateLimitingQueue
from clientgo.workqueue.metrics import MAX_PRIORITIES, OTHER_PRIORITIES


def taken(queue: PriorityQueue[str]) -> list[str]:
    order = []
    while len(queue):
        with queue.processing() as key:
            order.append(key)
    return order


@pytest.mark.feature("C-30")
def test_live_event_overtakes_ten_thousand_of_the_initial_list() -> None:
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


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 3), st.integers(0, 2)),
            st.tuples(st.sampled_from(["remove", "pop", "clear"]), st.integers(0, 3), st.just(0)),
        ),
        max_size=60,
    )
)
def test_heap_returns_the_lowest_rank_and_is_bounded_by_its_keys(steps: list[tuple[str, int, int]]) -> None:
    heap: KeyHeap[int] = KeyHeap()
    ranks: dict[int, tuple[float, int]] = {}
    for number, (step, key, value) in enumerate(steps):
        if step == "put":
            heap.put(key, value, number)
            ranks[key] = (value, number)
        elif step == "remove" and key in ranks:
            heap.remove(key)
            del ranks[key]
        elif step == "pop" and ranks:
            lowest = min(ranks, key=ranks.__getitem__)
            assert heap.pop() == lowest
            del ranks[lowest]
        elif step == "clear" and key == 0:
            heap.clear()
            ranks.clear()
        assert {key: entry[:2] for key, entry in heap.entries.items()} == ranks
        assert len(heap._heap) <= 2 * len(ranks)
        entry = heap.first()
        assert (None if entry is None else entry[:2]) == min(ranks.values(), default=None)


def test_raised_priorities_leave_no_outdated_entries() -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    order = queue._ready
    assert isinstance(order, ByPriority)
    for priority in range(1000):
        queue.add("a", priority=priority)
    assert len(order._ready._heap) <= 2
    assert taken(queue) == ["a"]


def test_repeated_delays_leave_no_outdated_entries() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(clock=clock)
    queue.add_after("other", 1e6)
    queue.add("a")
    for _ in range(1000):
        with queue.processing() as key:
            queue.add_after(key, 3600.0)
            queue.add_after(key, 1.0)
        clock.step(1.0)
    assert len(queue._delayed._heap) <= 4


@pytest.mark.feature("B-CR-10")
def test_depth_is_exported_by_priority() -> None:
    with recorded_metrics() as metrics:
        queue: PriorityQueue[str] = PriorityQueue(name="foos", clock=FakeClock())
        depths = {priority: metrics["workqueue_depth", "foos", str(priority)] for priority in (NORMAL, LOW)}
        assert [depth.value for depth in depths.values()] == [0, 0]
        queue.add("a", priority=LOW)
        queue.add("b", priority=LOW)
        assert [depth.value for depth in depths.values()] == [0, 2]
        queue.add("b")
        queue.add("c", priority=7)
        assert [depth.value for depth in depths.values()] == [1, 1]
        assert metrics["workqueue_depth", "foos", "7"].value == 1
        assert taken(queue) == ["c", "b", "a"]
    assert {metrics["workqueue_depth", "foos", str(item)].value for item in (NORMAL, LOW, 7)} == {0}
    assert ("workqueue_depth", "foos", "") not in metrics
    assert metrics["workqueue_adds_total", "foos"].value == 3


def test_depth_has_at_most_25_priorities_and_one_series_for_the_rest() -> None:
    with recorded_metrics() as metrics:
        queue: PriorityQueue[int] = PriorityQueue(name="foos", clock=FakeClock())
        for key in range(1, 101):
            queue.add(key, priority=key)
        queue.add(1, priority=1000)
        depths = metrics.series("workqueue_depth")
        assert len(depths) == MAX_PRIORITIES + 1
        assert depths["foos", OTHER_PRIORITIES].value == 100 - (MAX_PRIORITIES - len((NORMAL, LOW))) + 1
        assert sum(depth.value for depth in depths.values()) == 100
        while len(queue):
            queue.done(queue.get())
        assert {depth.value for depth in depths.values()} == {0}


def test_depth_includes_keys_added_while_processing() -> None:
    with recorded_metrics() as metrics:
        queue: PriorityQueue[str] = PriorityQueue(name="foos", clock=FakeClock())
        queue.add("a")
        queue.get()
        queue.add("a", priority=LOW)
        queue.add("a", priority=5)
        assert (metrics["workqueue_depth", "foos", str(LOW)].value, metrics["workqueue_depth", "foos", "5"].value) == (
            0,
            1,
        )


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


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(-2, 2)), max_size=15))
def test_keys_leave_by_priority_and_then_by_first_arrival(adds: list[tuple[str, int]]) -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    priorities: dict[str, int] = {}
    for key, priority in adds:
        queue.add(key, priority=priority)
        priorities[key] = max(priorities.get(key, priority), priority)
    arrival = list(priorities)
    assert taken(queue) == sorted(priorities, key=lambda key: (-priorities[key], arrival.index(key)))


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


@pytest.mark.parametrize("delay", [1.0, math.inf])
def test_event_replaces_a_delay(delay: float) -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock)
    queue.add_after("a", delay)
    queue.add("a")
    assert taken(queue) == ["a"]
    clock.step(10.0)
    assert len(queue) == 0


def test_delay_of_a_ready_key_changes_nothing_but_its_priority() -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock)
    queue.add("b")
    queue.add("a")
    queue.add_after("a", 1.0, priority=5)
    assert repr(queue) == "<PriorityQueue 2 ready, 0 processing, 0 delayed>"
    assert taken(queue) == ["a", "b"]
    clock.step(10.0)
    assert len(queue) == 0


def test_delay_added_while_processing_remains_without_an_event() -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock)
    queue.add("a")
    with queue.processing() as key:
        queue.add_after(key, 1.0)
    clock.step(1.0)
    assert taken(queue) == ["a"]


@pytest.mark.parametrize("priority", ["high", 1.5, math.nan, True, (1,)])
def test_priority_of_a_wrong_type_is_rejected_and_changes_nothing(priority: object) -> None:
    queue: PriorityQueue[str] = PriorityQueue(clock=FakeClock())
    queue.add("b")
    for key in ("a", "b"):
        for delay in (0.0, 1.0):
            with pytest.raises(TypeError, match="priority must be an integer, got"):
                queue.add(key, after=delay, priority=priority)  # type: ignore[arg-type]
    assert repr(queue) == "<PriorityQueue 1 ready, 0 processing, 0 delayed>"
    assert taken(queue) == ["b"]
    assert queue._priorities == {}
