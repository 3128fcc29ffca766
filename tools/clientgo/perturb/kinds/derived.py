"""Values that the cluster derives from an operator's objects: defaults, and names of pods by a template's hash."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clientgo.perturb.differences import FieldPath, StateDifference, is_absent, value_at
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import Object, ObjectRef, owner_uids
from clientgo_apiserver.cluster.rollout import HASH_LABEL

HISTORY = frozenset(("replicasets.apps", "controllerrevisions.apps"))
"""Resources in which the cluster keeps the earlier templates of a workload."""


def is_default(difference: StateDifference, *runs: ScenarioRun) -> bool:
    """Return whether the server has chosen both values when the object was created, and nothing has changed them since.

    So it is with the pull policy of an image without a tag, which another image keeps.
    """
    values = difference.expected, difference.actual
    return bool(difference.path) and all(
        _is_chosen(difference, value, run) for value, run in zip(values, runs, strict=True)
    )


def _is_chosen(difference: StateDifference, value: Any, run: ScenarioRun) -> bool:
    ref, path = difference.ref, difference.path
    change = next((each for each in reversed(run.changes) if each.ref == ref and each.kind == "ADDED"), None)
    if change is None or change.actor != "operator" or value_at(change.new, path) != value:
        return False
    write = next((each for each in run.writes if each.revision >= change.revision), None)
    try:
        sent = msgspec.json.decode(write.body) if write is not None else None
    except ValueError:
        return False
    return sent is not None and value_at(sent, path) is None


def is_empty_struct(difference: StateDifference, definitions: Iterable[Object]) -> bool:
    """Return whether a custom resource has an empty struct for an absent one, whose fields are all optional.

    A struct without fields is a choice, such as that of a strategy.
    """
    ref, path, *values = difference
    if {} not in values or not any(map(is_absent, values)):
        return False
    schemas = (_schema_at(schema, path) for resource, _, schema in schemas_of(definitions) if resource == ref.resource)
    return any(schema.get("properties") and not schema.get("required") for schema in schemas)


def schemas_of(definitions: Iterable[Object]) -> Iterator[tuple[str, str, Object]]:
    """Yield resource, apiVersion and schema of each version of the custom resources."""
    for spec in (definition["spec"] for definition in definitions):
        for version in spec["versions"]:
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            yield f"{spec['names']['plural']}.{spec['group']}", f"{spec['group']}/{version['name']}", schema


def _schema_at(schema: Any, path: FieldPath) -> Object:
    for key in path:
        schema = schema or {}
        members = schema.get("properties") or {}
        schema = members.get(key) or schema.get("items") or schema.get("additionalProperties")
    return schema if isinstance(schema, dict) else {}


def by_workload(state: Mapping[ObjectRef, Object]) -> dict[ObjectRef, Object]:
    """Return a normalized state in which the names of a Deployment's pods do not tell the hash of its template.

    The pods' pull policies are those of the template, which is compared itself.
    """
    results: dict[ObjectRef, Object] = {}
    counts: Counter[ObjectRef] = Counter()
    for ref in sorted(state):
        obj = state[ref]
        digest = (obj["metadata"].get("labels") or {}).get(HASH_LABEL, "")
        if ref.resource != "pods" or not digest or f"-{digest}-" not in ref.name:
            results[ref] = obj
            continue
        stem = ref._replace(name=ref.name.partition(f"-{digest}-")[0])
        counts[stem] += 1
        results[stem._replace(name=f"{stem.name}-*{counts[stem]}")] = _without_hash(obj)
    return results


def scaler_of(state: Mapping[ObjectRef, Object], ref: ObjectRef) -> ObjectRef | None:
    """Return the name of the autoscaler of a workload; None if there is none."""
    return _scalers(state).get((ref.namespace, ref.resource.partition(".")[0], ref.name))


def without_scale(state: Mapping[ObjectRef, Object]) -> dict[ObjectRef, Object]:
    """Return a state of `by_workload` without the numbers of replicas that autoscalers choose, and their pods."""
    results: dict[ObjectRef, Object] = {}
    scaled = _scaled(state)
    for ref, obj in state.items():
        if ref in scaled:
            spec = {key: value for key, value in obj["spec"].items() if key != "replicas"}
            obj = {**{key: value for key, value in obj.items() if key != "status"}, "spec": spec}
        stem = ref.name.rpartition("-")[0]
        if ref.resource != "pods" or not any((each.namespace, each.name) == (ref.namespace, stem) for each in scaled):
            results[ref] = obj
    return results


def scales_of(state: Mapping[ObjectRef, Object]) -> list[Any]:
    """Return the numbers of replicas that autoscalers have chosen, which a status may report."""
    return [value_at(state[ref], ("spec", "replicas")) for ref in _scaled(state)]


def names_by_generation(
    differences: Iterable[StateDifference], expected: Mapping[ObjectRef, Object], actual: Mapping[ObjectRef, Object]
) -> dict[str, str]:
    """Return names that end with the owner's generation, in the expected state, and those in the other one instead."""
    differing = [*differences]
    extra = [each.ref for each in differing if each.is_extra and _ends_with_generation(each.ref, actual)]
    return {
        each.ref.name: other.name
        for each in differing
        for other in extra
        if each.is_missing and _ends_with_generation(each.ref, expected)
        and each.ref[:2] == other[:2] and each.ref.name.rpartition("-")[0] == other.name.rpartition("-")[0]
    }  # fmt: skip


