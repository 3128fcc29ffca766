"""Oracles: what must hold of a run, each with a name and an explanation.

An oracle compares a perturbed run with the reference, or judges a run by itself: those of `ALONE` judge the reference,
too. `ORACLES` is the table.
"""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, pairwise, takewhile
from typing import Any

from clientgo.perturb.compare import Masks, normalized, normalized_object
from clientgo.perturb.differences import (
    StateDifference,
    differences,
    differs_or_is_older,
    is_absent,
    state_differences,
    text_of,
    value_at,
)
from clientgo.perturb.kinds.derived import HISTORY, by_workload, is_default
from clientgo.perturb.kinds.lasting import leftovers
from clientgo.perturb.kinds.order import counts_attempts, is_count, is_logged, is_order_of_service
from clientgo.perturb.kinds.outside import outside_differences
from clientgo.perturb.kinds.refusals import claims_ready, is_reported
from clientgo.perturb.kinds.rehearsal import Moment, consequences_last, without_history
from clientgo.perturb.kinds.rest import changing, chosen_anew
from clientgo.perturb.record import OperatorWrite, ScenarioRun, Violation
from clientgo.perturb.state import (
    ALL_OWNERS,
    SOON,
    ClusterState,
    Object,
    ObjectChange,
    ObjectRef,
    content_of,
    is_deleting,
    most_objects,
    owner_uids,
    was_collected,
)

RUNNING = ("jobs.batch", "pods")
"""Resources whose objects do work once."""

_REJECTED = frozenset((400, 401, 403, 405, 406, 413, 415, 422))
_INVALID = frozenset((400, 422))
MAX_LINES = 40


@dataclass(frozen=True)
class Judged:
    """Run to judge, the reference, and what does not count."""

    run: ScenarioRun
    reference: ScenarioRun
    masks: Masks
    allowed: Mapping[str, int]
    """Objects of a resource that may exist at a time; by default as many as in the reference."""
    is_blind: bool
    """True if the plan shows the operator old states, on which it may base a status."""
    is_prompt: bool = False
    """True if the run begins at the time of the reference, and delays the operator by no more than retries."""
    lasting: frozenset[str] = frozenset()
    """Resources whose objects stay on purpose."""
    due: frozenset[ObjectRef] = frozenset()
    """Objects that are deleted soon after the reference's end, such as at a time of theirs."""


@dataclass(frozen=True)
class Oracle:
    """One check: why a violation is a bug, `none_if` it is none; `alone` if it judges the reference itself, too."""

    explanation: str
    none_if: str
    check: Callable[[Judged], Iterator[Violation]]
    alone: bool = False


def _final_state(judged: Judged) -> Iterator[Violation]:
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


def _outside(judged: Judged) -> Iterator[Violation]:
    run, reference = judged.run, judged.reference
    for number in range(min(len(reference.outside), len(run.outside))):
        moments = Moment(reference, number), Moment(run, number)
        if number not in run.blind and (diff := outside_differences(*moments, judged.masks)):
            lines = tuple(f"  {'.'.join(path)}: - {text_of(before)} + {text_of(after)}" for path, before, after in diff)
            text = f"after step {number + 1} ({run.steps[number]}) the state outside the cluster differs"
            yield Violation("outside", f"{text}: {lines[0].strip()}", lines[:MAX_LINES], number)
            return


def _quiet(judged: Judged) -> Iterator[Violation]:
    if judged.run.noise:
        yield Violation("quiet", judged.run.noise)


def _deleted(judged: Judged) -> Iterator[Violation]:
    deleted = {change.ref for change in judged.reference.changes if change.kind == "DELETED"}
    steady = {ref for state in judged.reference.states for ref in state} - deleted - judged.due
    for change in judged.run.changes:
        if (
            change.kind == "DELETED"
            and change.ref in steady
            and change.actor != "user"
            and (change.old or {})["metadata"]["uid"] not in judged.run.deleted_by_user
            and not _is_bare(change, judged)
            and not _is_collected_unseen(change, judged)
        ):
            yield Violation("deleted", f"{change.ref} is deleted by the {change.actor}, and the reference keeps it")
            return
    usual = {(change.ref, change.step) for change in _deletions_of_wanted(judged.reference, judged)}
    times = _deleted_by_the_clock(judged.reference)
    for change in _deletions_of_wanted(judged.run, judged):
        is_usual = (change.ref, change.step) in usual or change.ref in judged.due
        is_due = change.at + SOON >= times.get(change.ref, math.inf)  # of a run that takes longer
        if not is_usual and not is_due and not _is_bare(change, judged):
            yield Violation("deleted", f"{change.ref} is deleted by the operator although it is as it should be")
            return


