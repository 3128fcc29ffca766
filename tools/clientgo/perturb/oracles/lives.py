"""Oracles of the lives of objects: who creates and deletes them, how many there are, and what is left."""

import math
from collections import Counter
from collections.abc import Iterator

from clientgo.perturb.compare import normalized_object
from clientgo.perturb.differences import (
    value_at,
)
from clientgo.perturb.kinds.lasting import leftovers
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.record import ScenarioRun, Violation
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


def deleted(judged: Judged) -> Iterator[Violation]:
    """Yield a deletion of what the reference keeps, or of what was as it should be."""
    gone = {change.ref for change in judged.reference.changes if change.kind == "DELETED"}
    steady = {ref for state in judged.reference.states for ref in state} - gone - judged.due
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


def too_many(judged: Judged) -> Iterator[Violation]:
    """Yield each resource of which more objects exist at a time than in the reference."""
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


def repeated(judged: Judged) -> Iterator[Violation]:
    """Yield each Job or pod that is created again after the operator deleted it."""
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


def left_behind(judged: Judged) -> Iterator[Violation]:
    """Yield what is left after all that the user created is deleted."""
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


def ownerless(judged: Judged) -> Iterator[Violation]:
    """Yield each child without an owner, of resources whose children have one in the reference."""
    owned = {c.ref.resource for c in judged.reference.changes if c.new is not None and owner_uids(c.new)}
    adopted = {change.ref.resource for change in _created_without_owner(judged.reference)}
    for change in _created_without_owner(judged.run):
        if change.ref.resource in owned - adopted:
            yield Violation("ownerless", f"{change.ref} is created without an owner")


def _created_without_owner(run: ScenarioRun) -> Iterator[ObjectChange]:
    for change in run.changes:
        if change.kind == "ADDED" and change.actor == "operator" and not owner_uids(change.new or {}):
            yield change
