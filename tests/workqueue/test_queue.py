"""WorkQueue used by one thread."""

import gc
import weakref
from collections import deque
from collections.abc import Callable

import pytest

from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import DelayingQueue, PriorityQueue, RateLimitingQueue, ShutDown, WorkQueue


class TracingStorage:
    """FIFO that records touched keys."""

    def __init__(self) -> None:
        self.items: deque[str] = deque()
        self.touched: list[str] = []

    def push(self, item: str, /) -> None:
        self.items.append(item)

    def pop(self) -> str:
        return self.items.popleft()

    def touch(self, item: str, /) -> None:
        self.touched.append(item)

    def __len__(self) -> int:
        return len(self.items)


@pytest.fixture(params=[WorkQueue, DelayingQueue, RateLimitingQueue])
def queue(request: pytest.FixtureRequest) -> WorkQueue[str]:
    built: WorkQueue[str] = request.param(clock=FakeClock())
    return built


@pytest.mark.feature("B-WQ-01")
@pytest.mark.behaviour("WQ-03")
def test_len_counts_a_key_once(queue: WorkQueue[str]) -> None:
    queue.add("foo")
    assert len(queue) == 1
    queue.add("bar")
    assert len(queue) == 2
    queue.add("foo")
    assert len(queue) == 2


@pytest.mark.feature("B-WQ-01")
def test_keys_are_returned_in_the_order_of_adding(queue: WorkQueue[str]) -> None:
    for key in ("a", "b", "c", "a"):
        queue.add(key)
    assert [queue.get() for _ in range(3)] == ["a", "b", "c"]


@pytest.mark.feature("B-WQ-02", "A-03")
@pytest.mark.behaviour("WQ-04")
def test_key_added_while_processing_is_requeued(queue: WorkQueue[str]) -> None:
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    assert len(queue) == 0
    queue.done("foo")
    assert queue.get() == "foo"
    queue.done("foo")
    assert len(queue) == 0


@pytest.mark.feature("B-WQ-02")
@pytest.mark.behaviour("WQ-05")
def test_adding_a_waiting_key_touches_the_storage() -> None:
    storage = TracingStorage()
    queue: WorkQueue[str] = WorkQueue(storage=storage)
    queue.add("bar")
    queue.add("bar")
    assert queue.get() == "bar"
    queue.done("bar")
    assert len(queue) == 0
    assert storage.touched == ["bar"]


@pytest.mark.behaviour("WQ-06")
def test_key_added_twice_while_processing_is_not_touched_or_returned_before_done() -> None:
    clock, storage, group = FakeClock(), TracingStorage(), Group()
    queue: WorkQueue[str] = WorkQueue(storage=storage, clock=clock)
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    queue.add("foo")
    seen: list[str] = []

    def second_worker() -> None:
        seen.append(queue.get())
        queue.done("foo")

    group.start(second_worker, name="second")
    clock.wait_for_waiters()
    assert seen == []
    queue.done("foo")
    group.join(10)
    assert seen == ["foo"]
    assert len(queue) == 0
    assert storage.touched == []


@pytest.mark.feature("B-WQ-03", "B-WQ-10")
def test_storage_determines_the_order() -> None:
    class Sorted(TracingStorage):
        def pop(self) -> str:
            first = min(self.items)
            self.items.remove(first)
            return first

    queue: WorkQueue[str] = WorkQueue(storage=Sorted())
    for key in ("c", "a", "b"):
        queue.add(key)
    assert [queue.get() for _ in range(3)] == ["a", "b", "c"]


def test_done_of_a_key_not_being_processed_changes_nothing(queue: WorkQueue[str]) -> None:
    queue.add("foo")
    queue.done("foo")
    queue.done("never added")
    assert len(queue) == 1
    assert queue.get() == "foo"
    assert len(queue) == 0


def test_processing_marks_the_key_done_if_the_block_raises(queue: WorkQueue[str]) -> None:
    def work() -> None:
        with queue.processing() as key:
            queue.add(key)
            raise RuntimeError("boom")

    queue.add("foo")
    with pytest.raises(RuntimeError, match="boom"):
        work()
    with queue.processing() as key:
        assert key == "foo"
    assert repr(queue).startswith(f"<{type(queue).__name__} 0 ready, 0 processing")


def test_processing_raises_shut_down_if_the_queue_is_shut_down(queue: WorkQueue[str]) -> None:
    queue.shut_down()
    with pytest.raises(ShutDown), queue.processing():
        pass


