"""Two perturbations together: a field of a custom resource is changed, and one of the writes that follow fails."""

from collections.abc import Iterator

from clientgo.perturb.kinds.faults import AtWrite
from clientgo.perturb.kinds.rehearsal import Moment, Rehearsal, Verdict, ended_early, not_applicable, short_name
from clientgo.perturb.kinds.userobjects import set_spec
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep
from clientgo.perturb.transitions import after_creation, find, firsts

_FAULTS = (("crash-stored", 1), ("error-500", 1), ("crash-stored", 2), ("crash-stored", 3))
"""Faults, each with the number of the write after the change."""


def derive_crossings(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name, label of the change, fault, and number of a write after it."""
    for target in after_creation(run):
        for alternative in firsts(target.alternatives):
            for fault, number in _FAULTS:
                yield target.ref.resource, short_name(target.ref), alternative.label, fault, str(number)


def judge_crossing(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Change a resource, and let a write of the operator fail; compare with the change without a fault.

    Raises:
        ValueError: there is no such change.
    """
    *change, fault, number = arguments
    target, alternative = find(after_creation(rehearsal.reference), tuple(change))
    content = target.user_object.content
    forth = set_spec(content, content["spec"], alternative.spec, f"change {alternative.text}")
    steps = [*rehearsal.steps[: target.step + 1], forth]
    usual = rehearsal.remembered(":".join(change), lambda: rehearsal.run(steps))
    writes = [write.number for write in usual.writes if write.step == len(steps) - 1]
    if ended_early(usual) or len(writes) < int(number):
        return not_applicable(usual, "the operator makes fewer writes after the change")

    def play(*more: ScenarioStep) -> ScenarioRun:
        return rehearsal.run([*steps, *more], AS_WRITTEN, AtWrite(fault, str(writes[int(number) - 1])))

    run = play()
    if ended_early(run):
        return not_applicable(run)

    again = rehearsal.repeated(rehearsal.playing(steps), play)
    text = f"after {alternative.text} and {fault} at a write the state is not as without it"
    return run, [*rehearsal.compare("final-state", text, Moment(usual, -1), Moment(run, -1), again)]
