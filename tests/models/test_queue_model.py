"""Rate-limiting queue compared with a model: same calls, same keys, same order."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue, ShutDown
from tests.models.budget import examples

KEYS = st.sampled_from("abcde")
BASE, LONGEST = 1.0, 60.0


class Model:
    """Model of a queue without locks, waits or heaps: a list, two sets, and times."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ready: list[str] = []
        self.dirty: set[str] = set()
        self.processing: dict[str, float] = {}
        self.delayed: dict[str, tuple[float, int]] = {}
        self.failures: dict[str, int] = {}
        self.closed = False
        self._number = 0

    def add(self, key: str) -> None:
        self.promote()
        self._add(key)

    def add_after(self, key: str, seconds: float) -> None:
        if self.closed:
            return
        self.promote()
        due = self.now + seconds
        if seconds <= 0:
            self._add(key)
        elif key not in self.delayed or due < self.delayed[key][0]:
            self._number += 1
            self.delayed[key] = (due, self._number)

    def add_rate_limited(self, key: str) -> None:
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        self.add_after(key, min(BASE * 2**failures, LONGEST))

    def promote(self) -> None:
        """Make due keys ready, in the order of their times."""
        for key, (due, _) in sorted(self.delayed.items(), key=lambda item: item[1]):
            if due <= self.now:
                del self.delayed[key]
                self._add(key)

    def get(self) -> str:
        key = self.ready.pop(0)
        self.dirty.discard(key)
        self.processing[key] = self.now
        return key

    def done(self, key: str) -> None:
        if self.processing.pop(key, None) is not None and key in self.dirty:
            self.ready.append(key)

    def shut_down(self) -> None:
        self.closed = True
        self.delayed.clear()

    @property
    def busy(self) -> bool:
        return bool(self.ready or self.processing)

    def _add(self, key: str) -> None:
        if self.closed or key in self.dirty:
            return
        self.dirty.add(key)
        if key not in self.processing:
            self.ready.append(key)


class QueueMachine(RuleBasedStateMachine):
    """Random calls by one thread; a second one drains."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue: RateLimitingQueue[str] = RateLimitingQueue(
            ItemExponentialFailureRateLimiter(BASE, LONGEST), clock=self.clock
        )
        self.model = Model()
        self.drainer: Group | None = None

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key)
        self.model.add(key)

    @rule(key=KEYS, seconds=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0, 100.0]))
    def add_after(self, key: str, seconds: float) -> None:
        self.queue.add_after(key, seconds)
        self.model.add_after(key, seconds)

    @rule(key=KEYS)
    def add_rate_limited(self, key: str) -> None:
        self.queue.add_rate_limited(key)
        self.model.add_rate_limited(key)

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
            raise AssertionError("handed out a key that is not there")

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
    def a_drain_lasts_as_long_as_there_is_work(self) -> None:
        if self.drainer is not None and not self.model.busy:
            self._drained()
        elif self.drainer is not None:
            assert self.drainer.alive() == ["drainer"]

    def teardown(self) -> None:
        self.queue.shut_down()
        self._drained()


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
