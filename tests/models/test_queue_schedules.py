"""Work queues under all schedules with up to two preemptions, and random ones."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.models.copies import Copies, Edit
from tests.models.locks import Clock
from tests.models.schedules import Program, Scheduler, execute, exhaust, explore, found_again

QUEUE = ["clientgo.workqueue.fairlock", "clientgo.workqueue.queue", "clientgo.workqueue.priorityqueue"]

# Each attempt would be one more decision, without a new state.
NO_ATTEMPTS = ("_ATTEMPTS = 100", "_ATTEMPTS = 0")

RIGHT = Copies(QUEUE, {"fairlock": NO_ATTEMPTS})


class Bench:
    """Queue, consumers, and the keys they got; no key may be in process twice."""

    def __init__(self, code: Copies, scheduler: Scheduler, *, by_priority: bool = False) -> None:
        self.shut_down: type[Exception] = code.queue.ShutDown
        self.queue: Any = (code.priorityqueue.PriorityQueue if by_priority else code.queue.WorkQueue)(clock=Clock())
        self.scheduler = scheduler
        self.out: set[str] = set()
        self.seen: Counter[str] = Counter()
        self.times: dict[str, float] = {}

    def take(self, *, again: Sequence[str] = ()) -> bool:
        """Take one key, add others if it is the first, mark it done; return False after shutdown."""
        try:
            key = self.queue.get()
        except self.shut_down:
            return False
        assert key not in self.out, f"{key} is in two workers"
        self.out.add(key)
        self.seen[key] += 1
        self.times.setdefault(key, self.scheduler.now)
        for other in again if self.seen.total() == 1 else ():
            self.queue.add(other)
        self.out.remove(key)
        self.queue.done(key)
        return True

    def work(self) -> None:
        while self.take():
            pass

    def consumers(self, count: int) -> None:
        for number in range(count):
            self.scheduler.spawn(self.work, f"consumer{number}")


def two_producers_two_consumers(code: Copies) -> Program:
    """Add two keys twice each, then shut down; every key must be processed."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        bench.consumers(2)
        remaining = [2]

        def produce(*keys: str) -> None:
            for key in keys:
                bench.queue.add(key)
            remaining[0] -= 1
            if not remaining[0]:
                bench.queue.shut_down()

        scheduler.spawn(lambda: produce("a", "b"), "producer0")
        scheduler.spawn(lambda: produce("b"), "producer1")

        def holds() -> None:
            assert set(bench.seen) == {"a", "b"}, bench.seen
            assert bench.seen["a"] == 1
            assert 1 <= bench.seen["b"] <= 2

        return holds

    return program


def added_while_processed(code: Copies) -> Program:
    """A key added while it is processed is returned again, after it is done."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        bench.queue.add("a")
        for number in range(3):
            scheduler.spawn(lambda: bench.take(again=("a", "a", "b")), f"consumer{number}")

        def holds() -> None:
            assert bench.seen == {"a": 2, "b": 1}

        return holds

    return program


def draining(code: Copies) -> Program:
    """`shut_down(drain=True)` returns when all keys are done, not before."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        for key in ("a", "b"):
            bench.queue.add(key)
        drained: list[bool] = []

        def drain() -> None:
            bench.queue.shut_down(drain=True)
            drained.append(not bench.out and len(bench.queue) == 0)

        bench.consumers(2)
        scheduler.spawn(drain, "drainer")

        def holds() -> None:
            assert drained == [True]
            assert bench.seen == {"a": 1, "b": 1}

        return holds

    return program


def delayed(code: Copies) -> Program:
    """Waiting consumers are the timer: two delayed keys are returned when due."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = True
        bench = Bench(code, scheduler)
        for number in range(2):
            scheduler.spawn(bench.take, f"consumer{number}")
        scheduler.spawn(lambda: bench.queue.add_after("late", 10.0), "producer0")
        scheduler.spawn(lambda: bench.queue.add_after("soon", 1.0), "producer1")

        def holds() -> None:
            assert bench.seen == {"late": 1, "soon": 1}
            assert bench.times == {"late": 10.0, "soon": 1.0}

        return holds

    return program


def delayed_and_ready(code: Copies) -> Program:
    """A timekeeper that leaves with a key passes its role to another consumer."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        for number in range(2):
            scheduler.spawn(bench.take, f"consumer{number}")

        def produce() -> None:
            bench.queue.add_after("later", 5.0)
            bench.queue.add("now")

        scheduler.spawn(produce, "producer")

        def holds() -> None:
            assert bench.seen == {"now": 1, "later": 1}
            assert bench.times["later"] >= 5.0

        return holds

    return program


