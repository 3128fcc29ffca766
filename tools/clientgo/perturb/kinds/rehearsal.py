"""Variations: runs of other steps than the scenario's, and the comparison with a state that has another history.

A controller decides by what exists, not by how it came about. So the same objects of the user must lead to the same
state. Effects that nothing undoes, such as Jobs that ran, namespaces and counters, are no differences.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol

from clientgo.perturb.compare import Masks, normalized, unplaced
from clientgo.perturb.differences import (
    MaskedValue,
    StateDifference,
    differences,
    is_absent,
    state_differences,
    time_of,
    value_at,
)
from clientgo.perturb.kinds.derived import (
    HISTORY,
    by_workload,
    is_default,
    is_empty_struct,
    names_by_generation,
    scales_of,
    without_scale,
)
from clientgo.perturb.kinds.lasting import LASTING
from clientgo.perturb.kinds.order import are_exchanged, counts_attempts, is_logged, is_record
from clientgo.perturb.record import OperatorWrite, ScenarioRun, Violation
from clientgo.perturb.state import ClusterState, Object, ObjectChange, ObjectRef, owner_uids
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep, UserInputs, advance
from clientgo.perturb.world import Perturbation

MAX_LINES = 40
EXPECTED_FROM = "the state that is expected follows from: "

POLL_SECONDS = 900.0
"""Seconds after which a controller that polls has seen a change."""

_REVISION = "deployment.kubernetes.io/revision"
_REFUSED = frozenset((400, 422))


class RunSteps(Protocol):
    """Runs steps, in which the user's objects and the perturbation may be other ones."""

    def __call__(
        self,
        steps: Sequence[ScenarioStep],
        inputs: UserInputs = AS_WRITTEN,
        perturbation: Perturbation | None = None,
        /,
    ) -> ScenarioRun:
        """Return the run."""


class Moment(NamedTuple):
    """State of a run after a step."""

    run: ScenarioRun
    number: int

    @property
    def state(self) -> ClusterState:
        """The objects."""
        return self.run.states[self.number]

    @property
    def changed(self) -> set[ObjectRef]:
        """The objects that the operator has changed in the step."""
        step = range(len(self.run.states))[self.number]
        return {each.ref for each in self.run.changes if each.step == step and each.actor == "operator"}


Again = Callable[[], tuple[Moment, Moment] | None]
"""Plays two runs again, with more time and more of the same changes."""

Verdict = tuple[ScenarioRun, list[Violation]]
"""Run of a variation, and what is wrong with it beside what the oracles find."""


