"""Changes of the user's objects: of labels and annotations, and to values that the server rejects in a child."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clientgo.perturb.compare import normalized_object
from clientgo.perturb.differences import StateDifference
from clientgo.perturb.kinds.order import is_record
from clientgo.perturb.kinds.rehearsal import (
    Moment,
    Rehearsal,
    Verdict,
    ended_early,
    is_left_alone,
    not_applicable,
    refused,
    short_name,
)
from clientgo.perturb.kinds.remains import compare_outside
from clientgo.perturb.kinds.userobjects import (
    UserObject,
    afresh,
    is_released,
    is_timed,
    merge,
    schemas,
    set_spec,
    user_objects,
)
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ClusterState, Object, ObjectRef, owner_uids
from clientgo.perturb.steps import ScenarioStep, UserInputs
from clientgo.perturb.transitions import TransitionTarget, after_creation, find, firsts
from clientgo.perturb.values import Alternative, alternatives, other_text, refusable

NEW_VALUES = ("true", "2")
"""Values of labels and annotations that the user's objects do not have yet."""

_LONGEST_LABEL = 63
_MEANWHILE = 2  # fields that are changed while the operator leaves an object alone


class MetadataChange(NamedTuple):
    """Change of a label or annotation; the value None removes it."""

    label: str
    fields: tuple[str, ...]
    key: str
    value: str | None

    @property
    def is_selection(self) -> bool:
        """True for a label that an object had: others are marks, such as for a pause, or wishes that are met once."""
        return self.fields == ("labels",)

    @property
    def text(self) -> str:
        """Description of the change, for people."""
        return f"{' and '.join(self.fields)} {self.key} = {self.value or 'absent'!r}"

    def applied(self, content: Object) -> dict[str, Any]:
        """Return the changed labels and annotations of an object."""
        results: dict[str, Any] = {}
        for name in self.fields:
            values = {key: value for key, value in (content["metadata"].get(name) or {}).items() if key != self.key}
            results[name] = values if self.value is None else {**values, self.key: self.value}
        return results


