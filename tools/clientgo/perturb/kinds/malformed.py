"""Malformed annotations: an object that the operator does not understand must not keep it from serving the others."""

from collections.abc import Iterator, Set

from clientgo.perturb.differences import StateDifference
from clientgo.perturb.kinds.rehearsal import Moment, Rehearsal, Verdict, ended_early, not_applicable, short_name
from clientgo.perturb.kinds.userobjects import UserObject, user_objects
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.steps import ScenarioStep, UserInputs

MALFORMED = "malformed!"
"""Value of an annotation that is not a number, time, name, JSON or truth value."""


def derive_malformed(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name and key of an annotation, if the operator reads such objects."""
    objects = _objects(run)
    for ref, user_object in objects.items():
        has_neighbours = sum(other.resource == ref.resource for other in objects) > 1
        for key in _annotations(user_object) if has_neighbours and ref.resource in run.read else ():
            yield ref.resource, short_name(ref), key


def judge_malformed(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Create an object with a malformed annotation: the others are as with a valid one, or as without the object.

    Raises:
        ValueError: there is no such object.
    """
    resource, name, key = (*arguments, "", "", "")[:3]
    objects = _objects(rehearsal.reference)
    ref = next((each for each in objects if (each.resource, short_name(each)) == (resource, name)), None)
    if ref is None:
        raise ValueError(f"object {resource} {name} not found: the scenario has changed")
    metadata = dict(objects[ref].content["metadata"])
    metadata["annotations"] = {**metadata["annotations"], key: MALFORMED}
    malformed = UserInputs({ref: {"metadata": metadata}})
    run = rehearsal.run(rehearsal.steps, malformed)
    if run.exit:
        return run, [Violation("bug", f"the operator ends because of the annotation {key} of {ref}: {run.exit}")]
    if ended_early(run):
        return not_applicable(run)

    def others(expected: UserInputs, *more: ScenarioStep) -> list[StateDifference]:
        runs = [rehearsal.run([*rehearsal.steps, *more], inputs) for inputs in (expected, malformed)]
        if any(map(ended_early, runs)):
            return []
        differing = rehearsal.differences(Moment(runs[0], -1), Moment(runs[1], -1))
        return [each for each in differing if each.ref in objects.keys() - {ref}]

    def again() -> Set[ObjectRef]:
        return {each.ref for each in others(UserInputs(), rehearsal.patience())} & {
            each.ref for each in others(UserInputs(late=frozenset((ref,))), rehearsal.patience())
        }

    differing = others(UserInputs())
    wrong = again() if differing else set()
    lines = tuple(str(each) for each in differing if each.ref in wrong)
    if not lines:
        return run, []
    text = f"with a malformed annotation {key} of {ref} another object is not served: {lines[0].strip()}"
    return run, [Violation("transition", text, lines)]


def _objects(run: ScenarioRun) -> dict[ObjectRef, UserObject]:
    """Return the objects of the user, also those that the operator has deleted."""
    return user_objects(run, len(run.states))


def _annotations(user_object: UserObject) -> list[str]:
    return sorted(user_object.content["metadata"].get("annotations") or {})