@dataclass(frozen=True)
class Rehearsal:
    """Scenario that a variation starts from."""

    reference: ScenarioRun
    steps: Sequence[ScenarioStep]
    masks: Masks
    run: RunSteps
    lasting: frozenset[str] = field(default=frozenset())
    """Resources that the scenario names as effects that are not undone."""
    poll_seconds: float = POLL_SECONDS
    memo: dict[str, ScenarioRun] = field(default_factory=dict, repr=False)
    """Runs that several plans compare with."""

    def until(self, reference: ScenarioRun) -> "Rehearsal":
        """Return the rehearsal of the steps of a shorter reference."""
        return replace(self, reference=reference, steps=self.steps[: len(reference.states)])

    def remembered(self, name: str, play: Callable[[], ScenarioRun]) -> ScenarioRun:
        """Return the run of a name, which is played the first time."""
        if name not in self.memo:
            self.memo[name] = play()
        return self.memo[name]

    def patience(self) -> ScenarioStep:
        """Return a step in which a controller that polls sees what has changed."""
        return advance(self.poll_seconds)

    def playing(self, steps: Sequence[ScenarioStep], inputs: UserInputs = AS_WRITTEN) -> Callable[..., ScenarioRun]:
        """Return what runs these steps, and the further ones that it is given."""
        return lambda *more: self.run([*steps, *more], inputs)

    def repeated(self, *plays: Callable[[ScenarioStep], ScenarioRun | None]) -> Again:
        """Return what plays two runs with more time, once for all that compare them; None if one does not get so far.

        An operator that writes too often in so long a time is compared all the same.
        """

        @cache
        def again() -> tuple[Moment, Moment] | None:
            runs = [play(self.patience()) for play in plays]
            moments = [Moment(run, -1) for run in runs if run is not None and not _is_cut(run)]
            return (moments[0], moments[1]) if len(moments) == len(plays) else None

        return again

    def compare(
        self,
        oracle: str,
        text: str,
        expected: Moment,
        actual: Moment,
        again: Again,
        *,
        counts: bool = False,
        is_extra_only: bool = False,
        usual: Sequence[StateDifference] = (),
        dismisses: Callable[[StateDifference], bool] = lambda _: False,
    ) -> Iterator[Violation]:
        """Yield a violation if two states differ, also when `again` plays them.

        With `counts` larger counts are no difference, with `is_extra_only` nothing but an additional object is one,
        and those in `usual`, and that `dismisses` selects, are none.
        """
        first = [
            each
            for each in self.differences(expected, actual)
            if not any(_is_like(each, other) for other in usual)
            and not (counts and _is_larger_count(each))
            and (each.is_extra or not is_extra_only)
            and not dismisses(each)
        ]
        second = again() if first else None
        if second is not None:
            later = {(each.ref, each.path): each for each in self.differences(*second)}
            first = [
                each
                for each in first
                if _persists(each, later.get((each.ref, each.path))) and not comes_with_time(each, second[0])
            ]
        if first:
            lines = [str(each) for each in consequences_last(first, expected.run, actual.run)]
            details = (*lines[:MAX_LINES], EXPECTED_FROM + ", ".join(expected.run.steps))
            yield Violation(oracle, f"{text}: {lines[0].strip()}", details)

    def differences(self, expected: Moment, actual: Moment) -> list[StateDifference]:
        """Return the differences of two states, without effects that are not undone."""
        states = [normalized(moment.state, self.masks) for moment in (expected, actual)]
        if states[0] == states[1]:
            return []
        placed = _placed(expected.run) | _placed(actual.run)
        before, after = (without_scale(by_workload(without_history(state, placed))) for state in states)
        differing = (
            each for each in state_differences(before, after) if not is_default(each, expected.run, actual.run)
        )
        results = [part for each in differing if not is_logged(each, before, after) for part in _by_record(each)]
        namespaces = {each.ref.name for each in results if each.is_extra and each.ref.resource == "namespaces"}
        removed = {change.ref.resource for change in actual.run.changes if change.kind == "DELETED"}
        stays = self.lasting | (LASTING - removed)
        evicted = _deleted_for_good(actual.run)
        works = _works_of_requests(self.reference) | _works_of_requests(actual.run)
        unchanging = _claims_of_templates(actual.run) | works | _pods_of(works, after)
        scales = scales_of(expected.state), scales_of(actual.state)
        renamed = names_by_generation(results, expected.state, actual.state)
        untouched = _untouched(expected.run) & _untouched(actual.run)
        if are_exchanged(results, before, after):
            return []
        return [
            each
            for each in results
            if each.ref.resource not in self.lasting
            and not counts_attempts(each)
            and not is_empty_struct(each, actual.run.definitions)
            and not (each.path[:1] == ("status",) and each.ref in untouched)
            and not _is_renamed(each, renamed)
            and not (each.is_extra and _stays(each, stays, namespaces))
            and not (each.is_missing and each.ref in evicted)
            and not (each.path[:1] == ("spec",) and each.ref in unchanging)
            and not (each.path[:1] == ("status",) and each.expected in scales[0] and each.actual in scales[1])
        ]


def consequences_last(differences: Iterable[StateDifference], *runs: ScenarioRun) -> list[StateDifference]:
    """Return the differences; last those of what the server creates, such as the pods of a workload."""
    by_server = set[ObjectRef]().union(*(run.created_by_server for run in runs))
    return sorted(differences, key=lambda each: each.ref in by_server)


def _untouched(run: ScenarioRun) -> set[ObjectRef]:
    """Return the user's objects that the operator has never written: their status is the server's, as that of nodes."""
    return run.created_by_user.keys() - {change.ref for change in run.changes if change.actor == "operator"}


def _is_renamed(difference: StateDifference, names: Mapping[str, str]) -> bool:
    """Return whether an object, or a text that names one, has another name because its owner was changed more often."""
    name = difference.ref.name
    is_other = (difference.is_missing and name in names) or (difference.is_extra and name in names.values())
    return is_other or (isinstance(difference.expected, str) and names.get(difference.expected) == difference.actual)


