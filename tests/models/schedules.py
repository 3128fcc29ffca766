"""Deterministic scheduler of threads, which finds and repeats interleavings that break something.

As in loom and shuttle, code under test gets `locks.threading` instead of Python's. Its threads are real, but only one
runs at a time, and at each operation on a lock, condition, event or thread the scheduler selects the next one. A run is
a list of such decisions; `explore` tries random lists, `exhaust` all lists with a limited number of preemptions. Time
passes only by a decision.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from random import Random
from typing import Protocol

import pytest

from clientgo.stop.lifecycle import Group

CLOCK = "time"
"""The name under which the passing of time takes its turns."""

MOST_STEPS = 20_000
"""Decisions after which a run counts as one that will not end."""

Ready = Callable[[], bool]


class Failed(AssertionError):
    """Failed run; the message contains the schedule for `replay`."""

    def __init__(self, what: str, schedule: Sequence[str]) -> None:
        super().__init__(f"{what}\nschedule: {written(schedule)}")
        self.what = what
        self.schedule = tuple(schedule)


class Abandoned(BaseException):
    """End of a thread whose run is over."""


class Strategy(Protocol):
    """Selection of the next thread."""

    def choose(self, options: Sequence[str], current: str) -> str:
        """Select one of at least two options; `current` ran last, and may not be among them."""


@dataclass(eq=False)
class Task:
    """One thread under the scheduler; `ready` returns whether it can run, None means it can."""

    name: str
    body: Callable[[], object]
    gate: threading.Lock = field(default_factory=threading.Lock)
    ready: Ready | None = None
    why: str = "not begun"
    deadline: float | None = None
    ended: bool = False
    error: BaseException | None = None


@dataclass(frozen=True)
class Decision:
    """Options, the choice, and whether the previous thread could have continued."""

    options: tuple[str, ...]
    chosen: str
    current: str

    def preempts(self, option: str) -> bool:
        """Return whether an option preempts a thread that could continue."""
        return self.current in self.options and option != self.current


class Scheduler:
    """Scheduler of one run; created by one thread."""

    def __init__(self, strategy: Strategy) -> None:
        self.now = 0.0
        self.patient = False
        """True if time passes only when no task can run, so that nothing is ever late."""
        self.current: Task | None = None
        self.decisions: list[Decision] = []
        self._strategy = strategy
        self._tasks: list[Task] = []
        self._last = ""
        self._steps = 0
        self._group = Group()
        self._over = threading.Lock()
        self._over.acquire()
        self.abandoned = False
        self._failure = ""

    @property
    def schedule(self) -> list[str]:
        """Decisions so far."""
        return [decision.chosen for decision in self.decisions]

    def spawn(self, body: Callable[[], object], name: str) -> Task:
        """Create a task that runs `body` when selected."""
        used = sum(task.name == name or task.name.startswith(f"{name}#") for task in self._tasks)
        task = Task(f"{name}#{used}" if used else name, body)
        if self.abandoned:
            task.ended = True
            return task
        task.gate.acquire()
        self._tasks.append(task)
        self._group.start(self._run, task, name=task.name)
        return task

    def run(self) -> None:
        """Run every task to its end.

        Raises:
            Failed: a task raised, deadlocked, or does not end.
        """
        self._next()
        self._over.acquire()
        self.current = None
        self.abandoned = True
        for task in self._tasks:
            if not task.ended:
                task.gate.release()
        self._group.join(10)
        if self._failure:
            cause = next((task.error for task in self._tasks if task.error is not None), None)
            raise Failed(self._failure, self.schedule) from cause

    def pause(self) -> None:
        """Allow a thread switch before an operation."""
        self.block(None, "", None)

    def block(self, ready: Ready | None, reason: str, deadline: float | None) -> None:
        """Block until `ready()` is true or the time has come."""
        me = self.current
        if me is None:
            assert ready is None or ready(), f"this wait cannot end outside of a run: {reason}"
            return
        if self.abandoned:  # unwinding: what would block can't, and what need not goes on
            if ready is None or ready():
                return
            raise Abandoned
        me.ready, me.why, me.deadline = ready, reason, deadline
        if self._next() is not me:
            me.gate.acquire()
            if self.abandoned:
                raise Abandoned
        me.ready, me.deadline = None, None

    def _run(self, task: Task) -> None:
        task.gate.acquire()
        try:
            if not self.abandoned:
                task.why = ""
                task.body()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001  # it is the run's failure
            if not self.abandoned:
                task.error = error
                self._fail(f"{task.name} raised {error!r}")
        task.ended = True
        if not self.abandoned:
            self._next()

    def _next(self) -> Task | None:
        """Select the next thread and resume it; afterwards the caller must not touch the scheduler."""
        me = self.current if self.current is not None and not self.current.ended else None
        chosen = self._chosen()
        if chosen is None:
            self.abandoned = True
            self._over.release()
        elif chosen is not me:
            self.current = chosen
            chosen.gate.release()
        return chosen

    def _chosen(self) -> Task | None:
        while not self._failure:
            able = {task.name: task for task in self._tasks if not task.ended and self._may_go_on(task)}
            waiting = [task for task in self._tasks if not task.ended and task.deadline is not None]
            due = min(
                (task.deadline for task in waiting if task.name not in able and task.deadline is not None), default=None
            )
            options = (*able,) if due is None or (able and self.patient) else (*able, CLOCK)
            if not options:
                stuck = [f"{task.name} waits for {task.why}" for task in self._tasks if not task.ended]
                if stuck:
                    self._fail(f"deadlock: {'; '.join(stuck)}")
                return None
            name = self._decide(options)
            if name != CLOCK:
                return able[name]
            assert due is not None
            self.now = due
        return None

    def _decide(self, options: tuple[str, ...]) -> str:
        self._steps += 1
        if self._steps > MOST_STEPS:
            self._fail(f"no end after {MOST_STEPS} steps")
            return next((name for name in options if name != CLOCK), CLOCK)
        chosen = options[0] if len(options) == 1 else self._strategy.choose(options, self._last)
        if len(options) > 1:
            self.decisions.append(Decision(options, chosen, self._last))
        self._last = chosen if chosen != CLOCK else self._last
        return chosen

    def _may_go_on(self, task: Task) -> bool:
        due = task.deadline is not None and task.deadline <= self.now
        return task.ready is None or due or task.ready()

    def _fail(self, what: str) -> None:
        self._failure = self._failure or what


class Steady:
    """Strategy that follows a list of decisions; then the current thread continues, and time passes when none can."""

    def __init__(self, schedule: Iterable[str] = ()) -> None:
        self._left = list(schedule)

    def choose(self, options: Sequence[str], current: str) -> str:
        """Select the next of the list, else `current`, else the first."""
        if self._left:
            expected = self._left.pop(0)
            assert expected in options, f"the schedule is of another program: {expected} is none of {options}"
            return expected
        return current if current in options else options[0]


class Chance:
    """Random strategy; depending on the seed it switches at every step, rarely, or starves a thread."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._stay = self._rng.choice((0.0, 0.3, 0.6, 0.9))
        self._starves = self._rng.choice((0.0, 0.02))
        self._starving, self._turns = "", 0

    def choose(self, options: Sequence[str], current: str) -> str:
        """Select a random option."""
        if self._turns <= 0 and self._rng.random() < self._starves:
            self._starving, self._turns = self._rng.choice(options), self._rng.choice((10, 100, 300))
        if self._turns > 0:
            self._turns -= 1
            options = [option for option in options if option != self._starving] or options
        if current in options and self._rng.random() < self._stay:
            return current
        return self._rng.choice(options)


