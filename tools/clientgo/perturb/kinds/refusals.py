"""Reports of an operator in a status: that the work is done, or what it does not carry out and why."""

import operator
import re
from collections.abc import Iterator, Sequence
from typing import Any

from clientgo.meta.conditions import conditions_of, observed_generation
from clientgo.perturb.differences import StateDifference
from clientgo.perturb.record import OperatorWrite, ScenarioRun
from clientgo.perturb.state import Object

READY = ("Ready", "Available", "Synced")
"""Types of conditions that claim that the work is done."""


def claims_ready(obj: Object, *, strict: bool = False) -> bool:
    """Return whether a condition says that the current generation is reached; `strict` if it must name that."""
    generation = obj["metadata"].get("generation")
    for condition in conditions_of(obj):
        if condition.get("type") in READY and condition.get("status") == "True":
            observed = observed_generation(obj, condition)
            if observed == generation or (observed is None and not strict):
                return True
    return False


_REFUSAL = re.compile(
    r"can(no|')t|not ?(allowed|supported|possible|permitted|valid|found|exist|have)|unsupported|immutable|invalid"
    r"|forbid|reject|refus|denied|disallow|fail|error|exceed|missing|no such|unknown",
    re.IGNORECASE,
)


_FINISHED = re.compile(r"succeeded|completed?|finished|done", re.IGNORECASE)


def is_finished(obj: Object) -> bool:
    """Return whether an object's status says that its work is done for good, as that of a Job does."""
    conditions = (each.get("type", "") for each in conditions_of(obj) if each.get("status") == "True")
    return any(map(_FINISHED.fullmatch, [*conditions, *_strings(obj.get("status"))]))


def refuses(obj: Object, *siblings: Object) -> bool:
    """Return whether an object's status says that its spec is not carried out, and those of its siblings do not."""
    common = {text for sibling in siblings for text in _texts(sibling)}
    return any(text not in common and _REFUSAL.search(text) for text in _texts(obj))


def _texts(obj: Object) -> Iterator[str]:
    yield from _strings(obj.get("status"))
    for condition in conditions_of(obj):
        if condition.get("type") in READY and condition.get("status") == "False":
            yield f"{condition['type']} failed"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(member)


def is_reported(write: OperatorWrite, run: ScenarioRun) -> bool:
    """Return whether the operator reports that the server found an object invalid, once it was first rejected."""
    first = next(each for each in run.writes if each[1:4] == write[1:4] and not each.injected)
    return any(
        change.actor == "operator"
        and change.step == first.step
        and change.revision > first.revision
        and refuses(change.new or {}, change.old or {})
        for change in run.changes
    )


def is_declined(
    differences: Sequence[StateDifference], changes: Sequence[StateDifference], owner: Object, *siblings: Object
) -> bool:
    """Return whether what differs from the state as created was not changed, and the owner's status says so."""
    return refuses(owner, *siblings) and not any(
        each.ref == change.ref and all(map(operator.eq, each.path, change.path))
        for each in differences
        if each.path[:1] != ("status",)
        for change in changes
    )
