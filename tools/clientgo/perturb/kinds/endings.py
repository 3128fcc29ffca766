"""Ends of a scenario: everything that the user created is deleted, while the operator runs, is down, or crashes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from clientgo.perturb.differences import FieldPath, adds, text_of, value_at
from clientgo.perturb.kinds.faults import AtWrite, Down, InterruptedCreation
from clientgo.perturb.kinds.lasting import asks_to_retain, leftovers
from clientgo.perturb.kinds.outside import OutsideDifference, outside_differences
from clientgo.perturb.kinds.rehearsal import Moment, Rehearsal, Verdict, ended_early, not_applicable
from clientgo.perturb.kinds.userobjects import UserObject, afresh, custom_objects, user_objects
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
    if not _are_reconciled(run, remaining):
        return
    yield ()
    yield (DOWN,)
    if any(run.states[-1][ref]["metadata"].get("finalizers") for ref in remaining):
        for number in range(1, MAX_WRITES + 1):
            for fault in _FAULTS:
                yield fault, str(number)


def _are_reconciled(run: ScenarioRun, objects: dict[ObjectRef, UserObject]) -> bool:
    """Return whether there are custom resources among objects, or any of an operator of built-in kinds alone."""
    return any(custom_objects(run, objects)) or (bool(objects) and not run.definitions)


def judge_ending(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Delete what the user created, custom resources first; nothing may be left behind in the cluster and outside.

    Raises:
        ValueError: the arguments are invalid.
    """
    reference = rehearsal.reference
    steps = [*rehearsal.steps, *deletions(reference, user_objects(reference))]

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
    if arguments:
        usual = rehearsal.remembered("delete-all", play)
        return run, [*_compared(rehearsal, run, usual, play, arguments)]
    if removals := _removals(run, len(rehearsal.steps)):
        text = f"with the custom resources the operator removes what the user has given an object: {removals[0]}"
        return run, [Violation("left-behind", text, tuple(removals))]
    additions = _additions(run, len(rehearsal.steps)) or _children(rehearsal)
    text = f"after the custom resources are deleted, what the operator has added stays: {', '.join(additions[:1])}"
    return run, [Violation("left-behind", text, tuple(additions))] if additions else []


def _children(rehearsal: Rehearsal) -> list[str]:
    """Return the operator's objects that are left without custom resources, and would not be there without them.

    Later they may be gone with other objects of the user, such as a namespace.
    """
    objects = user_objects(rehearsal.reference)
    customs, *further = deletions(rehearsal.reference, objects)
    if not further:
        return []
    names = {each.ref for each, _ in custom_objects(rehearsal.reference, objects)}
    run = rehearsal.run([*rehearsal.steps, customs, rehearsal.patience()])
    without = rehearsal.run(afresh(rehearsal.reference, without=names))
    if ended_early(run) or ended_early(without):
        return []
    return sorted(map(str, leftovers(run, rehearsal.lasting) - without.states[-1].keys()))


def _removals(run: ScenarioRun, number: int) -> list[str]:
    """Return the labels and items of lists that the user gave objects, and that are only gone after a step."""
    touched = {change.ref for change in run.changes if change.actor == "operator" and change.step == number}
    results = []
    for ref, user_object in user_objects(run, number - 1).items():
        before, after = (state.get(ref) for state in run.states[number - 1 : number + 1])
        if ref in touched and before is not None and after is not None and not is_deleting(after):
            items = (item for item in _items(user_object.content) if item in _items(before))
            lost = (item for item in items if item not in _items(after))
            results += [f"{ref} {'.'.join(path)}: {value}" for path, value in lost]
    return results


def _items(obj: Object) -> list[tuple[FieldPath, Any]]:
    """Return the labels, annotations and data of an object, and the items of its lists."""
    above: list[FieldPath] = [("metadata", "labels"), ("metadata", "annotations"), ("data",)]
    maps = [(*path, key) for path in above for key in value_at(obj, path) or {}]
    return [
        *((path, value_at(obj, path)) for path in maps),
        *((path, item) for path in list_paths(obj) for item in value_at(obj, path)),
    ]


