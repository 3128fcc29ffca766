"""Oracle of the status: it claims nothing that is not reached."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any

from clientgo.perturb.differences import (
    differences,
)
from clientgo.perturb.kinds.refusals import claims_ready
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.record import Violation
from clientgo.perturb.state import (
    SOON,
    ClusterState,
    Object,
    ObjectChange,
    ObjectRef,
    content_of,
    is_deleting,
    owner_uids,
)


def truthful(judged: Judged) -> Iterator[Violation]:
    """Yield the first status that claims a generation before its children have reached it."""
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
