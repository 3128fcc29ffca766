"""Delaying queue, with a fake clock."""

import math
import queue as stdlib_queue
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.internal.delayheap import DelayHeap
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import DelayingQueue, ShutDown

LIMIT = 10.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> DelayingQueue[str]:
    return DelayingQueue(clock=clock)


@pytest.mark.feature("B-WQ-05")
def test_key_delayed_twice_is_due_at_the_earlier_time(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("foo", 0.05)
    queue.add_after("foo", 0.07)
    clock.step(0.06)
    assert queue.get() == "foo"
    queue.done("foo")
    clock.step(0.02)
    assert len(queue) == 0
    queue.add_after("foo", 0.05)
    queue.add_after("foo", 0.03)
    clock.step(0.04)
    assert queue.get() == "foo"


@pytest.mark.behaviour("WQ-14")
def test_keys_are_due_at_their_own_times(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("foo", 1.0)
    queue.add_after("bar", 0.05)
    assert len(queue) == 0
    clock.step(0.06)
    assert len(queue) == 1
    assert queue.get() == "bar"
    queue.add_after("baz", 2.0)
    clock.step(1.0)
    assert queue.get() == "foo"
    clock.step(2.0)
    assert queue.get() == "baz"


@pytest.mark.behaviour("WQ-15")
def test_keys_due_together_are_returned_in_the_order_of_their_times(
    queue: DelayingQueue[str], clock: FakeClock
) -> None:
    for key, delay in (("foo", 1.0), ("bar", 0.5), ("baz", 0.25)):
        queue.add_after(key, delay)
    assert len(queue) == 0
    clock.step(2.0)
    assert len(queue) == 3
    assert [queue.get() for _ in range(3)] == ["baz", "bar", "foo"]


@pytest.mark.parametrize("delay", [0.0, -1.0, math.nan])
def test_delay_of_zero_or_less_adds_at_once(queue: DelayingQueue[str], delay: float) -> None:
    queue.add_after("foo", delay)
    assert repr(queue) == "<DelayingQueue 1 ready, 0 processing, 0 delayed>"


def test_infinite_delay_never_ends(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("foo", math.inf)
    clock.step(1e12)
    assert len(queue) == 0


@pytest.mark.feature("B-WQ-05", "C-56")
def test_delayed_key_added_directly_is_returned_twice(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("foo", 1.0)
    queue.add("foo")
    queue.done(queue.get())
    clock.step(1.0)
    assert queue.get() == "foo"


def test_due_key_precedes_a_key_added_later(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("first", 1.0)
    clock.step(1.0)
    queue.add("second")
    assert [queue.get(), queue.get()] == ["first", "second"]


def test_due_key_precedes_a_key_added_without_delay(queue: DelayingQueue[str], clock: FakeClock) -> None:
    queue.add_after("first", 1.0)
    clock.step(1.0)
    queue.add_after("second", 0.0)
    assert [queue.get(), queue.get()] == ["first", "second"]


class Sorted(list[str]):
    """Storage that returns the smallest key first."""

    def push(self, item: str, /) -> None:
        self.append(item)
        self.sort(reverse=True)

    def touch(self, item: str, /) -> None:
        """The order does not depend on it."""


def test_due_key_is_promoted_while_other_keys_are_ready(clock: FakeClock) -> None:
    queue: DelayingQueue[str] = DelayingQueue(clock=clock, storage=Sorted())
    queue.add("z")
    queue.add_after("a", 1.0)
    clock.step(1.0)
    assert [queue.get(), queue.get()] == ["a", "z"]


@pytest.mark.parametrize("drain", [False, True])
def test_delayed_keys_are_dropped_at_shut_down(queue: DelayingQueue[str], clock: FakeClock, *, drain: bool) -> None:
    queue.add_after("waiting", 1.0)
    queue.shut_down(drain=drain)
    queue.add_after("late", 1.0)
    queue.add_after("now", 0.0)
    clock.step(5.0)
    with pytest.raises(ShutDown):
        queue.get()


class Consumers:
    """Threads that report each key they get, and hold on to keys named "busy..." until released."""

    def __init__(self, queue: DelayingQueue[str], clock: FakeClock, count: int) -> None:
        self.queue, self.clock, self.group = queue, clock, Group()
        self.got: stdlib_queue.SimpleQueue[str] = stdlib_queue.SimpleQueue()
        self.release = threading.Event()
        for number in range(count):
            self.group.start(self._run, name=f"consumer-{number}")
        clock.wait_for_waiters(count)

    def _run(self) -> None:
        try:
            while True:
                with self.queue.processing() as key:
                    self.got.put(key)
                    if key.startswith("busy"):
                        assert self.release.wait(LIMIT)
        except ShutDown:
            return

    def next(self) -> str:
        return self.got.get(timeout=LIMIT)

    def end(self) -> None:
        self.release.set()
        self.queue.shut_down()
        self.group.join(LIMIT)
        # The invariant of the field: a count too low loses wake-ups, one too high costs every add.
        assert self.queue._blocked_getters == 0


class WatchedClock(FakeClock):
    """Counts the waits; `keeping` has the deadlines of timed ones, `most` how many of these there were at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0
        self.timed = 0
        self.most = 0
        self.keeping: stdlib_queue.SimpleQueue[float] = stdlib_queue.SimpleQueue()

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        # The condition's lock is held before and after a wait, so that these are exact.
        self.waits += 1
        if deadline is None:
            return super().wait(condition, deadline)
        self.timed += 1
        self.most = max(self.most, self.timed)
        self.keeping.put(deadline)
        try:
            super().wait(condition, deadline)
        finally:
            self.timed -= 1


def test_timekeeper_hands_over_when_it_gets_a_key() -> None:
    queue: DelayingQueue[str] = DelayingQueue(clock=(clock := WatchedClock()))
    consumers = Consumers(queue, clock, 2)
    queue.add_after("later", 5.0)
    assert clock.keeping.get(timeout=LIMIT) == 5.0
    # The other one takes this and waits again, behind the timekeeper: the next key is the timekeeper's.
    queue.add("x")
    assert consumers.next() == "x"
    clock.wait_for_waiters(2)
    queue.add("busy")
    assert consumers.next() == "busy"
    assert clock.keeping.get(timeout=LIMIT) == 5.0
    clock.step(5.0)
    assert consumers.next() == "later"
    consumers.end()


def test_earlier_key_shortens_the_wait() -> None:
    queue: DelayingQueue[str] = DelayingQueue(clock=(clock := WatchedClock()))
    consumers = Consumers(queue, clock, 2)
    for delay in (9.0, 5.0, 2.0):
        queue.add_after(f"in {delay}", delay)
        assert clock.keeping.get(timeout=LIMIT) == delay
    queue.add_after("in 3.0", 3.0)
    for delay in (2.0, 3.0, 5.0, 9.0):
        clock.step(delay - clock.now())
        assert consumers.next() == f"in {delay}"
    consumers.end()


def test_ready_key_wakes_one_consumer() -> None:
    queue: DelayingQueue[str] = DelayingQueue(clock=(clock := WatchedClock()))
    consumers = Consumers(queue, clock, 3)
    for number in range(50):
        queue.add(str(number))
        assert consumers.next() == str(number)
        clock.wait_for_waiters(3)
    assert clock.waits == 3 + 50
    assert clock.keeping.empty()
    consumers.end()


def test_only_one_consumer_is_the_timekeeper() -> None:
    queue: DelayingQueue[str] = DelayingQueue(clock=(clock := WatchedClock()))
    consumers = Consumers(queue, clock, 5)
    queue.add_after("later", 5.0)
    assert clock.keeping.get(timeout=LIMIT) == 5.0
    for number in range(50):
        queue.add(str(number))
        assert consumers.next() == str(number)
        clock.wait_for_waiters(5)
    assert clock.most == 1
    clock.step(5.0)
    assert consumers.next() == "later"
    consumers.end()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_blocked_consumers_are_the_timer(queue: DelayingQueue[str], clock: FakeClock, count: int) -> None:
    consumers = Consumers(queue, clock, count)
    queue.add_after("later", 10.0)
    queue.add_after("sooner", 5.0)
    clock.step(5.0)
    assert consumers.next() == "sooner"
    clock.step(5.0)
    assert consumers.next() == "later"
    consumers.end()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20))), st.lists(st.integers(0, 6), max_size=5))
def test_heap_returns_each_key_once_at_its_earliest_time(pushes: list[tuple[int, int]], waits: list[int]) -> None:
    heap: DelayHeap[int] = DelayHeap()
    expected: dict[int, int] = {}
    for key, at in pushes:
        heap.push(key, at)
        expected[key] = min(at, expected.get(key, at))
    now = 0
    for wait in [*waits, 100]:
        now += wait
        assert len(heap) == len(expected)
        assert not expected or heap.earliest <= min(expected.values())
        due = heap.pop_due(now)
        assert sorted(due) == sorted(key for key, at in expected.items() if at <= now)
        assert [expected[key] for key in due] == sorted(expected[key] for key in due)
        expected = {key: at for key, at in expected.items() if at > now}
    assert (len(heap), heap.earliest) == (0, math.inf)


def test_heap_does_not_compare_keys() -> None:
    heap: DelayHeap[object] = DelayHeap()
    keys = [object(), object(), object()]
    for key in keys:
        heap.push(key, 1.0)
    assert heap.pop_due(1.0) == keys
    assert repr(heap) == "<DelayHeap 0 keys>"
