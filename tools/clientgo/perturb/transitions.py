"""Transitions: changes of a custom resource to other valid values, one field or two at a time, and back again.

A controller must reach the state that it would have reached if the changed resource had been created in an empty
cluster, and the first state again after the change is undone. What a resource's history leaves behind, shows here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from clientgo.perturb.compare import StateDifference, normalized
from clientgo.perturb.kinds.refusals import is_declined
from clientgo.perturb.kinds.rehearsal import (
    Moment,
    Rehearsal,
    Verdict,
    ended_early,
    holds_on,
    not_applicable,
    short_name,
)
from clientgo.perturb.kinds.userobjects import (
    UserObject,
    at_fullest,
    create_all,
    custom_objects,
    is_timed,
    set_spec,
    user_objects,
)
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.steps import ScenarioStep, UserInputs
from clientgo.perturb.values import Alternative, alternatives, pairs

AT_END = "end"
"""Argument of a transition after the last step, in place of the creation's step."""


class TransitionTarget(NamedTuple):
    """Custom resource in its state after a step, and what it may be changed to."""

    step: int
    user_object: UserObject
    alternatives: list[Alternative]

    @property
    def ref(self) -> ObjectRef:
        """Name of the resource."""
        return self.user_object.ref


def derive_transitions(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name, label of the change, and whether it is at the end."""
    ends = [(target, alternative) for target in _at_end(at_fullest(run)) for alternative in target.alternatives]
    for target, alternative in sorted(ends, key=lambda pair: "@" not in pair[1].label):
        yield target.ref.resource, short_name(target.ref), alternative.label, AT_END
    for target in after_creation(run):
        for alternative in target.alternatives:
            yield target.ref.resource, short_name(target.ref), alternative.label


def judge_transition(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Change a resource and change it back; compare with runs without a history.

    Raises:
        ValueError: there is no such change.
    """
    is_end = arguments[3:] == (AT_END,)
    if is_end:
        rehearsal = rehearsal.until(at_fullest(rehearsal.reference))
    targets = _at_end(rehearsal.reference) if is_end else after_creation(rehearsal.reference)
    target, alternative = find(targets, arguments)
    prefix, ref = rehearsal.steps[: target.step + 1], target.ref
    content = target.user_object.content
    forth = set_spec(content, alternative.spec, f"change {alternative.text}")
    back = set_spec(content, content["spec"], "change it back")
    run = rehearsal.run([*prefix, forth, back])
    if ended_early(run):
        return not_applicable(run)

    def fresh(*more: ScenarioStep) -> ScenarioRun | None:
        if not is_end:
            return rehearsal.run([*prefix, *more], UserInputs({ref: {"spec": alternative.spec}}))
        if is_timed(rehearsal.reference):
            return None
        objects = {each.ref: each.content for each in user_objects(rehearsal.reference).values()}
        return rehearsal.run([*create_all({**objects, ref: {**content, "spec": alternative.spec}}), *more])

    created, violations, count = fresh(), list[Violation](), len(prefix)
    if created is not None and created.noise:
        violations.append(Violation("quiet", f"created with {alternative.text}: {created.noise}"))
    elif created is not None and not ended_early(created):
        expected = created

        def created_again() -> tuple[Moment, Moment] | None:
            later, other = (
                rehearsal.run([*prefix, forth, back, forth, rehearsal.patience()]),
                fresh(rehearsal.patience()) or expected,
            )
            return None if ended_early(later) or ended_early(other) else (Moment(other, -1), Moment(later, -1))

        text = f"after {alternative.text} the state is not as created"
        moments = Moment(rehearsal.reference, target.step), Moment(created, -1), Moment(run, count)
        is_named = _is_scalar(content["spec"], alternative.spec)
        if (is_named and holds_on(*moments, ref, rehearsal.masks)) or _is_declined(*moments, ref, rehearsal):
            return run, []
        usual = _usual(rehearsal) if is_end else []
        violations += rehearsal.compare(
            "transition", text, Moment(created, -1), Moment(run, count), created_again, usual=usual
        )
    text = f"after {alternative.text} and back the state is not as before"
    before = Moment(rehearsal.reference, target.step)
    violations += rehearsal.compare(
        "transition", text, before, Moment(run, count + 1), lambda: _back_again(rehearsal, prefix, forth, back)
    )
    return run, violations


def _is_declined(before: Moment, created: Moment, after: Moment, owner: ObjectRef, rehearsal: Rehearsal) -> bool:
    """Return whether the operator leaves all as it was and reports that the change is impossible."""
    states = after.state, before.state, created.state
    statuses = [normalized(state, rehearsal.masks).get(owner, {}) for state in states]
    return is_declined(rehearsal.differences(created, after), before.state, *statuses)


def _usual(rehearsal: Rehearsal) -> list[StateDifference]:
    """Return what the scenario's history leaves at its end, such as counts of its changes."""
    objects = {each.ref: each.content for each in user_objects(rehearsal.reference).values()}
    world = rehearsal.remembered("world", lambda: rehearsal.run(create_all(objects)))
    return [] if ended_early(world) else rehearsal.differences(Moment(world, -1), Moment(rehearsal.reference, -1))


def _is_scalar(before: Any, after: Any) -> bool:
    """Return whether a text or number is changed to another one, such as the name of what does not exist."""
    fields = [(before.get(name), after.get(name)) for name in {**before, **after}]
    return any(
        pair[0] != pair[1] and all(isinstance(value, str | int) and not isinstance(value, bool) for value in pair)
        for pair in fields
    )


def _back_again(
    rehearsal: Rehearsal, prefix: Sequence[ScenarioStep], forth: ScenarioStep, back: ScenarioStep
) -> tuple[Moment, Moment] | None:
    before = rehearsal.run([*prefix, rehearsal.patience()])
    later = rehearsal.run([*prefix, forth, back, forth, back, rehearsal.patience()])
    return None if ended_early(before) or ended_early(later) else (Moment(before, -1), Moment(later, -1))


def after_creation(run: ScenarioRun) -> Iterator[TransitionTarget]:
    """Yield the custom resources of the user, as created, with the changes of a field or two."""
    for number in range(len(run.states)):
        for user_object, schema in custom_objects(run, user_objects(run, number)):
            spec = user_object.content.get("spec")
            if user_object.creation.step == number and _is_first(run, user_object) and isinstance(spec, dict):
                single = alternatives(schema, spec, run.examples)
                yield TransitionTarget(number, user_object, [*single, *pairs(single, spec)])


def _is_first(run: ScenarioRun, user_object: UserObject) -> bool:
    """Return whether an object has not been created before."""
    changes = (change for change in run.changes if change.ref == user_object.ref and change.kind == "ADDED")
    return next(changes).step == user_object.creation.step


def _at_end(run: ScenarioRun) -> Iterator[TransitionTarget]:
    """Yield the custom resources at the end, with their earlier specs and one change of each field."""
    last = len(run.states) - 1
    for user_object, schema in custom_objects(run, user_objects(run)):
        spec = user_object.content.get("spec")
        if user_object.creation.step < last and isinstance(spec, dict):
            yield TransitionTarget(
                last, user_object, [*_earlier(user_object, spec), *firsts(alternatives(schema, spec, {}))]
            )


def _earlier(user_object: UserObject, spec: Any) -> Iterator[Alternative]:
    for step, earlier in user_object.specs.items():
        if earlier != spec:
            yield Alternative(f"spec@{step + 1}", f"spec as in step {step + 1}", earlier)


def firsts(single: Sequence[Alternative]) -> list[Alternative]:
    """Return the first change of each field."""
    fields = {alternative.label.partition("#")[0]: alternative for alternative in reversed(single)}
    return [*reversed(fields.values())]


def find(targets: Iterator[TransitionTarget], arguments: tuple[str, ...]) -> tuple[TransitionTarget, Alternative]:
    """Return the target and change that a plan's arguments name; ValueError if there are none."""
    resource, name, label = (*arguments, "", "", "")[:3]
    for target in targets:
        if target.ref.resource == resource and name in (target.ref.name, short_name(target.ref)):
            for alternative in target.alternatives:
                if alternative.label == label:
                    return target, alternative
    raise ValueError(f"change {':'.join(arguments)} not found: the resource or its schema has changed")
