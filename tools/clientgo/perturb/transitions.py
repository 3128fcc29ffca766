"""Transitions: changes of a custom resource to other valid values, one field or two at a time, and back again.

A controller must reach the state that it would have reached if the changed resource had been created in an empty
cluster, and the first state again after the change is undone. What a resource's history leaves behind, shows here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

from clientgo.perturb.compare import normalized
from clientgo.perturb.differences import StateDifference, differences
from clientgo.perturb.kinds.deadlines import compare_deadlines
from clientgo.perturb.kinds.refusals import is_declined, is_finished, refuses
from clientgo.perturb.kinds.rehearsal import (
    Again,
    Moment,
    Rehearsal,
    Verdict,
    ended_early,
    forgive_required,
    holds_on,
    not_applicable,
    short_name,
)
from clientgo.perturb.kinds.remains import compare_outside
from clientgo.perturb.kinds.revisions import KeptRevisions, further_specs
from clientgo.perturb.kinds.userobjects import (
    UserObject,
    afresh,
    at_fullest,
    custom_objects,
    is_released,
    is_timed,
    set_spec,
    user_objects,
)
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.steps import ScenarioStep, UserInputs, advance
from clientgo.perturb.values import Alternative, alternatives, pairs, references

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
    change = _Change(rehearsal, *find(targets, arguments), is_end)
    run = rehearsal.run([*change.prefix, change.forth, change.back])
    if ended_early(run):
        return not_applicable(run)
    created = change.created()
    if created is not None and forgive_required(run, created):
        return run, [*change.judge_back(run)]
    if created is not None and created.noise:
        text = f"created with {change.alternative.text}: {created.noise}"
        return run, [Violation("quiet", text), *change.judge_back(run)]
    if created is None or ended_early(created):
        return run, [*change.judge_back(run)]
    moments = change.before, Moment(created, -1), Moment(run, -2)
    return run, [*(() if change.is_declined(moments) else change.judge_forth(moments)), *change.judge_back(run)]


@dataclass(frozen=True)
class _Change:
    """Change of a resource to another spec, at its creation or at the end."""

    rehearsal: Rehearsal
    target: TransitionTarget
    alternative: Alternative
    is_end: bool

    @cached_property
    def prefix(self) -> Sequence[ScenarioStep]:
        """Steps before the change."""
        return self.rehearsal.steps[: self.target.step + 1]

    @cached_property
    def before(self) -> Moment:
        """State before the change."""
        return Moment(self.rehearsal.reference, self.target.step)

    @cached_property
    def forth(self) -> ScenarioStep:
        """Step of the change."""
        content = self.target.user_object.content
        return set_spec(content, content["spec"], self.alternative.spec, f"change {self.alternative.text}")

    @cached_property
    def back(self) -> ScenarioStep:
        """Step that undoes it."""
        content = self.target.user_object.content
        return set_spec(content, self.alternative.spec, content["spec"], "change it back")

    @cached_property
    def _kept(self) -> KeptRevisions:
        return KeptRevisions(self._changed_further)

    @cached_property
    def _usual(self) -> list[StateDifference]:
        return _usual(self.rehearsal) if self.is_end else []

    def _changed_further(self) -> ScenarioRun:
        content = self.target.user_object.content
        specs = [content["spec"], *further_specs(content["spec"], self.alternative.spec)]
        further = (set_spec(content, *pair, "change it further") for pair in pairwise(specs))
        return self._changed(self.forth, self.back, *further)

    def created(self, *more: ScenarioStep) -> ScenarioRun | None:
        """Return the run without a history; None if there is none, because time has passed."""
        ref, spec, reference = self.target.ref, {"spec": self.alternative.spec}, self.rehearsal.reference
        if not self.is_end:
            return self.rehearsal.run([*self.prefix, *more], UserInputs({ref: spec}))
        if is_timed(reference):
            return None
        changed = {ref: {**self.target.user_object.content, **spec}}
        return self.rehearsal.run([*afresh(reference, changed=changed), *more])

    @cached_property
    def _created_again(self) -> Again:
        return self.rehearsal.repeated(self.created, partial(self._changed, self.forth, self.back, self.forth))

    @cached_property
    def _back_again(self) -> Again:
        changes = self.forth, self.back, self.forth, self.back
        return self.rehearsal.repeated(self._changed, partial(self._changed, *changes))

    def _changed(self, *changes: ScenarioStep) -> ScenarioRun:
        return self.rehearsal.run([*self.prefix, *changes])

    def _later(self, seconds: float) -> tuple[Moment, Moment] | None:
        """Return the state of a resource that was created so, and after the change, when time has passed."""
        changed = self._changed(self.forth, advance(seconds))
        created = self.created(advance(seconds))
        if created is None or ended_early(changed) or ended_early(created):
            return None
        return Moment(created, -1), Moment(changed, -1)

    def is_declined(self, moments: tuple[Moment, Moment, Moment]) -> bool:
        """Return whether the operator reports that it does not carry the change out, or has finished its work."""
        ref, rehearsal, after = self.target.ref, self.rehearsal, moments[2]
        is_idle = all(write.step != len(after.run.steps) + after.number for write in after.run.writes)
        if is_idle and is_finished(self.before.state.get(ref, {})):
            return True
        is_named = _is_scalar(self.target.user_object.content["spec"], self.alternative.spec)
        return (is_named and holds_on(*moments, ref, rehearsal.masks)) or _is_declined(*moments, ref, rehearsal)

    def judge_forth(self, moments: tuple[Moment, Moment, Moment]) -> Iterator[Violation]:
        """Compare the state after the change with that of a resource which was created so."""
        before, created, after = moments
        ref, objects = self.target.ref, user_objects(self.rehearsal.reference)
        text = f"after {self.alternative.text} the state is not as created"

        def dismisses(each: StateDifference) -> bool:
            return self._kept.keep(each) or is_released(each, created.run, objects)

        yield from self.rehearsal.compare(
            "transition", text, created, after, self._created_again, usual=self._usual, dismisses=dismisses
        )
        if not refuses(after.state.get(ref, {}), before.state.get(ref, {})):
            yield from compare_outside(text, created, after, self._created_again, self.rehearsal)
        yield from compare_deadlines(text, moments, ref, self._later)

    def judge_back(self, run: ScenarioRun) -> Iterator[Violation]:
        """Compare the state after the change is undone with that before."""
        text = f"after {self.alternative.text} and back the state is not as before"
        if _is_declined(Moment(run, -2), self.before, Moment(run, -1), self.target.ref, self.rehearsal):
            return
        leftovers = {each.ref for each in self._usual if each.is_extra}  # which need not stay

        def dismisses(each: StateDifference) -> bool:
            return self._kept.keep(each) or (each.is_missing and each.ref in leftovers)

        after = Moment(run, -1)
        yield from self.rehearsal.compare("transition", text, self.before, after, self._back_again, dismisses=dismisses)
        yield from compare_outside(text, self.before, after, self._back_again, self.rehearsal)


def _is_declined(before: Moment, expected: Moment, after: Moment, owner: ObjectRef, rehearsal: Rehearsal) -> bool:
    """Return whether the operator leaves all as it was and reports that the change is impossible."""
    statuses = [normalized(moment.state, rehearsal.masks).get(owner, {}) for moment in (after, before)]
    changed = rehearsal.differences(before, after)
    return is_declined(rehearsal.differences(expected, after), changed, *statuses)


def _usual(rehearsal: Rehearsal) -> list[StateDifference]:
    """Return what the scenario's history leaves at its end, such as counts of its changes."""
    world = rehearsal.remembered("world", lambda: rehearsal.run(afresh(rehearsal.reference)))
    return [] if ended_early(world) else rehearsal.differences(Moment(world, -1), Moment(rehearsal.reference, -1))