def _deleted_by_the_clock(run: ScenarioRun) -> dict[ObjectRef, float]:
    """Return the times at which the operator deletes objects with no change by the user shortly before."""
    times: dict[ObjectRef, float] = {}
    changed_at = 0.0
    for change in run.changes:
        if change.actor == "user":
            changed_at = change.at
        elif change.actor == "operator" and change.kind == "DELETED" and change.at > changed_at + SOON:
            times.setdefault(change.ref, change.at)
    return times


def _is_bare(change: ObjectChange, judged: Judged) -> bool:
    """Return whether an object that an old state led to delete has nothing to lose, and comes back."""
    content = content_of(change.old or {}).keys() - {"apiVersion", "kind", "immutable"}
    is_back = bool(judged.run.states) and change.ref in judged.run.states[-1]
    return judged.is_blind and not content and is_back


def _is_collected_unseen(change: ObjectChange, judged: Judged) -> bool:
    """Return whether the last owner went that a blind operator knew, which changed nothing, and the object is back.

    Or it is one of the user.
    """
    is_touched = any(
        each[1:3] == ("MODIFIED", change.ref) and each.step == change.step and each.actor == "operator"
        for each in judged.run.changes
        if each.revision < change.revision
    )
    is_back = bool(judged.run.states) and change.ref in judged.run.states[-1]
    is_collected = (is_back and not is_touched) or was_collected(change.ref, judged.run.changes)
    return judged.is_blind and change.actor == "server" and is_collected


def _deletions_of_wanted(run: ScenarioRun, judged: Judged) -> Iterator[ObjectChange]:
    """Yield the operator's deletions of objects that are as those of the reference at the end of the step."""
    states, objects = judged.reference.states, dict[ObjectRef, Object]()
    for change in run.changes:
        ref, old = change.ref, change.old
        is_by_operator = change.kind == "DELETED" and change.actor == "operator" and 0 <= change.step < len(states)
        if is_by_operator and old and old["metadata"]["uid"] not in run.deleted_by_user:
            before = ClusterState({**objects, ref: old})
            if ref in states[change.step] and _wanted(states[change.step], ref, judged) == _wanted(before, ref, judged):
                yield change
        change.apply(objects)


def _wanted(state: ClusterState, ref: ObjectRef, judged: Judged) -> Object:
    """Return what the operator decides of an object: everything except the status and the server's metadata."""
    normal = normalized_object(state, ref, judged.masks)
    if not isinstance(normal, dict):  # masked as a whole
        return {}
    metadata = normal["metadata"]
    return {**content_of(normal), **{name: metadata.get(name) for name in ("labels", "annotations", "ownerReferences")}}


def _too_many(judged: Judged) -> Iterator[Violation]:
    most, counts = judged.reference.most, most_objects(judged.run.changes, [*_unseen(judged)])
    largest: dict[str, int] = {}
    for (resource, owner), count in most.items():
        if owner != ALL_OWNERS:
            largest[resource] = max(count, largest.get(resource, 0))
    # In another order of service two owners may have theirs at a time, which the reference has one after another.
    exceeded = {
        resource
        for (resource, owner), count in counts.items()
        if owner != ALL_OWNERS and count > most.get((resource, owner), largest.get(resource, 0))
    }
    for resource in sorted(exceeded):
        count, usual = counts[resource, ALL_OWNERS], most.get((resource, ALL_OWNERS), 0)
        if count > judged.allowed.get(resource, usual):
            text = f"{count} objects of {resource} exist at a time, the reference has at most {usual}"
            yield Violation("too-many", text)


def _unseen(judged: Judged) -> Iterator[set[ObjectRef]]:
    """Yield by step the objects that are too many because the operator is blind.

    It cannot delete those of earlier steps that the reference has deleted, unless their names are random: duplicates.
    The cluster replaces the pods of a template that an old state led to.
    """
    by_server = judged.run.created_by_server
    former: dict[ObjectRef, Object] = {}
    for state in judged.reference.states if judged.is_blind else ():
        gone = former.keys() - state.keys()
        yield by_server | {ref for ref in gone if not former[ref]["metadata"].get("generateName")}
        former.update(state)


def _repeated(judged: Judged) -> Iterator[Violation]:
    # Of what runs to its end: other objects that an old cache brings back for a moment do no harm.
    usual = _recreations(judged.reference)
    for ref, count in _recreations(judged.run).items():
        if ref.resource in RUNNING and count > usual[ref]:
            yield Violation("repeated", f"{ref} is created again after the operator deleted it: its work is repeated")


