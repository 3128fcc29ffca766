"""Priority queue against a model: no key is lost or duplicated, the highest priority comes first."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.manager.priority import NORMAL, STARVATION_INTERVAL, PriorityQueue
from clientgo.testing.clock import FakeClock
from tests.models.budget import examples

KEYS = st.sampled_from("abcd")
PRIORITIES = st.sampled_from([-100, 0, 5])


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue: PriorityQueue[str] = PriorityQueue(clock=self.clock)
        self.wishes: dict[str, int] = {}  # the highest since the key was handed out last
        self.dirty: set[str] = set()
        self.processing: set[str] = set()
        self.delayed: dict[str, float] = {}
        self.handed_out = 0

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self._wish(key, priority)
        self.dirty.add(key)

    @rule(key=KEYS, priority=PRIORITIES, delay=st.integers(1, 5))
    def add_later(self, key: str, priority: int, delay: int) -> None:
        self.queue.add_after(key, delay, priority=priority)
        self._wish(key, priority)
        at = self.clock.now() + delay
        self.delayed[key] = min(self.delayed.get(key, at), at)

    @rule(seconds=st.integers(1, 5))
    def wait(self, seconds: int) -> None:
        self.clock.step(seconds)
        for key in [key for key, at in self.delayed.items() if at <= self.clock.now()]:
            del self.delayed[key]
            self.dirty.add(key)
            self._becomes_ready(key)

    @precondition(lambda self: self.dirty - self.processing)
    @rule()
    def get(self) -> None:
        key = self.queue.get()
        ready = self.dirty - self.processing
        assert key in ready
        self.handed_out += 1
        if self.handed_out % STARVATION_INTERVAL:
            self.is_most_urgent(key, ready)
        self.wishes.pop(key, None)
        self.dirty.discard(key)
        self.processing.add(key)

    def is_most_urgent(self, key: str, ready: set[str]) -> None:
        assert self.wishes[key] == max(self.wishes[one] for one in ready)

    @precondition(lambda self: self.processing)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.processing)))
        self.queue.done(key)
        self.processing.discard(key)
        self._becomes_ready(key)

    @invariant()
    def as_many_are_ready_as_should_be(self) -> None:
        assert len(self.queue) == len(self.dirty - self.processing)

    def _becomes_ready(self, key: str) -> None:
        # One whose wish was used up when it was handed out before is a normal one from when it is ready.
        if key in self.dirty and key not in self.processing:
            self.wishes.setdefault(key, NORMAL)

    def _wish(self, key: str, priority: int) -> None:
        self.wishes[key] = max(self.wishes.get(key, priority), priority)


TestPriorityQueue = Model.TestCase
TestPriorityQueue.settings = settings(max_examples=examples(50), stateful_step_count=30, deadline=None)