def _is_scalar(before: Any, after: Any) -> bool:
    """Return whether a text or number is changed to another one, such as the name of what does not exist; not to 0."""
    return any(new and all(map(_is_text_or_number, (old, new))) for _, old, new in differences(before, after))


def _is_text_or_number(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def after_creation(run: ScenarioRun) -> Iterator[TransitionTarget]:
    """Yield the custom resources of the user, as created, with the changes of a field or two."""
    for number in range(len(run.states)):
        for user_object, schema in custom_objects(run, user_objects(run, number)):
            spec = user_object.content.get("spec")
            if user_object.creation.step == number and _is_first(run, user_object) and isinstance(spec, dict):
                single = alternatives(schema, spec, {**_references(run, number, spec), **run.examples})
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
            single = alternatives(schema, spec, {})
            renamed = alternatives(schema, spec, _references(run, last, spec))[len(single) :]
            yield TransitionTarget(last, user_object, [*_earlier(user_object, spec), *firsts(single), *renamed])


def _references(run: ScenarioRun, step: int, spec: Any) -> dict[str, list[Any]]:
    """Return the names of other objects of the user by the path at which one of the same resource is named."""
    names: dict[tuple[str, str], list[str]] = {}
    for ref in user_objects(run, step):
        names.setdefault(ref[:2], []).append(ref.name)
    return references(spec, [*names.values()])


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
