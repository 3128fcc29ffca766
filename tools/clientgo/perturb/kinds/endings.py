"""Ends of a scenario: everything that the user created is deleted, while the operator runs, is down, or crashes."""

from collections.abc import Callable, Iterator, Sequence

from clientgo.perturb.compare import FieldPath, differences, text_of, value_at
from clientgo.perturb.kinds.faults import AtWrite, Down
from clientgo.perturb.kinds.lasting import asks_to_retain
from clientgo.perturb.kinds.rehearsal import Moment, Rehearsal, Verdict, ended_early, not_applicable
from clientgo.perturb.kinds.userobjects import UserObject, custom_objects, user_objects
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import Object, ObjectRef, is_deleting
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep, ScenarioUser
from clientgo.perturb.world import Perturbation

DOWN = "down"
_FAULTS = ("crash-before", "crash-stored", "error-500")
MAX_WRITES = 3
"""First writes of the operator after the deletions that fail."""


def derive_endings(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: none, `down`, or a fault and the number of a write after the scenario's."""
    remaining = user_objects(run)
    if not remaining or not any(custom_objects(run, remaining)):
        return
    yield ()
    yield (DOWN,)
    if any(run.states[-1][ref]["metadata"].get("finalizers") for ref in remaining):
        for number in range(1, MAX_WRITES + 1):
            for fault in _FAULTS:
                yield fault, str(number)


def judge_ending(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Delete what the user created, custom resources first; nothing may be left behind in the cluster and outside.

    Raises:
        ValueError: the arguments are invalid.
    """
    reference = rehearsal.reference
    steps = [*rehearsal.steps, *_deletions(reference)]

    def play(*more: ScenarioStep, arguments: tuple[str, ...] = ()) -> ScenarioRun:
        return rehearsal.run([*steps, *more], AS_WRITTEN, _perturbation(arguments, reference))

    run = play(arguments=arguments)
    if ended_early(run):
        return not_applicable(run)
    stuck = _stuck(run, reference)
    if stuck:
        later = play(rehearsal.patience(), arguments=arguments)
        stuck = "" if ended_early(later) else _stuck(later, reference)
    if stuck:
        return run, [Violation("left-behind", f"{stuck} is being deleted, and never gone")]
    if not arguments and (additions := _additions(run, len(rehearsal.steps))):
        text = f"after the custom resources are deleted, what the operator has added stays: {additions[0]}"
        return run, [Violation("left-behind", text, tuple(additions))]
    return run, [] if not arguments else [*_compared(rehearsal, run, play, arguments)]


def _additions(run: ScenarioRun, number: int) -> list[str]:
    """Return what the operator has added to objects of the user that are still there after a step, and not removed.

    Values that it has changed are no additions, such as a number of replicas: nothing says what they should be now.
    """
    added: dict[ObjectRef, set[FieldPath]] = {}
    for change in run.changes:
        if change.actor == "operator" and change.kind == "MODIFIED" and 0 <= change.step <= number:
            added.setdefault(change.ref, set()).update(_added_fields(change.old or {}, change.new or {}))
    results = []
    for ref, user_object in user_objects(run, number - 1).items():
        obj = run.states[number].get(ref)
        if obj is None or is_deleting(obj) or asks_to_retain(run, obj):
            continue
        present = set(_added_fields(user_object.content, obj))
        results += [f"{ref} {'.'.join(path)}" for path in sorted(present & added.get(ref, set()))]
    return results


def _added_fields(before: Object, after: Object) -> Iterator[FieldPath]:
    """Yield the fields of the spec, labels and finalizers that only the second object has."""
    for above in (("spec",), ("metadata", "labels"), ("metadata", "finalizers")):
        old, new = value_at(before, above), value_at(after, above)
        if isinstance(new, dict):
            yield from ((*above, name) for name, value in new.items() if value and not (old or {}).get(name))
        elif new and not old:
            yield above


def _compared(
    rehearsal: Rehearsal, run: ScenarioRun, play: Callable[..., ScenarioRun], arguments: tuple[str, ...]
) -> Iterator[Violation]:
    """Compare with the deletions without a fault."""
    usual = rehearsal.remembered("delete-all", play)
    if ended_early(usual):
        return
    run.remaining = frozenset(usual.states[-1])

    def again() -> tuple[Moment, Moment]:
        return Moment(play(rehearsal.patience()), -1), Moment(play(rehearsal.patience(), arguments=arguments), -1)

    text = "after everything is deleted the state differs"
    yield from rehearsal.compare("final-state", text, Moment(usual, -1), Moment(run, -1), again, is_extra_only=True)
    if run.outside and usual.outside[-1] != run.outside[-1]:
        difference = next(differences(usual.outside[-1], run.outside[-1]))
        line = f"{'.'.join(difference[0])}: - {text_of(difference[1])} + {text_of(difference[2])}"
        yield Violation(
            "outside", f"after everything is deleted the state outside the cluster differs: {line}", (line,)
        )


def _perturbation(arguments: tuple[str, ...], reference: ScenarioRun) -> Perturbation | None:
    if not arguments:
        return None
    if arguments == (DOWN,):
        return Down(str(len(reference.states) + 1))
    fault, number = arguments
    return AtWrite(fault, str(len(reference.writes) + int(number)))


def _deletions(run: ScenarioRun) -> list[ScenarioStep]:
    """Return the steps that delete custom resources, then other objects; the last ones created first."""
    objects = user_objects(run)
    customs = {each.ref for each, _ in custom_objects(run, objects)}
    ordered = list(reversed(objects.values()))
    groups = [[each for each in ordered if (each.ref in customs) == is_custom] for is_custom in (True, False)]
    texts = ("delete custom resources", "delete other objects")
    return [_delete(group, text) for group, text in zip(groups, texts, strict=True) if group]


def _delete(objects: Sequence[UserObject], text: str) -> ScenarioStep:
    def act(user: ScenarioUser) -> None:
        for each in objects:
            if each.ref in user.state:  # unless it was collected with another one
                user.delete(each.content)

    return ScenarioStep(text, act)


def _stuck(run: ScenarioRun, reference: ScenarioRun) -> str:
    """Return the name of an object of the user that is being deleted at the end of a run; empty if there is none."""
    final = run.states[-1]
    return next((str(ref) for ref in user_objects(reference) if ref in final and is_deleting(final[ref])), "")