Program = Callable[[Scheduler], Callable[[], object]]
"""Sets a run up, by spawning tasks, and gives what has to hold when it is over."""


def execute(program: Program, strategy: Strategy) -> Scheduler:
    """Run once; raise `Failed`."""
    scheduler = Scheduler(strategy)
    _Current.scheduler = scheduler
    try:
        holds = program(scheduler)
        scheduler.run()
        try:
            holds()
        except Exception as error:
            raise Failed(f"afterwards: {error!r}", scheduler.schedule) from error
    finally:
        _Current.scheduler = None
    return scheduler


def explore(program: Program, runs: int, *, seed: int = 0) -> int:
    """Run a number of random schedules; return how many were different. Raise `Failed` at the first failure."""
    return len({tuple(execute(program, Chance(seed * 1_000_003 + number)).schedule) for number in range(runs)})


def exhaust(program: Program, *, preemptions: int = 2, most: int = 2_000) -> int:
    """Run every schedule with limited preemptions, or the first `most`; return the number. Raise `Failed`."""
    pending: list[tuple[str, ...]] = [()]
    runs = 0
    while pending and runs < most:
        prefix = pending.pop()
        decisions = execute(program, Steady(prefix)).decisions
        runs += 1
        pending.extend(_branches(decisions, len(prefix), preemptions))
    return runs


def search(program: Program, by_chance: int, in_order: int) -> None:
    """Explore, then exhaust; raise `Failed` at the first failure."""
    explore(program, by_chance)
    exhaust(program, most=in_order)


def _branches(decisions: Sequence[Decision], fixed: int, preemptions: int) -> Iterator[tuple[str, ...]]:
    chosen = [decision.chosen for decision in decisions]
    spent = sum(decision.preempts(decision.chosen) for decision in decisions[:fixed])
    for at in range(fixed, len(decisions)):
        decision = decisions[at]
        for option in decision.options:
            if option != decision.chosen and spent + decision.preempts(option) <= preemptions:
                yield (*chosen[:at], option)
        spent += decision.preempts(decision.chosen)


def replay(program: Program, schedule: str) -> None:
    """Run a schedule printed by `Failed`; raise it again."""
    names: list[str] = []
    for turn in schedule.split():
        name, _, times = turn.partition("*")
        names += [name] * int(times or 1)
    execute(program, Steady(names))


def found_again(wrong: Program) -> Failed:
    """Search a program for its mistake, which its schedule must show again; return the failure."""
    with pytest.raises(Failed) as error:
        search(wrong, 150, 300)
    with pytest.raises(Failed) as again:
        replay(wrong, str(error.value).rpartition("schedule: ")[2])
    assert again.value.schedule == error.value.schedule
    assert again.value.what[:60] == error.value.what[:60]
    return error.value


def written(schedule: Iterable[str]) -> str:
    """Format a schedule for `replay`."""
    turns = ((name, len(list(turn))) for name, turn in groupby(schedule))
    return " ".join(f"{name}*{times}" if times > 1 else name for name, times in turns)


class _Current:
    scheduler: Scheduler | None = None


def scheduler() -> Scheduler:
    """Return the scheduler of the current run."""
    assert _Current.scheduler is not None, "locks of a schedule are made within a run"
    return _Current.scheduler