def _recreations(run: ScenarioRun) -> Counter[ObjectRef]:
    """Count how often the operator creates what it has deleted, with no change by the user in between."""
    counts: Counter[ObjectRef] = Counter()
    deleted: set[ObjectRef] = set()
    for change in run.changes:
        if change.actor == "user":
            deleted.clear()
        elif change.actor == "operator" and change.kind == "DELETED":
            deleted.add(change.ref)
        elif change.actor == "operator" and change.kind == "ADDED":
            counts[change.ref] += change.ref in deleted
    return counts


def _left_behind(judged: Judged) -> Iterator[Violation]:
    run = judged.run
    if not run.states or len(run.states) - 1 in run.blind:
        return
    final, last = run.states[-1], len(run.states) - 1
    remaining = {ref: final[ref] for ref in sorted(run.created_by_user) if ref in final}
    if not run.created_by_user or not all(map(is_deleting, remaining.values())):
        return
    if any(_finalizers(obj) & _finalizers_of_user(run, ref) for ref, obj in remaining.items()):
        return  # others have to remove theirs, for which the operator may wait
    for ref in remaining:
        yield Violation("left-behind", f"{ref} is being deleted, and never gone", step=last)
    for ref in sorted(leftovers(run, judged.lasting | judged.allowed.keys()) - run.remaining) if not remaining else ():
        yield Violation("left-behind", f"{ref} is left behind after everything that the user created is gone")


def _finalizers_of_user(run: ScenarioRun, ref: ObjectRef) -> set[str]:
    changes = (change for change in run.changes if change.actor == "user" and change.ref == ref)
    return {name for change in changes for name in _finalizers(change.new) - _finalizers(change.old)}


def _finalizers(obj: Object | None) -> set[str]:
    return set(value_at(obj, ("metadata", "finalizers")) or ())


def _ownerless(judged: Judged) -> Iterator[Violation]:
    owned = {c.ref.resource for c in judged.reference.changes if c.new is not None and owner_uids(c.new)}
    adopted = {change.ref.resource for change in _created_without_owner(judged.reference)}
    for change in _created_without_owner(judged.run):
        if change.ref.resource in owned - adopted:
            yield Violation("ownerless", f"{change.ref} is created without an owner")


def _created_without_owner(run: ScenarioRun) -> Iterator[ObjectChange]:
    for change in run.changes:
        if change.kind == "ADDED" and change.actor == "operator" and not owner_uids(change.new or {}):
            yield change


def _rejected(judged: Judged) -> Iterator[Violation]:
    for write in judged.run.writes:
        if write.status not in _REJECTED or write.injected or _is_conflict(write):
            continue
        if write.status not in _INVALID or not is_reported(write, judged.run):
            yield Violation("rejected", f"write {write} is rejected with {write.status}: {write.message}")
            return


def _is_conflict(write: OperatorWrite) -> bool:
    """Return whether a uid or a test in a patch kept it from another object or version: a conflict in spite of 422."""
    is_refused = write.method == "PATCH" and write.status == 422
    has_test = write.body.lstrip()[:1] == b"[" and re.search(rb'"op"\s*:\s*"test"', write.body) is not None
    return is_refused and ("metadata.uid: " in write.message or has_test)


def _bugs(judged: Judged) -> Iterator[Violation]:
    for text in dict.fromkeys(judged.run.bugs):
        yield Violation("bug", f"the operator logs a bug: {text}")
    if judged.run.exit:
        yield Violation("bug", f"the operator ends: {judged.run.exit}")


def _truthful(judged: Judged) -> Iterator[Violation]:
    run = judged.run
    if len(run.states) < len(run.steps):
        return
    objects: dict[ObjectRef, Object] = {}
    for number, change in enumerate(run.changes):
        change.apply(objects)
        owner = objects.get(change.ref)
        if owner and change.actor == "operator" and change.step >= 0 and _claims(change, strict=judged.is_blind):
            reached = _soon_after(islice(run.changes, number + 1, None), change, objects)
            is_seen = not change.is_blind and change.step not in run.blind
            if is_seen and (missing := _unreached(owner, objects, reached)):
                text = f"{change.ref} claims to be ready at revision {change.revision}, before {missing}"
                yield Violation("status", text)
                return


def _soon_after(
    changes: Iterable[ObjectChange], claim: ObjectChange, objects: Mapping[ObjectRef, Object]
) -> ClusterState:
    """Return the objects at the end of a step, without what happens only as time passes, such as by a schedule."""
    reached = dict(objects)
    for change in takewhile(lambda later: later.step == claim.step and later.at <= claim.at + SOON, changes):
        change.apply(reached)
    return ClusterState(reached)


