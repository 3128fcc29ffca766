"""Values that the cluster derives from an operator's objects: defaults, and names of pods by a template's hash."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.perturb.compare import FieldPath, StateDifference, value_at
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import Object, ObjectRef
from clientgo_apiserver.cluster.rollout import HASH_LABEL


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


def template_of(ref: ObjectRef, path: FieldPath) -> tuple[ObjectRef, FieldPath]:
    """Return the Deployment and the path in its template of a field of its pod in `by_workload`, else the arguments."""
    name, _, number = ref.name.rpartition("-*")
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


_COPIES = ("imagePullPolicy", "containerStatuses", "initContainerStatuses")
"""Fields of a pod that follow from its template and its uid."""