def derive_metadata(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name, and label of the change."""
    for user_object in _watched(run):
        for change in _metadata_changes(run, user_object):
            yield user_object.ref.resource, short_name(user_object.ref), change.label


def judge_metadata(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Change a label or an annotation of an object; compare with one that was created so.

    Raises:
        ValueError: there is no such change.
    """
    user_object, change = _find_metadata(rehearsal.reference, arguments)
    content, ref = user_object.content, user_object.ref
    metadata = change.applied(content)
    patch = {"metadata": {name: {change.key: change.value} for name in change.fields}}
    step = merge(content, patch, f"change {change.text}")
    run = rehearsal.run([*rehearsal.steps, step])
    if ended_early(run) or run.bugs or refused(run, len(run.states) - 1):
        return not_applicable(run, "the operator does not understand the value")
    if (ref, "user", len(rehearsal.steps)) not in {(each.ref, each.actor, each.step) for each in run.changes}:
        return not_applicable(run, "the change has no effect")  # such as one that the server undoes at once

    has_changes = _has_metadata_changes(rehearsal.reference, user_object)
    if has_changes and is_timed(rehearsal.reference):
        return run, []

    def fresh(*more: ScenarioStep) -> ScenarioRun:
        changed = {"metadata": {**content["metadata"], **metadata}}
        if not has_changes:
            return rehearsal.run([*rehearsal.steps, *more], UserInputs({ref: changed}))
        return rehearsal.run([*afresh(rehearsal.reference, changed={ref: {**content, **changed}}), *more])

    created = fresh()
    if ended_early(created) or created.bugs:
        return run, []
    is_mark = not change.is_selection and is_left_alone(created) and not is_left_alone(rehearsal.reference)
    # A label that selects an object of another kind, such as a Service, is a wish: its children go with it.
    is_wish = change.is_selection and ref.resource not in {resource for resource, _ in schemas(run)}
    if is_mark or (not is_wish and _keeps_children(ref, Moment(created, -1), Moment(run, -1))):
        return run, [*_resumed(user_object, change, step, rehearsal)]
    released = {
        name: each
        for name, each in user_objects(rehearsal.reference).items()
        if not _touches(created, name) and _touches(rehearsal.reference, name)
    }

    back = merge(content, _undone(content, change), "change it back")
    again = rehearsal.repeated(fresh, rehearsal.playing([*rehearsal.steps, step, back, step]))
    text = f"after {change.text} the state is not as created"
    moments = Moment(created, -1), Moment(run, -1)

    def dismisses(each: StateDifference) -> bool:
        return (each.ref in released and _is_mark(each)) or is_released(each, created, released)

    violations = [*rehearsal.compare("transition", text, *moments, again, dismisses=dismisses)]
    return run, [*violations, *(compare_outside(text, *moments, again, rehearsal) if ref not in released else ())]


def _keeps_children(ref: ObjectRef, created: Moment, after: Moment) -> bool:
    """Return whether an object has no children if it is created so, and the change leaves those that it has.

    An operator that pauses, or that leaves the object to another one, writes no more than its status.
    """
    before = after.run.states[after.number - 1]
    return after.changed <= {ref} and bool(_children(ref, before)) and not _children(ref, created.state)


def _children(ref: ObjectRef, state: ClusterState) -> list[ObjectRef]:
    uid = state[ref]["metadata"]["uid"] if ref in state else ""
    return [other for other, obj in state.items() if uid in owner_uids(obj)]


def _touches(run: ScenarioRun, ref: ObjectRef) -> bool:
    """Return whether the operator changes an object."""
    return any(change.ref == ref and change.actor == "operator" for change in run.changes)


def _is_mark(difference: StateDifference) -> bool:
    """Return whether an object has what an operator that leaves it alone now has recorded in it."""
    return is_record(difference.path) or difference.path == ("metadata", "finalizers")


def _resumed(
    user_object: UserObject, change: MetadataChange, mark: ScenarioStep, rehearsal: Rehearsal
) -> Iterator[Violation]:
    """Change the spec while a mark lets the operator leave the object alone; once that is gone, it must catch up."""
    content = user_object.content
    schema = schemas(rehearsal.reference).get((user_object.ref.resource, str(content["apiVersion"])))
    if schema is None or not isinstance(content.get("spec"), dict):
        return
    for alternative in firsts(alternatives(schema, content["spec"], {}))[:_MEANWHILE]:
        meanwhile = set_spec(content, content["spec"], alternative.spec, f"change {alternative.text}")
        usual = rehearsal.playing([*rehearsal.steps, meanwhile])
        back = merge(content, _undone(content, change), "change it back")
        resumed = rehearsal.playing([*rehearsal.steps, mark, meanwhile, back])
        expected, actual = usual(), resumed()
        if ended_early(expected) or ended_early(actual):
            continue
        again = rehearsal.repeated(usual, resumed)
        text = f"{change.text} lets the operator leave {user_object.ref} alone; after it is changed back, "
        text += f"a change {alternative.text} is not carried out"
        yield from rehearsal.compare("transition", text, Moment(expected, -1), Moment(actual, -1), again)


def _undone(content: Object, change: MetadataChange) -> Object:
    before = {name: (content["metadata"].get(name) or {}).get(change.key) for name in change.fields}
    return {"metadata": {name: {change.key: value} for name, value in before.items()}}


def _watched(run: ScenarioRun) -> Iterator[UserObject]:
    """Yield the objects that exist at the end, and which the operator reads."""
    for user_object in user_objects(run).values():
        if user_object.ref.resource in run.read:
            yield user_object


def _has_metadata_changes(run: ScenarioRun, user_object: UserObject) -> bool:
    """Return whether a step changes a label or annotation of an object, and perhaps back."""
    changes = (each for each in run.changes if each.ref == user_object.ref and each.actor == "user")
    return any(
        (each.old["metadata"].get(name) or {}) != (each.new["metadata"].get(name) or {})
        for each in changes
        if each.old is not None and each.new is not None
        for name in ("labels", "annotations")
    )


def _metadata_changes(run: ScenarioRun, user_object: UserObject) -> Iterator[MetadataChange]:
    metadata = user_object.content["metadata"]
    existing: set[str] = set()
    for name in ("labels", "annotations"):
        for key, value in (metadata.get(name) or {}).items():
            existing.add(key)
            yield MetadataChange(f"{name}.{key}#1", (name,), key, other_text(value)[-_LONGEST_LABEL:])
            yield MetadataChange(f"{name}.{key}#2", (name,), key, None)
    if (user_object.ref.resource, str(user_object.content["apiVersion"])) not in schemas(run):
        return  # the operator's keys are for its own kinds, unless an object has one
    for key in run.keys:
        if key not in existing | _of_operator(run):
            for number, value in enumerate(NEW_VALUES, 1):
                yield MetadataChange(f"metadata.{key}#{number}", ("labels", "annotations"), key, value)


def _of_operator(run: ScenarioRun) -> set[str]:
    """Return the keys, and finalizers, that the operator writes itself."""
    results: set[str] = set()
    for change in run.changes:
        if change.actor == "operator" and change.new is not None:
            metadata = change.new["metadata"]
            before = (change.old or {}).get("metadata", {})
            for name in ("labels", "annotations"):
                results |= (metadata.get(name) or {}).keys() - (before.get(name) or {}).keys()
            results |= set(metadata.get("finalizers") or ())
    return results


def _find_metadata(run: ScenarioRun, arguments: tuple[str, ...]) -> tuple[UserObject, MetadataChange]:
    for user_object in _watched(run):
        for change in _metadata_changes(run, user_object):
            if (user_object.ref.resource, short_name(user_object.ref), change.label) == arguments:
                return user_object, change
    raise ValueError(f"change {':'.join(arguments)} not found: the objects of the scenario have changed")


def derive_refused(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name, and label of the change."""
    for target in _refusable(run):
        for alternative in target.alternatives:
            yield target.ref.resource, short_name(target.ref), alternative.label


def judge_refused(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Change a field to a value that the schema admits and a child cannot have, and back.

    Raises:
        ValueError: there is no such change.
    """
    target, alternative = find(_refusable(rehearsal.reference), arguments)
    prefix, content = rehearsal.steps[: target.step + 1], target.user_object.content
    forth = set_spec(content, content["spec"], alternative.spec, f"change {alternative.text}")
    back = set_spec(content, alternative.spec, content["spec"], "change it back")
    run = rehearsal.run([*prefix, forth, back])
    if ended_early(run) or run.bugs or not (writes := refused(run, len(prefix))):
        return not_applicable(run, "the server refuses nothing that the operator writes")
    violations = [] if not _claims(run, target, alternative, rehearsal) else [
        Violation("status", f"after {alternative.text} the server rejects {writes[0]}, and {target.ref} has the status "
                  "that it has after a valid value")
    ]  # fmt: skip

    again = rehearsal.repeated(rehearsal.playing(prefix), rehearsal.playing([*prefix, forth, back, forth, back]))
    text = f"after {alternative.text}, which the server rejects, and back the state is not as before"
    before = Moment(rehearsal.reference, target.step)
    return run, [*violations, *rehearsal.compare("transition", text, before, Moment(run, -1), again, counts=True)]


def _claims(run: ScenarioRun, target: TransitionTarget, alternative: Alternative, rehearsal: Rehearsal) -> bool:
    """Return whether the operator has written the status of an accepted value."""
    step, ref = target.step + 1, target.ref
    wrote = any(
        change.step == step
        and change.ref == ref
        and change.actor == "operator"
        and (change.old or {}).get("status") != (change.new or {}).get("status")
        for change in run.changes
    )
    valid, invalid = _changed_values(target.user_object.content["spec"], alternative.spec)
    before = _status(rehearsal, run.states[step - 1], ref, valid)
    after = _status(rehearsal, run.states[step], ref, invalid)
    return wrote and after is not None and before == after


def _status(rehearsal: Rehearsal, state: ClusterState, ref: ObjectRef, value: Any) -> str | None:
    """Return the status as text, in which `(value)` stands for a value of the spec."""
    status = normalized_object(state, ref, rehearsal.masks).get("status") if ref in state else None
    if not status:
        return None
    return json.dumps(_redacted(status, value), sort_keys=True)


def _redacted(status: Any, value: Any) -> Any:
    if isinstance(status, dict):
        return {key: _redacted(member, value) for key, member in status.items()}
    if isinstance(status, list):
        return [_redacted(member, value) for member in status]
    if status == value:
        return "(value)"
    return status.replace(str(value), "(value)") if isinstance(status, str) and len(str(value)) > 1 else status


def _changed_values(before: Any, after: Any) -> tuple[Any, Any]:
    """Return the first values in which two specs differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if before.get(key) != after.get(key):
                return _changed_values(before.get(key), after.get(key))
    return before, after


def _refusable(run: ScenarioRun) -> Iterator[TransitionTarget]:
    """Yield the custom resources of the user, as created, with values that the server may reject in a child."""
    for target in after_creation(run):
        content = target.user_object.content
        schema = schemas(run)[target.ref.resource, str(content["apiVersion"])]
        yield target._replace(alternatives=refusable(schema, content["spec"]))
