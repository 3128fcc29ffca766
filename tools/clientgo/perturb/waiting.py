"""Waits of an operator in another process, whose time is real: learned, instead of fixed ones for each run.

A run is first hurried: it waits for as long as the learning run shows to be necessary, and uses an operator that runs
already. If something is wrong then, the plan is repeated from a fresh start, and a wrong state gets all the time that
the operator may need. Only this second verdict counts.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise

from clientgo.perturb.compare import Masks, normalized
from clientgo.perturb.record import ScenarioRun, TimelineEntry, Violation
from clientgo.perturb.state import ClusterState, ObjectRef, owner_uids
from clientgo.perturb.steps import ScenarioUser
from clientgo.perturb.world import STARTS, Perturbation, World

MAX_SETTLES = 30
"""Settle times that a wrong state may last before it counts: kopf, for one, repeats a failed handler after a minute."""

SHORTEST = 0.3
_FACTOR = 2.0
_START_WORTH_SHARING = 0.5
_MAX_FAILED_CLEARINGS = 2

FindingCause = tuple[str, str]
"""Oracle and first difference, without numbers."""


def cause_of(finding: Violation) -> FindingCause:
    """Return what findings of several plans have in common."""
    return finding.oracle, re.sub("[0-9]+", "#", finding.details[0] if finding.details else finding.text)


class Awaited:
    """States that the steps of a run lead to, if an operator gets the time for it."""

    def __init__(self, states: Sequence[ClusterState] = (), patience: float = 0.0) -> None:
        """Wait for each state for at most `patience` seconds."""
        self._states, self._patience = states, patience
        self.seconds: float | None = 0.0
        """Longest time until a wrong state became right; None if one did not."""

    def __repr__(self) -> str:
        return f"<Awaited {len(self._states)} states, {self.seconds} s>"

    def wait(self, world: World, number: int, masks: Masks) -> None:
        """Let time pass until the state of a step is there; a run with a wrong state goes on without waiting."""
        if number >= len(self._states) or self.seconds is None:
            return
        began, expected = world.time.now(), normalized(self._states[number], masks)
        while normalized(world.state, masks) != expected:
            if world.noise or world.time.now() - began >= self._patience:
                self.seconds = None
                return
            world.advance(SHORTEST)
        self.seconds = max(self.seconds, world.time.now() - began)


NOTHING = Awaited()


class Waiting:
    """Learned waits of one scenario, and the world that the next hurried run goes on with."""

    def __init__(self, settle: float) -> None:
        """Begin with the settle time of the scenario."""
        self._long = self._short = settle
        self.max_patience = MAX_SETTLES * settle
        """Most seconds that a wrong state may last."""
        self.patience = settle
        """Seconds that a wrong state may last, unless the operator cannot see the current one."""
        self.is_hurried = self.knows_retry = False
        self._start_seconds = 0.0
        self._confirmed: set[FindingCause] = set()
        self._idle: World | None = None
        self._failed_clearings = 0
        self._may_share = True

    def __repr__(self) -> str:
        return f"<Waiting {self.settle:g} s, at most {self.patience:g} s for a wrong state>"

    @property
    def settle(self) -> float:
        """Seconds without work after which the operator is quiet, in a step that others follow."""
        return self._short

    @property
    def last_settle(self) -> float:
        """Seconds without work after which the operator is quiet at the end of a run."""
        return self._short if self.is_hurried else self._long

    @property
    def time_to_heal(self) -> float:
        """Seconds after which a wrong state counts."""
        return self._short if self.is_hurried else self.patience

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Hurry the runs in the block."""
        self.is_hurried = True
        try:
            yield
        finally:
            self.is_hurried = False

    def learn(self, run: ScenarioRun) -> None:
        """Learn from a run how long the operator works, and what it does when it starts."""
        gap = max([0.0, *(gap for gap in _gaps(run.trace) if gap <= self._long)])  # longer ones are the scenario's
        self._short = min(self._long, max(SHORTEST, _FACTOR * gap))
        begin = next((entry.at for entry in run.trace if entry.lane == "step"), self._long)
        self._start_seconds = begin - self._long
        self._may_share = not any(write.step < 0 for write in run.writes)  # which have numbers

    def learn_retry(self, seconds: float | None) -> None:
        """Learn after what time failed writes were repeated; None if they were not, or after a very long one."""
        self.knows_retry = True
        self.patience = self.max_patience if seconds is None else min(self.max_patience, _FACTOR * seconds + self._long)

    def is_confirmed(self, findings: Sequence[Violation]) -> bool:
        """Return whether other plans had these findings, and have been repeated."""
        return all(cause_of(finding) in self._confirmed for finding in findings)

    def confirm(self, findings: Sequence[Violation]) -> None:
        """Remember the findings of a plan that was repeated."""
        self._confirmed |= {cause_of(finding) for finding in findings}

    def take(self) -> World | None:
        """Return the world of an operator that is at rest, in a cluster as at its start; None if there is none."""
        world, self._idle = (self._idle, None) if self.is_hurried else (None, self._idle)
        return world

    def give_back(self, world: World, masks: Masks, *, is_usable: bool) -> None:
        """Clear a world for the next run, or end it."""
        worth = self._start_seconds > _START_WORTH_SHARING or world.state.keys() == world.base.keys()
        may_clear = self._may_share and worth and self._failed_clearings < _MAX_FAILED_CLEARINGS
        if is_usable and self.is_hurried and may_clear and self._idle is None:
            if _clear(world, masks):
                self._idle = world
                return
            self._failed_clearings += 1
        world.end()

    def close(self) -> None:
        """End the operator that is at rest."""
        if self._idle is not None:
            self._idle.end()
            self._idle = None


def _gaps(trace: Sequence[TimelineEntry]) -> Iterator[float]:
    """Yield the times in which an operator that was not quiet yet did nothing, in seconds.

    What comes first after a start does not count: a process that starts is busy.
    """
    for before, after in pairwise(trace):
        if after.lane != "step" and before.text != STARTS:
            yield after.at - before.at


def _clear(world: World, masks: Masks) -> bool:
    """Delete what is not in the base state, the user's objects first; return whether it is the base state then."""
    world.perturbation = Perturbation()
    user, by_user = ScenarioUser(world), {change.ref for change in world.changes if change.actor == "user"}
    for refs in (by_user, world.state.keys()):
        extra = [ref for ref in sorted(world.state.keys() & refs) if ref not in world.base]
        for ref in extra:
            _delete(world, user, ref)
        if extra:
            world.drive()
    is_alone = len(world.operators) == 1 and not world.operators[0].ended and not world.operators[0].is_paused
    return is_alone and not world.noise and normalized(world.state, masks) == normalized(world.base, masks)


def _delete(world: World, user: ScenarioUser, ref: ObjectRef) -> None:
    obj = world.state.get(ref)
    if obj is not None and not owner_uids(obj):
        with suppress(AssertionError):  # gone, with its namespace
            user.delete(obj)