@pytest.mark.feature("B-WQ-04")
def test_ready_keys_are_returned_after_shut_down(queue: WorkQueue[str]) -> None:
    queue.add("foo")
    queue.shut_down()
    queue.add("added after shutdown!")
    assert queue.get() == "foo"
    with pytest.raises(ShutDown):
        queue.get()


def test_shutting_down_is_true_after_shut_down(queue: WorkQueue[str]) -> None:
    before = queue.shutting_down
    queue.shut_down()
    assert (before, queue.shutting_down) == (False, True)


def test_key_added_while_processing_after_shut_down_is_dropped(queue: WorkQueue[str]) -> None:
    queue.add("foo")
    queue.get()
    queue.shut_down()
    queue.add("foo")
    queue.done("foo")
    with pytest.raises(ShutDown):
        queue.get()


def test_empty_queue_is_true(queue: WorkQueue[str]) -> None:
    assert queue


def test_repr_shows_the_counts_of_each_state() -> None:
    queue: DelayingQueue[str] = DelayingQueue(name="foos", clock=FakeClock())
    for key in ("a", "b", "c"):
        queue.add(key)
    queue.get()
    queue.add_after("d", 1.0)
    assert repr(queue) == "<DelayingQueue 'foos' 2 ready, 1 processing, 1 delayed>"
    queue.shut_down()
    assert repr(queue) == "<DelayingQueue 'foos' 2 ready, 1 processing, 0 delayed, shutting down>"


class Key:
    """Key that supports weak references."""


def processed(queue: WorkQueue[Key]) -> "weakref.ref[Key]":
    key = Key()
    queue.add(key)
    queue.done(queue.get())
    return weakref.ref(key)


def overtaken(queue: WorkQueue[Key]) -> "weakref.ref[Key]":
    assert isinstance(queue, DelayingQueue)
    key = Key()
    queue.add_after(key, 1000.0)
    queue.add_after(key, 0.5)
    clock = queue._clock
    assert isinstance(clock, FakeClock)
    clock.step(0.5)
    queue.done(queue.get())
    return weakref.ref(key)


def dropped(queue: WorkQueue[Key]) -> "weakref.ref[Key]":
    assert isinstance(queue, DelayingQueue)
    key = Key()
    queue.add_after(key, 1000.0)
    queue.shut_down()
    return weakref.ref(key)


@pytest.mark.feature("B-WQ-12")
@pytest.mark.behaviour("WQ-11")
@pytest.mark.parametrize("use", [processed, overtaken, dropped])
def test_processed_key_is_not_kept_alive(use: Callable[[WorkQueue[Key]], "weakref.ref[Key]"]) -> None:
    queue: DelayingQueue[Key] = DelayingQueue(clock=FakeClock())
    reference = use(queue)
    gc.collect()
    assert reference() is None
    assert len(queue) == 0


class Unfit:
    """Key with a constant hash that cannot be compared with others."""

    def __init__(self, *, hashable: bool = True) -> None:
        self.hashable = hashable

    def __hash__(self) -> int:
        if not self.hashable:
            raise SystemError("no hash")
        return 1

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise SystemError("no comparison")


def ready(queue: WorkQueue[object]) -> None:
    queue.add(Unfit())


def delayed(queue: WorkQueue[object]) -> None:
    queue.add_after(Unfit(), 1.0)


def processed_now(queue: WorkQueue[object]) -> None:
    queue.add(Unfit())
    queue.get()


@pytest.mark.parametrize("make", [WorkQueue, PriorityQueue])
@pytest.mark.parametrize("before", [ready, delayed, processed_now])
@pytest.mark.parametrize("delay", [0.0, 2.0])
@pytest.mark.parametrize("key", [[], Unfit(hashable=False), Unfit()], ids=["unhashable", "hash raises", "eq raises"])
def test_key_that_cannot_be_stored_is_rejected_and_changes_nothing(
    make: type[WorkQueue[object]], before: Callable[[WorkQueue[object]], None], delay: float, key: object
) -> None:
    clock = FakeClock()
    queue = make(clock=clock)
    before(queue)
    state = queue.state()
    with pytest.raises((TypeError, SystemError)):
        queue.add(key, after=delay)
    assert queue.state() == state
    clock.step(5.0)
    for processing, _ in state.processing:
        queue.add(processing)
        queue.done(processing)
    queue.done(queue.get())
    queue.add("other")
    queue.add_after("delayed", 1.0)
    clock.step(1.0)
    assert [queue.get(), queue.get()] == ["other", "delayed"]
    assert len(queue) == 0