def _ends_with_generation(ref: ObjectRef, state: Mapping[ObjectRef, Object]) -> bool:
    uids, number = owner_uids(state.get(ref) or {"metadata": {}}), ref.name.rpartition("-")[2]
    owners = (each["metadata"] for each in state.values() if each["metadata"]["uid"] in uids)
    return number.isdigit() and any(int(number) == owner.get("generation") for owner in owners)


def _scaled(state: Mapping[ObjectRef, Object]) -> set[ObjectRef]:
    scalers = _scalers(state)
    workloads = (ref for ref in state if ref.resource.endswith(".apps")) if scalers else ()
    return {ref for ref in workloads if (ref.namespace, ref.resource.partition(".")[0], ref.name) in scalers}


def _scalers(state: Mapping[ObjectRef, Object]) -> dict[tuple[str, str, Any], ObjectRef]:
    """Return the first autoscaler of each workload, by its namespace, plural and name."""
    scalers: dict[tuple[str, str, Any], ObjectRef] = {}
    for scaler, obj in state.items():
        if scaler.resource in _SCALERS:
            target = value_at(obj, ("spec", "scaleTargetRef")) or {}
            kind = f"{str(target.get('kind', 'Deployment')).lower()}s"
            scalers.setdefault((scaler.namespace, kind, target.get("name")), scaler)
    return scalers


def template_of(ref: ObjectRef, path: FieldPath) -> tuple[ObjectRef, FieldPath]:
    """Return the Deployment and the path in its template of a field of its pod in `by_workload`, else the arguments."""
    name, _, number = ref.name.partition("-*")  # also of a name whose hash is random
    if ref.resource != "pods" or not name or not number:
        return ref, path
    return ref._replace(resource="deployments.apps", name=name), ("spec", "template", *path)


def _without_hash(pod: Object) -> Object:
    metadata = {k: v for k, v in pod["metadata"].items() if k not in ("name", "generateName", "ownerReferences")}
    metadata["labels"] = {k: v for k, v in metadata["labels"].items() if k != HASH_LABEL}
    return {**_without_copies(pod), "metadata": metadata}


def _without_copies(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_copies(member) for key, member in value.items() if key not in _COPIES}
    return [_without_copies(item) for item in value] if isinstance(value, list) else value


_SCALERS = ("horizontalpodautoscalers.autoscaling", "scaledobjects.keda.sh")

_COPIES = ("imagePullPolicy", "containerStatuses", "initContainerStatuses")
"""Fields of a pod that follow from its template and its uid."""
