"""Comparison of what variations leave outside of the cluster, where records are undone or last."""

from collections.abc import Collection, Iterator

from clientgo.perturb.differences import FieldPath, differences, is_absent, text_of
from clientgo.perturb.kinds.endings import deletions
from clientgo.perturb.kinds.outside import OutsideDifference, outside_differences
from clientgo.perturb.kinds.rehearsal import Again, Moment, Rehearsal, ended_early
from clientgo.perturb.kinds.userobjects import user_objects
from clientgo.perturb.record import ScenarioRun, Violation


def compare_outside(
    text: str, expected: Moment, actual: Moment, again: Again, rehearsal: Rehearsal
) -> Iterator[Violation]:
    """Yield a violation if two states outside differ, also when `again` plays them, where the operator undoes its work.

    Other records last, such as bills, runs and logs: the operator never removes one.
    """
    if not _have_outside(expected, actual) or not (first := outside_differences(expected, actual, rehearsal.masks)):
        return
    undone = _undone(rehearsal)
    first = [each for each in first if is_undone(each, undone)]
    if not first or (second := again()) is None or not _have_outside(*second):
        return
    later = outside_differences(*second, rehearsal.masks)
    lines = tuple(_line(each) for each in first if each in later)
    if lines:
        yield Violation("outside", f"{text} outside the cluster: {lines[0]}", lines)


def _have_outside(*moments: Moment) -> bool:
    return all(moment.run.outside for moment in moments)


def _undone(rehearsal: Rehearsal) -> set[FieldPath]:
    """Return the paths outside below which the operator removes records, at the latest when everything is deleted."""
    reference = rehearsal.reference
    steps = [*rehearsal.steps, *deletions(reference, user_objects(reference))]
    ended = rehearsal.remembered(f"ended {len(steps)}", lambda: rehearsal.run(steps))
    return undone_paths(reference) if ended_early(ended) else undone_paths(reference, ended)


def undone_paths(*runs: ScenarioRun) -> set[FieldPath]:
    """Return the paths outside below which the operator has removed a record in one of the runs."""
    return {path for run in runs for path in _removals(run)}


def is_undone(difference: OutsideDifference, undone: Collection[FieldPath]) -> bool:
    """Return whether a difference outside is in a record that the operator undoes."""
    return any(difference[0][: len(path)] == path for path in undone)


def _removals(run: ScenarioRun) -> Iterator[FieldPath]:
    for before, after in zip(run.outside, run.outside[1:], strict=False):
        for path, _, value in differences(before, after):
            if is_absent(value):
                yield path[:-1]


def _line(difference: OutsideDifference) -> str:
    path, before, after = difference
    return f"{'.'.join(path)}: - {text_of(before)} + {text_of(after)}"
