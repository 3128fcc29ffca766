"""Status of Deployments, ReplicaSets, StatefulSets and DaemonSets at a stage of their rollout, as pure functions.

Reasons, messages and arithmetic are those of Kubernetes' controllers, so that `kubectl rollout status`, `kubectl wait`
and programs that read conditions behave as on a cluster. Each function returns a merge patch of the status, in which
None removes a field; counts of zero are omitted, as with Go's `omitempty`.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo_apiserver.controllers.base import conditions_of
from clientgo_apiserver.names import SUFFIX_ALPHABET
from clientgo_apiserver.resources import Object


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """Progress of a rollout: `ready` replicas, `updated` ones with the new template; `late` if past its deadline."""

    ready: int
    updated: int
    template_changed: bool
    late: bool = False


def wanted_replicas(obj: Object) -> int:
    """Return `spec.replicas`, 1 if it is absent."""
    replicas = obj.get("spec", {}).get("replicas")
    return 1 if replicas is None else int(replicas)


def template_hash(obj: Object) -> str:
    """Hash the pod template into ten letters."""
    template = msgspec.json.encode(obj.get("spec", {}).get("template"), order="deterministic")
    number = int.from_bytes(hashlib.sha256(template).digest()[:8], "big")
    letters = []
    for _ in range(10):
        number, digit = divmod(number, len(SUFFIX_ALPHABET))
        letters.append(SUFFIX_ALPHABET[digit])
    return "".join(letters)


def deployment_status(obj: Object, stage: RolloutProgress, now: str) -> Object:
    """Return the status of a Deployment. `now` is an RFC 3339 time."""
    replicas = wanted_replicas(obj)
    counts = {
        "replicas": replicas,
        "updatedReplicas": stage.updated,
        "readyReplicas": stage.ready,
        "availableReplicas": stage.ready,
        "unavailableReplicas": max(0, replicas - stage.ready),
    }
    before = conditions_of(obj)
    enough = stage.ready >= replicas - max_unavailable(obj)
    text = f"Deployment {'has' if enough else 'does not have'} minimum availability."
    reason = "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable"
    conditions = [condition("Available", str(enough), reason, text), _progressing(obj, stage, before)]
    return {
        "observedGeneration": obj.get("metadata", {}).get("generation", 1),
        **{name: count or None for name, count in counts.items()},
        "conditions": [stamped(condition, before, now) for condition in conditions],
    }


def replica_set_status(obj: Object, ready: int) -> Object:
    """Return the status of a ReplicaSet; `replicas` is written even if it is 0."""
    replicas = wanted_replicas(obj)
    return {
        "observedGeneration": obj.get("metadata", {}).get("generation", 1),
        "replicas": replicas,
        "fullyLabeledReplicas": replicas or None,
        "readyReplicas": ready or None,
        "availableReplicas": ready or None,
    }


def stateful_set_status(obj: Object, stage: RolloutProgress) -> Object:
    """Return the status of a StatefulSet."""
    meta, replicas = obj["metadata"], wanted_replicas(obj)
    revision = f"{meta['name']}-{template_hash(obj)}"
    before = (obj.get("status") or {}).get("currentRevision") or revision
    strategy = obj["spec"].get("updateStrategy") or {}
    # With OnDelete no replica gets the new template, as nobody deletes one.
    on_delete = strategy.get("type") == "OnDelete"
    partition = replicas if on_delete else int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
    below_partition = min(partition, replicas) if before != revision else 0
    updated = min(stage.updated, replicas - below_partition)
    moved = below_partition or stage.template_changed
    return {
        "observedGeneration": meta.get("generation", 1),
        "replicas": replicas,
        "readyReplicas": stage.ready or None,
        "availableReplicas": stage.ready,
        "currentReplicas": (replicas - updated if moved and before != revision else replicas) or None,
        "updatedReplicas": updated or None,
        # The replicas below the partition keep their template, and so the set keeps its revision.
        "currentRevision": before if moved else revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def daemon_set_status(obj: Object, stage: RolloutProgress, nodes: int) -> Object:
    """Return the status of a DaemonSet that is to run on `nodes` nodes."""
    return {
        "observedGeneration": obj["metadata"].get("generation", 1),
        "currentNumberScheduled": nodes,
        "desiredNumberScheduled": nodes,
        "numberMisscheduled": 0,
        "numberReady": stage.ready,
        "numberAvailable": stage.ready or None,
        "numberUnavailable": max(0, nodes - stage.ready) or None,
        "updatedNumberScheduled": stage.updated or None,
    }


def max_surge(obj: Object) -> int:
    """Resolve `maxSurge` of a rolling update to a count, percentages rounded up; 0 for other strategies."""
    return resolve(_rolling_update(obj).get("maxSurge", "25%"), wanted_replicas(obj), up=True) if rolls(obj) else 0


def max_unavailable(obj: Object) -> int:
    """Resolve `maxUnavailable` of a rolling update to a count, percentages rounded down; 0 for other strategies."""
    replicas = wanted_replicas(obj)
    if not rolls(obj) or replicas == 0:
        return 0
    unavailable = resolve(_rolling_update(obj).get("maxUnavailable", "25%"), replicas, up=False)
    if max_surge(obj) == 0 and unavailable == 0:
        unavailable = 1  # Kubernetes' rule: a rollout that may neither add nor remove replicas would never progress
    return min(unavailable, replicas)


def rolls(obj: Object) -> bool:
    """Return whether a Deployment replaces its replicas step by step, and not all at once."""
    return bool((obj.get("spec", {}).get("strategy") or {}).get("type", "RollingUpdate") == "RollingUpdate")


def _rolling_update(obj: Object) -> Object:
    return (obj.get("spec", {}).get("strategy") or {}).get("rollingUpdate") or {}


def resolve(value: Any, total: int, *, up: bool) -> int:
    """Resolve a count or a percentage of `total`, rounded up or down."""
    if isinstance(value, int):
        return value
    share = float(str(value).removesuffix("%") or 0) * total / 100
    return math.ceil(share) if up else math.floor(share)


def _progressing(obj: Object, stage: RolloutProgress, before: list[Object]) -> Object:
    spec, name = obj.get("spec", {}), obj.get("metadata", {}).get("name", "")
    last = next((condition for condition in before if condition.get("type") == "Progressing"), None)
    outcome = ("True", "ReplicaSetUpdated", "is progressing.")
    if spec.get("paused"):
        return condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
    if stage.late:
        outcome = ("False", "ProgressDeadlineExceeded", "has timed out progressing.")
    elif stage.ready == stage.updated == wanted_replicas(obj):
        outcome = ("True", "NewReplicaSetAvailable", "has successfully progressed.")
    elif last is not None and not stage.template_changed:
        return last  # scaling is not a rollout: the condition of the last rollout remains
    status, reason, text = outcome
    return condition("Progressing", status, reason, f'ReplicaSet "{name}-{template_hash(obj)}" {text}')


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    """Return a condition of a workload, without times."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def stamped(new: Object, before: list[Object], now: str) -> Object:
    """Set a condition's times: both stay with status and reason, the transition time changes with the status only."""
    earlier = next((item for item in before if item.get("type") == new["type"]), None)
    if earlier and (earlier.get("status"), earlier.get("reason")) == (new["status"], new["reason"]):
        return {**earlier, "message": new["message"]}
    same = earlier is not None and earlier.get("status") == new["status"]
    changed = earlier.get("lastTransitionTime", now) if same and earlier else now
    return {**new, "lastUpdateTime": now, "lastTransitionTime": changed}