def _claims(change: ObjectChange, *, strict: bool) -> bool:
    """Return whether a change of the status claims that the current generation is reached."""
    obj = change.new or {}
    if obj.get("status") == (change.old or {}).get("status") or is_deleting(obj):
        return False
    return claims_ready(obj, strict=strict)


def _unreached(owner: Object, objects: Mapping[ObjectRef, Object], reached: ClusterState) -> str:
    """Return what an object's children at rest have, and do not have yet; empty if they have it all."""
    uid = owner["metadata"]["uid"]
    if owner["metadata"].get("generation") != _generation(reached, uid):
        return ""
    for ref, expected in reached.items():
        if uid in owner_uids(expected):
            actual = objects.get(ref)
            if actual is None:
                return f"{ref} exists"
            if content_of(actual) != content_of(expected):
                path = next(differences(content_of(expected), content_of(actual)))[0]
                return f"{ref} has its {'.'.join(path)}"
    for ref, extra in objects.items():
        if uid in owner_uids(extra) and ref not in reached and not is_deleting(extra):
            return f"{ref} is deleted"
    return ""


def _generation(state: ClusterState, uid: str) -> Any:
    return next((obj["metadata"].get("generation") for obj in state.values() if obj["metadata"]["uid"] == uid), None)


def _invariants(judged: Judged) -> Iterator[Violation]:
    yield from judged.run.violations


def _nothing(_: Judged) -> Iterator[Violation]:
    return iter(())  # judged by the variations, which have both states


ORACLES: dict[str, Oracle] = {
    "final-state": Oracle(
        "the state after each step equals the reference's",
        "the field records what happened: ignore; or its values are assigned in the order of service: any_order",
        _final_state,
    ),
    "outside": Oracle(
        "the state outside the cluster after each step equals the reference's",
        "the system may be called again, and the value counts the calls: ignore outside:PATH",
        _outside,
    ),
    "quiet": Oracle("the operator stops writing", "it reports by the clock: off, or a settle", _quiet, alone=True),
    "deleted": Oracle(
        "nothing is deleted that the reference keeps: data and connections are lost although it comes back; "
        "before a deletion, ask client.is_current, or client.api_reader if labels or annotations decide",
        "it has nothing to lose: off",
        _deleted,
    ),
    "too-many": Oracle(
        "never more objects of a kind exist than in the reference", "so many may exist at a time: allow", _too_many
    ),
    "repeated": Oracle(
        "no Job or pod that the operator has deleted is created again", "its work may be repeated: off", _repeated
    ),
    "left-behind": Oracle(
        "nothing is left behind after all that the user created is gone", "it stays on purpose: lasting",
        _left_behind, alone=True,
    ),
    "ownerless": Oracle("no child without an owner", "it has none on purpose: off", _ownerless),
    "rejected": Oracle(
        "the server rejects no write, except for conflicts", "the operator asks the server what is valid: off",
        _rejected, alone=True,
    ),
    "bug": Oracle("no bug in the log, and no exit", "the input is impossible: a stricter schema", _bugs, alone=True),
    "status": Oracle(
        "the status claims a generation only once it is reached", "the condition means something else: off",
        _truthful, alone=True,
    ),
    "transition": Oracle(
        "the same objects lead to the same state, regardless of their history",
        "the field records what happened: ignore; or its values are assigned in the order of service: any_order; "
        "or the effect is not undone: lasting; or the change is impossible, and the status says so, as by Ready=False",
        _nothing,
    ),
    "foreign": Oracle(
        "what another controller owns is not taken over", "the other controller gives it away: off", _nothing
    ),
    "second-writer": Oracle(
        "what the custom resource leaves open belongs to others, such as a scaler, and a child that others delete is "
        "created again",
        "an absent number means a fixed one: give the field a default in the schema; or a child is created once: off",
        _nothing,
    ),
    "invariant": Oracle(
        "the user's invariants hold at every revision", "the invariant is too strict", _invariants, alone=True
    ),
}  # fmt: skip
"""Oracles by name."""


def judge(judged: Judged, off: Container[str]) -> list[Violation]:
    """Return what is wrong with a run; oracles in `off` are not asked."""
    is_reference = judged.run is judged.reference
    findings: list[Violation] = []
    if judged.run.failure:
        findings.append(Violation("scenario", judged.run.failure))
    for name, oracle in ORACLES.items():
        if name not in off and (oracle.alone or not is_reference):
            findings += oracle.check(judged)
    return findings
