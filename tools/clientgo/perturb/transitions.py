"""Transitions: changes of a custom resource to other valid values, one field or two at a time, and back again.

A controller must reach the state that it would have reached if the changed resource had been created in an empty
cluster, and the first state again after the change is undone. What a resource's history leaves behind, shows here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clientgo.perturb.compare import Masks, diff_lines, normalized
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import ClusterState, Object, ObjectChange, ObjectRef
from clientgo.perturb.steps import ScenarioStep, ScenarioUser, Specs
from clientgo.perturb.values import Alternative, Schema, alternatives, pairs

_HISTORY = frozenset(("replicasets.apps", "controllerrevisions.apps"))
_REVISION = "deployment.kubernetes.io/revision"

RunSteps = Callable[[Sequence[ScenarioStep], Specs], ScenarioRun]
"""Runs steps, in which the objects of these names are created with other specs."""


def derive_transitions(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name, and label of the change."""
    for change in _created(run):
        name = f"{change.ref.namespace}/{change.ref.name}" if change.ref.namespace else change.ref.name
        for alternative in _alternatives(run, change):
            yield change.ref.resource, name, alternative.label


def judge_transition(
    arguments: tuple[str, ...], reference: ScenarioRun, steps: Sequence[ScenarioStep], masks: Masks, run_steps: RunSteps
) -> tuple[ScenarioRun, list[Violation]]:
    """Change a resource and change it back; return the run, and where it differs from runs without a history.

    Raises:
        ValueError: there is no such change.
    """
    change, alternative = _find(reference, arguments)
    prefix, created = steps[: change.step + 1], change.new or {}
    run = run_steps([*prefix, _set_spec(created, alternative), _set_back(created)], {})
    if run.failure or run.noise or len(run.states) < len(run.steps):
        run.failure = ""  # a change that the server rejects is not one
        return run, []
    fresh = run_steps(prefix, {change.ref: alternative.spec})
    violations: list[Violation] = []
    if fresh.noise:
        violations.append(Violation("quiet", f"created with {alternative.text}: {fresh.noise}"))
    elif not fresh.failure and len(fresh.states) == len(prefix):
        violations += _compared(f"after {alternative.text}", "as created", fresh.states[-1], run.states[-2], masks)
    before = reference.states[change.step]
    violations += _compared(f"after {alternative.text} and back", "as before", before, run.states[-1], masks)
    return run, violations


def _compared(
    when: str, expectation: str, expected: ClusterState, actual: ClusterState, masks: Masks
) -> Iterator[Violation]:
    lines = diff_lines(_without_history(normalized(expected, masks)), _without_history(normalized(actual, masks)))
    if lines:
        yield Violation("transition", f"{when} the state is not {expectation}: {lines[0].strip()}", tuple(lines[:40]))


def _without_history(state: Mapping[ObjectRef, Any]) -> dict[ObjectRef, Any]:
    """Return the objects without what the server's controllers record about earlier states."""
    results = {}
    for ref, obj in state.items():
        if ref.resource in _HISTORY:
            continue
        if ref.resource.endswith((".apps", ".batch")):
            metadata = dict(obj["metadata"])
            metadata["annotations"] = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _REVISION}
            status = {k: v for k, v in (obj.get("status") or {}).items() if k != "conditions"}
            obj = {**obj, "metadata": metadata, "status": status}
        results[ref] = obj
    return results


def _created(run: ScenarioRun) -> Iterator[ObjectChange]:
    """Yield the first creation of each custom resource by the user."""
    served, names = _schemas(run.definitions), set()
    for change in run.changes:
        is_creation = change.kind == "ADDED" and change.actor == "user" and change.step >= 0
        if is_creation and change.ref not in names and (change.ref.resource, _version(change)) in served:
            names.add(change.ref)
            yield change


def _alternatives(run: ScenarioRun, change: ObjectChange) -> list[Alternative]:
    schema = _schemas(run.definitions)[change.ref.resource, _version(change)]
    spec = (change.new or {}).get("spec")
    if not isinstance(spec, dict):
        return []
    single = alternatives(schema, spec, run.examples)
    return [*single, *pairs(single, spec)]


def _find(run: ScenarioRun, arguments: tuple[str, ...]) -> tuple[ObjectChange, Alternative]:
    resource, name, label = (*arguments, "", "", "")[:3]
    for change in _created(run):
        if change.ref.resource == resource and name in (change.ref.name, f"{change.ref.namespace}/{change.ref.name}"):
            for alternative in _alternatives(run, change):
                if alternative.label == label:
                    return change, alternative
    raise ValueError(f"transition {':'.join(arguments)} not found: the resource or its schema has changed")


def _schemas(definitions: Sequence[Object]) -> dict[tuple[str, str], Schema]:
    """Return the schema of the spec by resource and apiVersion."""
    results: dict[tuple[str, str], Schema] = {}
    for definition in definitions:
        spec = definition["spec"]
        for version in spec["versions"]:
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            resource, api_version = f"{spec['names']['plural']}.{spec['group']}", f"{spec['group']}/{version['name']}"
            results[resource, api_version] = (schema.get("properties") or {}).get("spec") or {}
    return results


def _version(change: ObjectChange) -> str:
    return str((change.new or {}).get("apiVersion", ""))


def _set_spec(created: Object, alternative: Alternative) -> ScenarioStep:
    def act(user: ScenarioUser) -> None:
        user.replace({**_named(created), "spec": alternative.spec})

    return ScenarioStep(f"change {alternative.text}", act)


def _set_back(created: Object) -> ScenarioStep:
    return ScenarioStep("change it back", lambda user: user.replace({**_named(created), "spec": created["spec"]}))


def _named(created: Object) -> Object:
    metadata = {key: created["metadata"][key] for key in ("name", "namespace") if key in created["metadata"]}
    return {"apiVersion": created["apiVersion"], "kind": created["kind"], "metadata": metadata}
