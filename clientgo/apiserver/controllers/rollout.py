"""What a Deployment's or ReplicaSet's status says at a stage of its rollout: pure, from the object alone.

Reasons, messages and arithmetic are those of Kubernetes' deployment controller, so that `kubectl rollout status`,
`kubectl wait` and programs that read conditions behave as on a cluster. Counts that are zero are left out, as Go's
`omitempty` does.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import msgspec

Object = dict[str, Any]

_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
_REPLICA_SET_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
_HASH_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' names avoid vowels, so that no word appears by chance


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a rollout is: `ready` replicas serve, `updated` ones run the present template; `late` is given up."""

    ready: int
    updated: int
    template_changed: bool
    late: bool = False


def wanted_replicas(obj: Object) -> int:
    """Give `spec.replicas`, 1 where it is absent."""
    replicas = obj.get("spec", {}).get("replicas")
    return 1 if replicas is None else int(replicas)


def template_hash(obj: Object) -> str:
    """Name the pod template in ten letters; the same template always has the same name."""
    template = msgspec.json.encode(obj.get("spec", {}).get("template"), order="deterministic")
    number = int.from_bytes(hashlib.sha256(template).digest()[:8], "big")
    letters = []
    for _ in range(10):
        number, digit = divmod(number, len(_HASH_LETTERS))
        letters.append(_HASH_LETTERS[digit])
    return "".join(letters)


def deployment_status(obj: Object, stage: Stage, now: str) -> Object:
    """Give a merge patch of a Deployment's status; what must vanish is None. `now` is an RFC 3339 time."""
    replicas = wanted_replicas(obj)
    counts = {
        "replicas": replicas,
        "updatedReplicas": stage.updated,
        "readyReplicas": stage.ready,
        "availableReplicas": stage.ready,
        "unavailableReplicas": max(0, replicas - stage.ready),
    }
    before = obj.get("status", {}).get("conditions") or []
    conditions = [_available(obj, stage), _progressing(obj, stage, before)]
    return {
        "observedGeneration": obj.get("metadata", {}).get("generation", 1),
        **{name: counts[name] or None for name in _COUNTS},
        "conditions": [_stamped(condition, before, now) for condition in conditions],
    }


def replica_set_status(obj: Object, ready: int) -> Object:
    """Give a merge patch of a ReplicaSet's status; `replicas` is written even when it is 0."""
    replicas = wanted_replicas(obj)
    counts = dict(zip(_REPLICA_SET_COUNTS, (replicas, replicas, ready, ready), strict=True))
    return {
        "observedGeneration": obj.get("metadata", {}).get("generation", 1),
        **{name: count or None for name, count in counts.items()},
        "replicas": replicas,
    }


def progress_deadline(obj: Object) -> float:
    """Give `spec.progressDeadlineSeconds`, 600 where it is absent."""
    seconds = obj.get("spec", {}).get("progressDeadlineSeconds")
    return 600.0 if seconds is None else float(seconds)


def max_unavailable(obj: Object) -> int:
    """Resolve `maxUnavailable` of a rolling update to a count, percentages rounded down; 0 for other strategies."""
    strategy = obj.get("spec", {}).get("strategy") or {}
    replicas = wanted_replicas(obj)
    if strategy.get("type", "RollingUpdate") != "RollingUpdate" or replicas == 0:
        return 0
    bounds = strategy.get("rollingUpdate") or {}
    surge = _resolve(bounds.get("maxSurge", "25%"), replicas, up=True)
    unavailable = _resolve(bounds.get("maxUnavailable", "25%"), replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1  # Kubernetes' rule: a rollout that may neither add nor remove would never move
    return min(unavailable, replicas)


def _resolve(value: Any, total: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    share = float(str(value).removesuffix("%") or 0) * total / 100
    return math.ceil(share) if up else math.floor(share)


def _available(obj: Object, stage: Stage) -> Object:
    if stage.ready >= wanted_replicas(obj) - max_unavailable(obj):
        return _condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    message = "Deployment does not have minimum availability."
    return _condition("Available", "False", "MinimumReplicasUnavailable", message)


def _progressing(obj: Object, stage: Stage, before: list[Object]) -> Object:
    spec, name = obj.get("spec", {}), obj.get("metadata", {}).get("name", "")
    replica_set = f'ReplicaSet "{name}-{template_hash(obj)}"'
    if spec.get("paused"):
        return _condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
    if stage.late:
        return _condition(
            "Progressing", "False", "ProgressDeadlineExceeded", f"{replica_set} has timed out progressing."
        )
    if stage.ready == stage.updated == wanted_replicas(obj):
        text = f"{replica_set} has successfully progressed."
        return _condition("Progressing", "True", "NewReplicaSetAvailable", text)
    if not stage.template_changed:
        # Scaling is no rollout: what was said of the last one stands.
        for condition in before:
            if condition.get("type") == "Progressing":
                return condition
    return _condition("Progressing", "True", "ReplicaSetUpdated", f"{replica_set} is progressing.")


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _stamped(condition: Object, before: list[Object], now: str) -> Object:
    """Date a condition: nothing moves while status and reason stay, the transition only moves with the status."""
    known = next((item for item in before if item.get("type") == condition["type"]), None)
    if known and (known.get("status"), known.get("reason")) == (condition["status"], condition["reason"]):
        return {**known, "message": condition["message"]}
    same = known is not None and known.get("status") == condition["status"]
    changed = known.get("lastTransitionTime", now) if same and known else now
    kind, rest = condition["type"], {key: condition[key] for key in ("reason", "message")}
    return {
        "type": kind,
        "status": condition["status"],
        "lastUpdateTime": now,
        "lastTransitionTime": changed,
        **rest,
    }
