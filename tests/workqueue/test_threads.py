"""WorkQueue used by several threads: no lost keys, no parallel processing of a key, shutdown."""

import threading
from collections import Counter

import pytest

from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ShutDown, WorkQueue

LIMIT = 20.0
"""Seconds of real time after which a test of threads has failed."""


class Worker:
    """Consumes until shut down; fails if another worker has the same key."""

    def __init__(self, queue: WorkQueue[object]) -> None:
        self.queue = queue
        self.lock = threading.Lock()
        self.out: set[object] = set()
        self.seen: Counter[object] = Counter()

    def run(self, times: int = 1) -> None:
        try:
            while True:
                self.one(times)
        except ShutDown:
            return

    def one(self, times: int) -> None:
        with self.queue.processing() as key:
            with self.lock:
                assert key not in self.out, f"{key} is in two workers"
                self.out.add(key)
                self.seen[key] += 1
                again = self.seen[key] < times
            if again:
                self.queue.add(key)
            with self.lock:
                self.out.remove(key)


@pytest.mark.behaviour("WQ-01")
@pytest.mark.parametrize("drain", [False, True])
def test_50_producers_and_10_consumers_end_and_no_key_is_accepted_after_shut_down(*, drain: bool) -> None:
    queue: WorkQueue[object] = WorkQueue()
    worker, consumers, producers = Worker(queue), Group(), Group()
    for number in range(10):
        consumers.start(worker.run, name=f"consumer-{number}")

    def produce(value: int) -> None:
        for _ in range(50):
            queue.add(value)

    for value in range(50):
        producers.start(produce, value, name=f"producer-{value}")
    producers.join(LIMIT)
    queue.shut_down(drain=drain)
    queue.add("added after shutdown!")
    consumers.join(LIMIT)
    assert set(worker.seen) == set(range(50))
    assert len(queue) == 0


@pytest.mark.behaviour("WQ-02")
@pytest.mark.parametrize("drain", [False, True])
def test_keys_added_again_before_done_are_not_lost(*, drain: bool) -> None:
    queue: WorkQueue[object] = WorkQueue()
    worker, consumers, producers = Worker(queue), Group(), Group()
    for number in range(10):
        consumers.start(worker.run, 2, name=f"consumer-{number}")
    for value in range(50):
        producers.start(queue.add, value, name=f"producer-{value}")
    producers.join(LIMIT)
    queue.shut_down(drain=drain)
    consumers.join(LIMIT)
    assert set(worker.seen) == set(range(50))
    assert set(worker.seen.values()) <= {1, 2}
    assert len(queue) == 0


class Draining:
    """A queue with "foo" and "bar" handed out, and a thread that drains it."""

    def __init__(self, *, drain: bool = True, keys: tuple[str, ...] = ("foo", "bar")) -> None:
        self.clock, self.group = FakeClock(), Group()
        self.queue: WorkQueue[str] = WorkQueue(clock=self.clock)
        for key in keys:
            self.queue.add(key)
            assert self.queue.get() == key
        self.drain = drain

    def begin(self) -> None:
        self.group.start(lambda: self.queue.shut_down(drain=self.drain), name="drainer")
        if self.drain:
            self.clock.wait_for_waiters()

    def blocked(self) -> bool:
        return self.group.alive() == ["drainer"]


@pytest.mark.feature("B-WQ-04")
@pytest.mark.behaviour("WQ-07")
def test_drain_waits_for_processing_keys_while_get_raises_shut_down() -> None:
    case = Draining()
    case.begin()
    with pytest.raises(ShutDown):
        case.queue.get()
    assert case.blocked()
    case.queue.done("foo")
    assert case.blocked()
    case.queue.done("bar")
    case.group.join(LIMIT)


@pytest.mark.behaviour("WQ-08")
def test_shut_down_without_drain_returns_at_once() -> None:
    case = Draining(drain=False)
    case.begin()
    case.group.join(LIMIT)


@pytest.mark.feature("B-WQ-04")
@pytest.mark.behaviour("WQ-09")
def test_second_shut_down_ends_the_wait_of_a_drain() -> None:
    case = Draining()
    case.begin()
    with pytest.raises(ShutDown):
        case.queue.get()
    assert case.blocked()
    case.queue.shut_down()
    case.group.join(LIMIT)


@pytest.mark.feature("B-WQ-04")
@pytest.mark.behaviour("WQ-10")
def test_drain_includes_keys_added_while_processing() -> None:
    case = Draining(keys=("foo",))
    case.queue.add("foo")
    case.begin()
    with pytest.raises(ShutDown):
        case.queue.get()
    case.queue.done("foo")
    assert case.blocked()
    assert case.queue.get() == "foo"
    assert case.blocked()
    case.queue.done("foo")
    with pytest.raises(ShutDown):
        case.queue.get()
    case.group.join(LIMIT)


def test_drain_includes_ready_keys() -> None:
    case = Draining(keys=())
    case.queue.add("foo")
    case.begin()
    with case.queue.processing() as key:
        assert key == "foo"
        assert case.blocked()
    case.group.join(LIMIT)


def test_drain_of_an_idle_queue_returns_at_once() -> None:
    WorkQueue[str]().shut_down(drain=True)


def test_interrupted_wait_passes_its_notification_on() -> None:
    class Interrupted(FakeClock):
        armed = False

        def wait(self, condition: threading.Condition, deadline: float | None) -> None:
            super().wait(condition, deadline)
            if self.armed:
                self.armed = False
                raise KeyboardInterrupt

    clock, got, group = Interrupted(), [], Group()
    queue: WorkQueue[str] = WorkQueue(clock=clock)

    def consume() -> None:
        try:
            got.append(queue.get())
        except KeyboardInterrupt:
            got.append("interrupted")

    for number in range(2):
        group.start(consume, name=f"consumer-{number}")
    clock.wait_for_waiters(2)
    clock.armed = True
    queue.add("foo")
    group.join(LIMIT)
    assert sorted(got) == ["foo", "interrupted"]
