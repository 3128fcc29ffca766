"""Plans at rest: a restart changes nothing then, and pods may take a while until the operator is at rest."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import Any

from clientgo.meta.conditions import conditions_of
from clientgo.perturb.compare import Masks, normalized
from clientgo.perturb.differences import MaskedValue, StateDifference, state_differences, time_of
from clientgo.perturb.kinds.faults import Down
from clientgo.perturb.kinds.order import is_record
from clientgo.perturb.kinds.refusals import READY, claims_ready
from clientgo.perturb.kinds.rehearsal import Moment, Rehearsal, Verdict, ended_early, not_applicable
from clientgo.perturb.kinds.remains import compare_outside
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ClusterState, Object, ObjectChange, ObjectRef
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep
from clientgo.perturb.world import Perturbation

SLOWNESS = 1 / 6
"""Part of the settle time that a pod needs: 10 s of 60."""


def derive_restarts(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: the step after which the operator restarts."""
    for number in range(1, len(run.states) + 1):
        yield (str(number),)


def judge_restart(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Restart the operator at rest: it must find everything done, or has missed a change that a step has made."""
    [number] = arguments
    steps = [*rehearsal.steps[: int(number)], ScenarioStep("restart the operator", lambda _: None)]

    def play(*more: ScenarioStep, restarts: bool = True) -> ScenarioRun:
        return rehearsal.run([*steps, *more], AS_WRITTEN, Down(str(len(steps))) if restarts else None)

    run, expected = play(), play(restarts=False)
    if ended_early(run) or ended_early(expected):
        return not_applicable(run)
    again = rehearsal.repeated(partial(play, restarts=False), play)
    text = f"after a restart at rest after step {number} the state differs"
    moments = Moment(expected, -1), Moment(run, -1)
    differing = rehearsal.compare("final-state", text, *moments, again, counts=True)
    replaced = _chosen_anew(run, expected, rehearsal)
    return run, [*differing, *replaced, *compare_outside(text, *moments, again, rehearsal)]


def _chosen_anew(run: ScenarioRun, expected: ScenarioRun, rehearsal: Rehearsal) -> Iterator[Violation]:
    """Yield a random value, such as a password, that is another one after the last step, and by the restart."""
    masks = rehearsal.masks
    usual = changing(rehearsal.reference.states, masks) | changing(expected.states, masks)
    replaced = (each for each in chosen_anew(run.states[-2], run.states[-1], masks) if each[:2] not in usual)
    for each in islice(replaced, 1):
        yield Violation("final-state", f"a restart at rest changes a random value: {each.ref} {'.'.join(each.path)}")


def chosen_anew(before: ClusterState, after: ClusterState, masks: Masks) -> Iterator[StateDifference]:
    """Yield the random values that are other ones in a later state of a run; records may be."""
    states = normalized(before, masks), normalized(after, masks)
    for each in state_differences(*states, _is_chosen_anew, masks.paths()):
        if each.path and not is_record(each.path):
            yield each


def changing(states: Iterable[ClusterState], masks: Masks) -> set[tuple[ObjectRef, tuple[str, ...]]]:
    """Return the fields of a run whose random values change from step to step, such as those that follow the clock."""
    return {(each.ref, each.path) for pair in pairwise(states) for each in chosen_anew(*pair, masks)}


def _is_chosen_anew(before: Any, after: Any) -> bool:
    are_masked = isinstance(before, MaskedValue) and isinstance(after, MaskedValue)
    return (
        are_masked and before.value not in (None, "") and before.value != after.value and time_of(before.value) is None
    )


class SlowPods(Perturbation):
    """Pods become ready, end, and are gone, only after a while."""

    slowness = SLOWNESS


def derive_slow_pods(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield no arguments, if there are pods that the server has created."""
    if any(change.ref.resource == "pods" and change.actor == "server" for change in run.changes):
        yield ()


def judge_slow_pods(_: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Let pods become ready late: the state at rest is the same, and what is claimed before is not taken back."""

    def play(*more: ScenarioStep, is_slow: bool = True) -> ScenarioRun:
        return rehearsal.run([*rehearsal.steps, *more], AS_WRITTEN, SlowPods() if is_slow else None)

    run = play()
    if ended_early(run):
        return not_applicable(run)
    again = rehearsal.repeated(partial(play, is_slow=False), play)
    moments = Moment(rehearsal.reference, -1), Moment(run, -1)
    text = "with pods that become ready late the state differs"
    return run, [*_withdrawn(run), *rehearsal.compare("final-state", text, *moments, again, counts=True)]


def _withdrawn(run: ScenarioRun) -> Iterator[Violation]:
    """Yield claims to be ready that the operator takes back, although nothing else has changed meanwhile."""
    claims: dict[ObjectRef, ObjectChange] = {}
    for change in run.changes:
        before, after = change.old or {}, change.new
        if change.actor in ("user", "server"):
            claims.clear()  # it may have been true until then, such as before a pod is replaced
        elif change.actor == "operator" and after is not None and before.get("status") != after.get("status"):
            if claims_ready(after, strict=True) or (before and claims_ready(after) and not claims_ready(before)):
                claims.setdefault(change.ref, change)
            elif change.ref in claims and _is_denied(after):
                text = f"{change.ref} claims to be ready at revision {claims[change.ref].revision}, before its pods are"
                yield Violation("status", f"{text}, and takes it back at revision {change.revision}")
                return


def _is_denied(obj: Object) -> bool:
    return any(each.get("type") in READY and each.get("status") != "True" for each in conditions_of(obj))
