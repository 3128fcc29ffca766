"""Confirmation of findings: a state that is right a little later, or without a history, is dismissed."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

from clientgo.perturb.compare import normalized
from clientgo.perturb.differences import state_differences
from clientgo.perturb.kinds.endings import deletions
from clientgo.perturb.kinds.outside import outside_differences
from clientgo.perturb.kinds.rehearsal import POLL_SECONDS, Moment, RunSteps, comes_with_time, ended_early
from clientgo.perturb.kinds.remains import is_undone, undone_paths
from clientgo.perturb.kinds.revisions import is_revision
from clientgo.perturb.kinds.userobjects import afresh, is_timed, user_objects
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep, UserInputs, advance


@dataclass(frozen=True)
class Confirmation:
    """Runs by which the findings of a plan are confirmed.

    `play` runs steps without a perturbation, `repeat` with that of the plan. `memo` has runs that several plans
    compare with. A run that `has_waited`, in real time, has had the time for another look of the operator already.
    """

    steps: Sequence[ScenarioStep]
    settle: float
    play: RunSteps
    repeat: Callable[[Sequence[ScenarioStep]], ScenarioRun]
    memo: dict[str, ScenarioRun]
    has_waited: bool = False

    def holds(self, violation: Violation, judged: Judged) -> bool:
        """Return whether a finding is still there in the further runs."""
        if violation.oracle == "deleted" and self._is_due(judged):
            return False
        if violation.step is None:
            return True
        is_unseen = judged.is_blind and (
            self._is_as_created(violation, judged)
            or self._is_as_unseen(violation, judged)
            or self._is_as_late(violation, judged)
        )
        return not is_unseen and (self.has_waited or not self._heals(violation, judged))

    def _heals(self, violation: Violation, judged: Judged) -> bool:
        """Return whether a state is right once an operator that polls, or waits for a time, has looked again."""
        check = ORACLES[violation.oracle].check
        if not any(check(replace(judged, is_prompt=False))):
            return False  # an old time, which later writes hide
        seconds = POLL_SECONDS if judged.is_blind or violation.oracle == "left-behind" else self.settle
        steps = [*self.steps[: (violation.step or 0) + 1], advance(seconds)]
        run, reference = self.repeat(steps), self.play(steps)
        if len(run.states) < len(steps) or len(reference.states) < len(steps):
            return False
        if violation.oracle == "final-state" and self._comes_with_time(violation, judged, reference):
            return True
        for each in (run, reference):
            each.states, each.outside, each.blind = each.states[-1:], each.outside[-1:], set()
        return not any(check(replace(judged, run=run, reference=reference)))

    def _comes_with_time(self, violation: Violation, judged: Judged, later: ScenarioRun) -> bool:
        """Return whether what differs comes in the reference, too, as time passes: the run has taken longer."""
        number = violation.step or 0
        expected, actual = (normalized(run.states[number], judged.masks) for run in (judged.reference, judged.run))
        return all(
            comes_with_time(each, Moment(later, -1)) and not str(each.actual).isdigit()
            for each in state_differences(expected, actual)
        )

    def _is_due(self, judged: Judged) -> bool:
        """Return whether the operator deletes by the clock what the reference would delete, too, a little later."""
        later = self._remembered("later", [*self.steps, advance(self.settle)])
        end = len(self.steps)
        due = frozenset(change.ref for change in later.changes if change.kind == "DELETED" and change.step == end)
        return bool(due) and not any(ORACLES["deleted"].check(replace(judged, due=due)))

    def _is_as_created(self, violation: Violation, judged: Judged) -> bool:
        """Return whether the state is the one that the user's objects lead to from nothing.

        An operator that did not see an earlier state has not done what only that state asked for, such as to run a Job.
        Outside the cluster this counts for objects that are gone, and for work that is not undone: what is left of a
        present one may be a leftover.
        """
        number = violation.step or 0
        if is_timed(judged.reference):
            return False
        created = self._remembered(f"created {number}", afresh(judged.reference, number))
        if ended_early(created) or not created.states:
            return False
        before, fresh, after = Moment(judged.reference, number), Moment(created, -1), Moment(judged.run, number)
        if violation.oracle == "outside":
            present = user_objects(judged.reference, number)
            is_work = _has_lost_objects(after, present) or not self._is_undone(before, after, judged)
            return is_work and not outside_differences(fresh, after, judged.masks)
        return _agree(before, fresh, after, judged)

    def _is_as_unseen(self, violation: Violation, judged: Judged) -> bool:
        """Return whether the state is the one without the changes that the operator did not see, which are undone."""
        number = violation.step or 0
        steps = [step for index, step in enumerate(self.steps[: number + 1]) if index not in judged.run.blind]
        if len(steps) > number:
            return False
        run = self._remembered(f"seen {sorted(judged.run.blind)} {number}", steps)
        return _leads_to(run, violation, judged)

    def _is_as_late(self, violation: Violation, judged: Judged) -> bool:
        """Return whether the state is the one after the user has created late what the operator has seen late."""
        number, late = violation.step or 0, _seen_late(judged.run)
        steps, inputs = self.steps[: number + 1], UserInputs(late=late)
        return bool(late) and _leads_to(
            self._remembered(f"late {sorted(late)} {number}", steps, inputs), violation, judged
        )

    def _is_undone(self, before: Moment, after: Moment, judged: Judged) -> bool:
        """Return whether two states outside differ in records that the operator removes when everything is deleted."""
        ends = deletions(judged.reference, user_objects(judged.reference))
        ended = self._remembered("ended outside", [*self.steps, *ends])
        undone = undone_paths(judged.reference, ended)
        return any(is_undone(each, undone) for each in outside_differences(before, after, judged.masks))

    def _remembered(self, name: str, steps: Sequence[ScenarioStep], inputs: UserInputs = AS_WRITTEN) -> ScenarioRun:
        if name not in self.memo:
            self.memo[name] = self.play(steps, inputs)
        return self.memo[name]


def _leads_to(run: ScenarioRun, violation: Violation, judged: Judged) -> bool:
    """Return whether a run, at whose end the user has the same objects, leads to the state that is judged."""
    number = violation.step or 0
    contents = [
        {ref: each.content for ref, each in user_objects(*arguments).items()}
        for arguments in ((run,), (judged.reference, number))
    ]
    if ended_early(run) or not run.states or contents[0] != contents[1]:
        return False
    before, other, after = Moment(judged.reference, number), Moment(run, -1), Moment(judged.run, number)
    if violation.oracle == "outside":
        return not outside_differences(other, after, judged.masks)
    return _agree(before, other, after, judged)


def _seen_late(run: ScenarioRun) -> frozenset[ObjectRef]:
    """Return the objects of the user that the operator has first seen in a later step than that of their creation."""
    seen = {frame.ref: step for step, frame in reversed(run.frames)}
    return frozenset(ref for ref, step in run.created_by_user.items() if 0 <= step < seen.get(ref, step))


def _agree(before: Moment, other: Moment, after: Moment, judged: Judged) -> bool:
    """Return whether the objects that differ from the reference are as in another run."""
    expected, alike, actual = (normalized(moment.state, judged.masks) for moment in (before, other, after))
    refs = {each.ref for each in state_differences(expected, actual)}
    return not refs & {each.ref for each in state_differences(alike, actual) if not is_revision(each)}


def _has_lost_objects(moment: Moment, present: Container[ObjectRef]) -> bool:
    """Return whether the user has deleted an object before the end of a step."""
    created = (change for change in moment.run.changes if change.actor == "user" and change.kind == "ADDED")
    return any(change.ref not in present for change in created if change.step <= moment.number)
