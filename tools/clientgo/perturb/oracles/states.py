"""Oracles of states: after each step, a run and the reference have the same."""

import operator
from collections.abc import Iterator, Mapping
from itertools import chain, islice, pairwise
from typing import Any

from clientgo.perturb.compare import normalized
from clientgo.perturb.differences import (
    StateDifference,
    differs_or_is_older,
    is_absent,
    state_differences,
    text_of,
    value_at,
)
from clientgo.perturb.kinds.derived import HISTORY, by_workload, is_default
from clientgo.perturb.kinds.order import counts_attempts, is_count, is_logged, is_order_of_service
from clientgo.perturb.kinds.outside import outside_differences
from clientgo.perturb.kinds.rehearsal import MAX_LINES, Moment, consequences_last, without_history
from clientgo.perturb.kinds.rest import changing, chosen_anew
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import (
    ObjectRef,
    was_collected,
)


def final_state(judged: Judged) -> Iterator[Violation]:
    """Yield the first difference from the reference after a step."""
    yield from islice(chain(_differing(judged), _chosen_once(judged)), 1)


def _differing(judged: Judged) -> Iterator[Violation]:
    run, reference = judged.run, judged.reference
    differs, masked = (differs_or_is_older, judged.masks.paths()) if judged.is_prompt else (operator.ne, {})
    for number, (expected, actual) in enumerate(zip(reference.states, run.states, strict=False)):
        if number in run.blind:
            continue
        pair = normalized(expected, judged.masks), normalized(actual, judged.masks)
        differing = [*state_differences(*pair, differs, masked)]
        if any(is_default(each, reference, run) for each in differing):  # other pods follow from it
            pair = by_workload(without_history(pair[0])), by_workload(without_history(pair[1]))
            differing = [
                each for each in state_differences(*pair, differs, masked) if not is_default(each, reference, run)
            ]
        differing = [
            each
            for each in differing
            if not counts_attempts(each)
            and not (
                judged.is_blind
                and (
                    _is_unseen(each, *pair)
                    or (each.is_missing and was_collected(each.ref, run.changes))
                    or (each.ref.resource in judged.lasting and _was_so(each, reference, number))
                )
            )
        ]
        lines = (
            []
            if is_order_of_service(differing, run, reference, number)
            else [str(difference) for difference in consequences_last(differing, run, reference)]
        )
        if lines:
            text = f"after step {number + 1} ({run.steps[number]}) the state differs: {lines[0].strip()}"
            yield Violation("final-state", text, tuple(lines[:MAX_LINES]), number)
            return


def _chosen_once(judged: Judged) -> Iterator[Violation]:
    """Yield a random value that is another one after a step, and that objects keep in the reference."""
    usual = changing(judged.reference.states, judged.masks)
    for number, (before, after) in enumerate(pairwise(judged.run.states), 2):
        for ref, path, *_ in chosen_anew(before, after, judged.masks):
            is_same = ref in before and ref in after and before[ref]["metadata"]["uid"] == after[ref]["metadata"]["uid"]
            if is_same and (ref, path) not in usual:
                text = f"in step {number} ({judged.run.steps[number - 1]}) a random value is replaced, which the "
                yield Violation("final-state", f"{text}reference keeps: {ref} {'.'.join(path)}")
                return


def _was_so(difference: StateDifference, reference: ScenarioRun, number: int) -> bool:
    """Return whether the reference's object had this value before a step, as one that the operator leaves behind has.

    One that is blind may leave it before it has seen the last change.
    """
    ref, path, _, actual = difference
    before = (change.new for change in reference.changes if change.ref == ref and change.step < number)
    return any(value_at(obj, path) == (None if is_absent(actual) else actual) for obj in before if obj is not None)


def _is_unseen(difference: StateDifference, *states: Mapping[ObjectRef, Any]) -> bool:
    """Return whether a difference tells only which states a blind operator has seen."""
    is_history = difference.ref.resource in HISTORY
    return is_history or is_count(difference) or is_logged(difference, *states, is_blind=True)


def outside(judged: Judged) -> Iterator[Violation]:
    """Yield the first difference of the systems outside the cluster after a step."""
    run, reference = judged.run, judged.reference
    for number in range(min(len(reference.outside), len(run.outside))):
        moments = Moment(reference, number), Moment(run, number)
        if number not in run.blind and (diff := outside_differences(*moments, judged.masks)):
            lines = tuple(f"  {'.'.join(path)}: - {text_of(before)} + {text_of(after)}" for path, before, after in diff)
            text = f"after step {number + 1} ({run.steps[number]}) the state outside the cluster differs"
            yield Violation("outside", f"{text}: {lines[0].strip()}", lines[:MAX_LINES], number)
            return