def list_paths(obj: Object) -> list[FieldPath]:
    """Return the paths of the lists of an object, and of its spec."""
    paths: list[FieldPath] = [*((name,) for name in obj), *(("spec", name) for name in obj.get("spec") or {})]
    return [path for path in paths if isinstance(value_at(obj, path), list)]


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
    rehearsal: Rehearsal,
    run: ScenarioRun,
    usual: ScenarioRun,
    play: Callable[..., ScenarioRun],
    arguments: tuple[str, ...],
) -> Iterator[Violation]:
    """Compare with the deletions without a fault."""
    if ended_early(usual):
        return
    run.remaining = frozenset(usual.states[-1])
    again = rehearsal.repeated(play, partial(play, arguments=arguments))
    text = "after everything is deleted the state differs"
    yield from rehearsal.compare("final-state", text, Moment(usual, -1), Moment(run, -1), again, is_extra_only=True)
    if run.outside and _added_outside(Moment(usual, -1), Moment(run, -1), rehearsal) and (moments := again()):
        for path, before, after in _added_outside(*moments, rehearsal)[:1]:
            line = f"{'.'.join(path)}: - {text_of(before)} + {text_of(after)}"
            text = f"after everything is deleted the state outside the cluster differs: {line}"
            yield Violation("outside", text, (line,))


def _added_outside(expected: Moment, actual: Moment, rehearsal: Rehearsal) -> list[OutsideDifference]:
    """Return what is outside in addition: an operator that leaves all there leaves less if it has done less."""
    return [each for each in outside_differences(expected, actual, rehearsal.masks) if adds(*each[1:])]


def derive_interruptions(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: the number of a write."""
    for write in run.writes:
        if write.step >= 0 and _are_reconciled(run, user_objects(run, write.step)):
            yield (str(write.number),)


def judge_interruption(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Crash before a write, and delete what the user created before the operator starts again; nothing may be left.

    Raises:
        ValueError: there is no such write.
    """
    [number] = arguments
    step = next((write.step for write in rehearsal.reference.writes if write.number == int(number)), None)
    if step is None:
        raise ValueError(f"write {number} not found: the scenario has changed")
    objects = user_objects(rehearsal.reference, step)
    steps = [*rehearsal.steps[: step + 1], *deletions(rehearsal.reference, objects)]

    def play(*more: ScenarioStep, arguments: tuple[str, ...] = ()) -> ScenarioRun:
        perturbation = InterruptedCreation(number, step + 1) if arguments else None
        return rehearsal.run([*steps, *more], AS_WRITTEN, perturbation)

    run = play(arguments=arguments)
    if ended_early(run):
        return not_applicable(run)
    usual = rehearsal.remembered(f"deleted after {step}", play)
    violations = [*_compared(rehearsal, run, usual, play, arguments)]
    return run, [*violations, *_left_changed(number, step, objects, rehearsal)]


def _left_changed(
    number: str, step: int, objects: dict[ObjectRef, UserObject], rehearsal: Rehearsal
) -> Iterator[Violation]:
    """Yield what other objects have once the custom resources are gone, and without the crash have not."""
    customs, *further = deletions(rehearsal.reference, objects)
    if not further:
        return
    steps = [*rehearsal.steps[: step + 1], customs, rehearsal.patience()]
    usual = rehearsal.remembered(f"left after {step}", lambda: rehearsal.run(steps))
    run = rehearsal.run(steps, AS_WRITTEN, InterruptedCreation(number, step + 1))
    if ended_early(usual) or ended_early(run):
        return
    for each in rehearsal.differences(Moment(usual, -1), Moment(run, -1)):
        user_value = value_at(objects[each.ref].content, each.path) if each.ref in objects else None
        if each.path[:1] == ("spec",) and user_value == each.expected:
            text = f"after a crash the custom resources are deleted, and what the operator has changed stays: {each}"
            yield Violation("left-behind", text)
            return


def _perturbation(arguments: tuple[str, ...], reference: ScenarioRun) -> Perturbation | None:
    if not arguments:
        return None
    if arguments == (DOWN,):
        return Down(str(len(reference.states) + 1))
    fault, number = arguments
    return AtWrite(fault, str(len(reference.writes) + int(number)))


def deletions(run: ScenarioRun, objects: dict[ObjectRef, UserObject]) -> list[ScenarioStep]:
    """Return the steps that delete custom resources, then other objects; the last ones created first."""
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