def _stays(difference: StateDifference, resources: frozenset[str], namespaces: set[str]) -> bool:
    """Return whether an additional object is an effect that is not undone, or belongs to one."""
    owners = (difference.actual.get("metadata") or {}).get("ownerReferences") or ()
    return (
        difference.ref.resource in resources
        or difference.ref.namespace in namespaces
        or any(owner.get("kind") == "Job" for owner in owners)
    )


def _deleted_for_good(run: ScenarioRun) -> set[ObjectRef]:
    """Return the user's objects that the operator deleted, such as by an eviction: it cannot create them again."""
    deleted = {change.ref for change in run.changes if change.kind == "DELETED" and change.actor != "user"}
    return deleted & run.created_by_user.keys()


def _claims_of_templates(run: ScenarioRun) -> set[ObjectRef]:
    """Return the claims that the server created by a StatefulSet's template, which another template does not change."""
    return {ref for ref in run.created_by_server if ref.resource == "persistentvolumeclaims"}


def _works_of_requests(run: ScenarioRun) -> set[ObjectRef]:
    """Return the Jobs, and pods that end, of which the operator has created several for an owner: one for a request."""
    works: dict[tuple[str, ...], set[ObjectRef]] = {}
    for change in run.changes:
        if _is_creation(change) and change.new is not None and _ends(change.ref, change.new):
            works.setdefault((change.ref.resource, *owner_uids(change.new)), set()).add(change.ref)
    return {ref for refs in works.values() if len(refs) > 1 for ref in refs}


def _ends(ref: ObjectRef, obj: Object) -> bool:
    return ref.resource == "jobs.batch" or value_at(obj, ("spec", "restartPolicy")) in ("Never", "OnFailure")


def _pods_of(jobs: set[ObjectRef], state: Mapping[ObjectRef, Object]) -> set[ObjectRef]:
    owners = ((ref, owner) for ref, obj in state.items() for owner in obj["metadata"].get("ownerReferences") or ())
    return {ref for ref, owner in owners if ObjectRef("jobs.batch", ref.namespace, owner.get("name", "")) in jobs}


def _by_record(difference: StateDifference) -> Iterator[StateDifference]:
    """Yield the differences of single annotations or fields of the status, if all are absent in one of the states."""
    expected, actual = (value if isinstance(value, dict) else {} for value in (difference.expected, difference.actual))
    if not is_record(difference.path) or not (expected or actual):
        yield difference
        return
    for path, before, after in differences(expected, actual, difference.path):
        yield difference._replace(path=path, expected=before, actual=after)


def _persists(first: StateDifference, second: StateDifference | None) -> bool:
    """Return whether a difference is there again, and is not a record of what has happened, which grows each time."""
    if second is None or _are_random(first, second):
        return False
    is_other = isinstance(first.actual, MaskedValue) or first.actual != second.actual
    return not (is_record(first.path) and is_other)


def _are_random(first: StateDifference, second: StateDifference) -> bool:
    """Return whether a text is another one in each of four runs, such as a name that an operator generates."""
    values = [*first[2:], *second[2:]]
    are_texts = all(isinstance(value, str) and time_of(value) is None for value in values)
    return are_texts and len(set(values)) == len(values)


def comes_with_time(difference: StateDifference, later: Moment) -> bool:
    """Return whether a value, or an object, is one that also comes as time passes in the run that is expected."""
    ref, path, _, value = difference
    last, kind = len(later.run.steps) - 1, "DELETED" if difference.is_missing else "ADDED"
    changes = (each for each in later.run.changes if each.step == last and each.ref[:2] == ref[:2])
    if not path:
        return any(each.kind == kind and each.ref.name.startswith(ref.name.partition("*")[0]) for each in changes)
    value = None if is_absent(value) else value or None
    matching = (each for each in changes if each.ref == ref)
    return any((value_at(each.new, path) or None) == value != (value_at(each.old, path) or None) for each in matching)


def _is_like(difference: StateDifference, usual: StateDifference) -> bool:
    """Return whether a difference is a usual one, or another value of the same record."""
    if difference[:2] != usual[:2]:
        return False
    return is_record(difference.path) or (difference.expected, difference.actual) == (usual.expected, usual.actual)


def _is_larger_count(difference: StateDifference) -> bool:
    """Return whether the operator has counted more than in the other run, such as its attempts."""
    before, after = _number(difference.expected), _number(difference.actual)
    return is_record(difference.path) and after is not None and after > (before or 0)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return float(value) if re.fullmatch(r"\d+", value) else None
    return value if isinstance(value, int | float) else None