def delayed_and_shut_down(code: Copies) -> Program:
    """Shutdown drops keys that are not due, and wakes all consumers."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler)
        bench.consumers(2)

        def produce() -> None:
            bench.queue.add_after("a", 5.0)
            bench.queue.add("b")

        scheduler.spawn(produce, "producer")
        scheduler.spawn(lambda: bench.queue.shut_down(), "closer")

        def holds() -> None:
            assert bench.seen["b"] <= 1
            assert len(bench.queue) == 0

        return holds

    return program


def priority_while_processed(code: Copies) -> Program:
    """A key that is requeued while it is processed keeps the priority with which it was taken."""

    def program(scheduler: Scheduler) -> Callable[[], object]:
        bench = Bench(code, scheduler, by_priority=True)
        bench.queue.add("a", priority=-7)
        bench.queue.get()
        expected = []

        def requeue() -> None:
            bench.queue.add_after("a", 0.0)
            expected.append(-7 if bench.queue.state().processing else 0)

        scheduler.spawn(requeue, "producer")
        scheduler.spawn(lambda: bench.queue.done("a"), "consumer")
        for number in range(2):
            scheduler.spawn(lambda: [len(bench.queue) for _ in range(3)], f"observer{number}")

        def holds() -> None:
            bench.queue.get()
            assert bench.queue._taken_priorities["a"] in (-7, *expected)

        return holds

    return program


PROGRAMS = [
    two_producers_two_consumers, added_while_processed, draining, delayed, delayed_and_ready, delayed_and_shut_down,
    priority_while_processed,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_holds_under_schedules_with_up_to_two_preemptions(program: Callable[[Copies], Program]) -> None:
    assert exhaust(program(RIGHT), most=400) > 50


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_holds_under_schedules_by_chance(program: Callable[[Copies], Program]) -> None:
    assert explore(program(RIGHT), 250) > 100


PUSH = "            earlier = self._delayed.push(item, due)\n"

MUTANTS: dict[str, tuple[Callable[[Copies], Program], str, Edit]] = {
    "a notify removed": (
        added_while_processed,
        "queue",
        ("            self._ready.push(item)\n            if self._blocked_getters:",
         "            self._ready.push(item)\n            if False:"),
    ),
    "an if for a while": (
        two_producers_two_consumers,
        "queue",
        ("            while not self._ready:\n                if self._shutting_down",
         "            if not self._ready:\n                if self._shutting_down"),
    ),
    "shut_down wakes one": (
        two_producers_two_consumers,
        "queue",
        ("            self._wake.notify_all()\n            self._idle",
         "            self._wake.notify()\n            self._idle"),
    ),
    "done forgets what was added": (
        added_while_processed,
        "queue",
        ("            if item in self._dirty:\n                self._ready.push",
         "            if False:\n                self._ready.push"),
    ),
    "what is processed is handed out": (
        added_while_processed,
        "queue",
        ("        if not processing:\n            self._ready.push", "        if True:\n            self._ready.push"),
    ),
    "done without a word to the drainer": (
        draining,
        "queue",
        ("                self._idle.notify_all()\n", "                pass\n"),
    ),
    "a drain that does not look": (
        draining,
        "queue",
        ("            while self._draining and self._busy():", "            while False:"),
    ),
    "an earlier key does not wake the timekeeper": (
        delayed,
        "queue",
        (f"{PUSH}            if self._blocked_getters and self._delayed.earliest < self._watched:",
         f"{PUSH}            if self._blocked_getters and self._watched == math.inf:"),
    ),
    "the timekeeper leaves without a word": (
        delayed_and_ready,
        "queue",
        (
            (
                "            if self._blocked_getters and self._delayed.earliest < self._watched:\n"
                "                self._wake.notify()\n"
                "\n"
                "    def _wait_for"
            ),
            "            pass\n\n    def _wait_for",
        ),
    ),
    "the watch outlives the timekeeper": (
        delayed_and_ready,
        "queue",
        ("                self._watched = math.inf\n\n    def _wait(", "                pass\n\n    def _wait("),
    ),
    "a lock left out": (
        two_producers_two_consumers,
        "queue",
        (
            "                self._wait_until_ready()\n            item = self._ready.pop()",
            (
                "                self._wait_until_ready()\n"
                "            self._lock.release()\n"
                "            acquire_fairly(self._lock)\n"
                "            item = self._ready.pop()"
            ),
        ),
    ),
    "the priority is forgotten before the key is done": (
        priority_while_processed,
        "queue",
        (('        A key that is not being processed is ignored.\n        """\n'),
         ('        """\n        with self._lock:\n            self._taken_priorities.pop(item, None)\n')),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mistake_is_found_and_found_again_by_its_schedule(name: str) -> None:
    program, module, edit = MUTANTS[name]
    failure = found_again(program(Copies(QUEUE, {"fairlock": NO_ATTEMPTS, module: edit})))
    # The schedule that breaks the one is just another for the other, as far as both go the same way.
    execute(program(RIGHT), _Leading(failure.schedule))


class _Leading:
    """Strategy that follows a schedule of another program as far as possible."""

    def __init__(self, schedule: tuple[str, ...]) -> None:
        self._left = list(schedule)

    def choose(self, options: Sequence[str], current: str) -> str:
        expected = self._left.pop(0) if self._left else current
        return expected if expected in options else options[0]
