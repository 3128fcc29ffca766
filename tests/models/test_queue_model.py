"""Work queue compared with a model: same calls, same keys, same order; first in first out, and by priority."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import (
    LOW,
    NORMAL,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    RateLimitingQueue,
    ShutDown,
    WorkQueue,
)
from clientgo.workqueue.priorityqueue import STARVATION_INTERVAL
from tests.models.budget import examples

KEYS = st.sampled_from("abcde")
PRIORITIES = st.sampled_from([LOW, NORMAL, 5])
BASE, LONGEST = 1.0, 60.0


class Model:
    """Model of a queue without locks, waits or heaps: a list, a set, and times; all keys have a priority."""

    def __init__(self, *, by_priority: bool, merged: bool) -> None:
        self.by_priority, self.merged = by_priority, merged
        self.now = 0.0
        self.ready: list[str] = []  # in the order of arrival
        self.dirty: set[str] = set()
        self.processing: dict[str, float] = {}
        self.delayed: dict[str, tuple[float, int]] = {}
        self.priorities: dict[str, int] = {}
        self.taken: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.closed = False
        self._number = 0
        self._gets = 0

    def add(self, key: str, priority: int) -> None:
        self.promote()
        self._add(key, priority)

    def add_after(self, key: str, seconds: float, priority: int | None) -> None:
        if self.closed:
            return
        self.promote()
        priority = self.taken.get(key, NORMAL) if priority is None else priority
        due = self.now + seconds
        if seconds <= 0:
            self._add(key, priority)
            return
        self._raise(key, priority)
        if self.merged and key in self.dirty:
            return
        if key not in self.delayed or due < self.delayed[key][0]:
            self._number += 1
            self.delayed[key] = (due, self._number)

    def add_rate_limited(self, key: str, priority: int | None) -> None:
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        self.add_after(key, min(BASE * 2**failures, LONGEST), priority)

    def promote(self) -> None:
        """Make due keys ready, in the order of their times."""
        for key, (due, _) in sorted(self.delayed.items(), key=lambda item: item[1]):
            if due <= self.now:
                del self.delayed[key]
                self._add(key, self.priorities.get(key, NORMAL))

    def get(self) -> str:
        self._gets += 1
        key = self.ready[0]
        if self.by_priority and self._gets % STARVATION_INTERVAL:
            key = max(self.ready, key=self.priorities.__getitem__)  # the first of equal ones
        self.ready.remove(key)
        self.dirty.discard(key)
        self.taken[key] = self.priorities.pop(key)
        self.processing[key] = self.now
        return key

    def done(self, key: str) -> None:
        self.taken.pop(key, None)
        if self.processing.pop(key, None) is not None and key in self.dirty:
            self.ready.append(key)

    def shut_down(self) -> None:
        self.closed = True
        self.delayed.clear()

    @property
    def busy(self) -> bool:
        return bool(self.ready or self.processing)

    def _add(self, key: str, priority: int) -> None:
        if self.closed:
            return
        self._raise(key, priority)
        if key in self.dirty:
            return
        if self.merged:
            self.delayed.pop(key, None)
        self.dirty.add(key)
        if key not in self.processing:
            self.ready.append(key)

    def _raise(self, key: str, priority: int) -> None:
        self.priorities[key] = max(priority, self.priorities.get(key, priority))


class QueueMachine(RuleBasedStateMachine):
    """Random calls by one thread; a second one drains."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue, self.model = self.make()
        self.drainer: Group | None = None

    def make(self) -> tuple[WorkQueue[str], Model]:
        return RateLimitingQueue(self.limiter(), clock=self.clock), Model(by_priority=False, merged=False)

    def limiter(self) -> ItemExponentialFailureRateLimiter[str]:
        return ItemExponentialFailureRateLimiter(BASE, LONGEST)

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.model.add(key, priority)

    @rule(key=KEYS, seconds=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0, 100.0]), priority=st.none() | PRIORITIES)
    def add_after(self, key: str, seconds: float, priority: int | None) -> None:
        self.queue.add_after(key, seconds, priority=priority)
        self.model.add_after(key, seconds, priority)

    @rule(key=KEYS, priority=st.none() | PRIORITIES)
    def add_rate_limited(self, key: str, priority: int | None) -> None:
        self.queue.add_rate_limited(key, priority=priority)
        self.model.add_rate_limited(key, priority)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.failures.pop(key, None)

    @rule()
    def get(self) -> None:
        self.count()  # else a get of the queue might wait for ever
        if self.model.ready:
            assert self.queue.get() == self.model.get()
        elif self.model.closed:
            try:
                self.queue.get()
            except ShutDown:
                return
            raise AssertionError("returned a key that is not there")

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        self.queue.done(key)
        self.model.done(key)

    @rule(seconds=st.sampled_from([0.25, 0.5, 1.0, 2.0, 30.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.step(seconds)
        self.model.now += seconds

    @rule()
    def count(self) -> None:
        self.model.promote()
        assert len(self.queue) == len(self.model.ready)

    @precondition(lambda self: self.model.now > 3)
    @rule()
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.model.shut_down()
        self._drained()

    @precondition(lambda self: self.model.now > 3 and self.drainer is None)
    @rule()
    def drain(self) -> None:
        self.drainer = Group()
        self.model.shut_down()
        self.drainer.start(lambda: self.queue.shut_down(drain=True), name="drainer")
        if self.model.busy:
            self.clock.wait_for_waiters()
        else:
            self._drained()

    def _drained(self) -> None:
        if self.drainer is not None:
            self.drainer.join(10)
            self.drainer = None

    @invariant()
    def they_are_alike(self) -> None:
        state, model = self.queue.state(), self.model
        assert {key for key, _ in state.queued} == model.dirty
        assert dict(state.processing) == {key: model.now - since for key, since in model.processing.items()}
        assert dict(state.waiting) == {key: max(due - model.now, 0.0) for key, (due, _) in model.delayed.items()}
        assert dict(state.retries) == {key: n for key, n in model.failures.items() if key in state.keys}
        assert state.shutting_down is model.closed

    @invariant()
    def memory_is_bounded_by_the_keys(self) -> None:
        assert len(self.queue._delayed._heap) <= 2 * len(self.model.delayed)
        assert self.queue._taken_priorities.keys() <= self.model.processing.keys()
        assert (self.queue._priorities or {}).keys() <= self.model.dirty | self.model.delayed.keys()

    @invariant()
    def a_drain_lasts_as_long_as_there_is_work(self) -> None:
        if self.drainer is not None and not self.model.busy:
            self._drained()
        elif self.drainer is not None:
            assert self.drainer.alive() == ["drainer"]

    def teardown(self) -> None:
        self.queue.shut_down()
        self._drained()


class MergingMachine(QueueMachine):
    """A key is delayed or dirty, and not both."""

    def make(self) -> tuple[WorkQueue[str], Model]:
        return WorkQueue(self.limiter(), clock=self.clock, merge_delays=True), Model(by_priority=False, merged=True)


class PriorityMachine(QueueMachine):
    """Priorities and merged delays."""

    def make(self) -> tuple[WorkQueue[str], Model]:
        return PriorityQueue(self.limiter(), clock=self.clock), Model(by_priority=True, merged=True)


TestQueue, TestMergingQueue, TestPriorityQueue = (
    QueueMachine.TestCase,
    MergingMachine.TestCase,
    PriorityMachine.TestCase,
)
for _case in (TestQueue, TestMergingQueue, TestPriorityQueue):
    _case.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
del _case