def _placed(run: ScenarioRun) -> set[ObjectRef]:
    """Return the pods for which the cluster has chosen a node, after the order in which they were created."""
    return {
        change.ref
        for change in run.changes
        if change.ref.resource == "pods" and change.actor == "server" and value_at(change.new, ("spec", "nodeName"))
    }


def without_history(state: Mapping[ObjectRef, Any], placed: Container[ObjectRef] = ()) -> dict[ObjectRef, Any]:
    """Return the objects without what the server's controllers record about earlier states.

    Pods that are `placed` have no node.
    """
    results = {}
    for ref, obj in state.items():
        if ref.resource in HISTORY:
            continue
        if ref in placed:
            obj = unplaced(obj)
        if ref.resource.endswith((".apps", ".batch")):
            metadata = dict(obj["metadata"])
            metadata["annotations"] = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _REVISION}
            status = {k: v for k, v in (obj.get("status") or {}).items() if k != "conditions"}
            obj = {**obj, "metadata": metadata, "status": status}
        results[ref] = obj
    return results


def ended_early(run: ScenarioRun) -> bool:
    """Return whether a run did not get through its steps: they do not apply, and nothing is reported."""
    return bool(run.noise) or _is_cut(run)


def _is_cut(run: ScenarioRun) -> bool:
    return bool(run.failure or run.exit) or len(run.states) < len(run.steps)


def not_applicable(run: ScenarioRun, reason: str = "") -> Verdict:
    """Return the verdict on a run that shows nothing: a step has failed, or for another reason."""
    run.not_applicable = run.failure or reason
    run.failure = ""
    return run, []


def refused(run: ScenarioRun, step: int) -> list[str]:
    """Return the writes of a step that the server found invalid."""
    return [str(each) for each in run.writes if each.step == step and each.status in _REFUSED and not each.injected]


def forgive_required(run: ScenarioRun, created: ScenarioRun) -> bool:
    """Take the writes out of a run in which the server misses a value, as in the other one; return whether some do.

    The schema admits an empty value that a child must have, and the operator retries until it is there.
    """
    resources = {each.subject.resource for each in created.writes if _lacks_value(each)}
    run.writes = [each for each in run.writes if not _lacks_value(each) or each.subject.resource not in resources]
    return bool(resources)


def _lacks_value(write: OperatorWrite) -> bool:
    return write.status in _REFUSED and not write.injected and "Required value" in write.message


def holds_on(before: Moment, created: Moment, after: Moment, owner: ObjectRef, masks: Masks) -> bool:
    """Return whether the operator retains what it has done, and reports a value by which it would do nothing."""
    if owner not in before.state or not has_no_children(created, owner):
        return False
    states = [normalized(moment.state, masks) for moment in (before, created, after)]
    earlier, fresh, current = (_report(state.get(owner, {})) for state in states)
    if has_no_children(before, owner) and (not earlier or fresh):
        return False  # a report tells that it has done something, and does nothing by the other value
    return (fresh == current != earlier or (not fresh and current == earlier)) and all(
        states[0].get(ref) == states[2].get(ref) for ref in states[0] if ref not in states[1]
    )


def has_no_children(moment: Moment, owner: ObjectRef) -> bool:
    """Return whether the operator has created nothing, except for objects that other ones own."""
    uid = moment.state[owner]["metadata"]["uid"] if owner in moment.state else ""
    created = (change.new or {} for change in moment.run.changes if _is_creation(change))
    return not any(uid in owners or not owners for owners in map(owner_uids, created))


def _is_creation(change: ObjectChange) -> bool:
    return change.actor == "operator" and change.kind == "ADDED"


def _report(obj: Object) -> Any:
    status = obj.get("status")
    if not isinstance(status, dict):
        return status
    return {key: value for key, value in status.items() if key != "observedGeneration"}


def is_left_alone(run: ScenarioRun) -> bool:
    """Return whether the operator creates nothing in a run."""
    return not any(map(_is_creation, run.changes))


def short_name(ref: ObjectRef) -> str:
    """Return the namespace and name of an object, as in a plan's name."""
    return f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name


def identified(obj: Object) -> Object:
    """Return what names an object."""
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
