"""Arithmetic of rollouts: sizes, revisions and conditions of workloads, as pure functions.

Reasons, messages and arithmetic are those of Kubernetes' controllers, so that `kubectl rollout status`, `kubectl wait`
and programs that read conditions behave as on a cluster.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo_apiserver.api.names import SUFFIX_ALPHABET
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import annotation, controller_reference

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DEFAULT_HISTORY = 10
"""Revisions kept for earlier templates: apps/v1's revisionHistoryLimit."""

DESIRED = "deployment.kubernetes.io/desired-replicas"
_MAXIMUM = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED, _MAXIMUM)


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


def count_of(replica_set: Object | None, field: str) -> int:
    """Return a number of a ReplicaSet's status; 0 without the ReplicaSet or the number."""
    return int(((replica_set or {}).get("status") or {}).get(field) or 0)


def size_annotations(obj: Object) -> dict[str, str]:
    """Return the annotations by which a later change of `spec.replicas` is noticed and distributed."""
    return {DESIRED: str(wanted_replicas(obj)), _MAXIMUM: str(max_replicas(obj))}


def shrink(sizes: dict[str, int], removable: int, limits: Mapping[str, int]) -> int:
    """Reduce each size by up to its limit, in order, together by `removable`; return how many remain removable."""
    for name, limit in limits.items():
        removed = max(0, min(removable, limit))
        sizes[name] -= removed
        removable -= removed
    return removable


def max_replicas(obj: Object) -> int:
    """Return the replicas that a rollout may have at most: the desired ones and `maxSurge`."""
    return int32(wanted_replicas(obj) + max_surge(obj))


def int32(number: int) -> int:
    """Return a number as Go's int32 has it, in which sums of numbers of replicas overflow."""
    return (number + 2**31) % 2**32 - 2**31


def is_saturated(obj: Object, current: Object) -> bool:
    """Return whether the current ReplicaSet has all replicas of its Deployment, and all are available."""
    desired = wanted_replicas(obj)
    is_desired = annotation(current, DESIRED) == str(desired)
    return is_desired and wanted_replicas(current) == desired == count_of(current, "availableReplicas")


def share_of(obj: Object, replica_set: Object, remaining: int, unassigned: int) -> int:
    """Return the replicas that a ReplicaSet gets or loses of `remaining`, of which some are still `unassigned`."""
    size = wanted_replicas(replica_set)
    if not size or not remaining:
        return 0
    if not wanted_replicas(obj):
        return -size
    text = annotation(replica_set, _MAXIMUM)
    before = int(text) if text.isdecimal() and int(text) else max(1, count_of(obj, "replicas"))
    share = (2 * size * max_replicas(obj) + before) // (2 * before) - size  # half is rounded up, as Go does
    return min(share, unassigned) if remaining > 0 else max(share, unassigned)


def new_replica_set(deployment: Object, digest: str, revision: int) -> Object:
    """Return the ReplicaSet of a Deployment's template, as it is to be created."""
    meta, spec = deployment["metadata"], deployment["spec"]
    template: dict[str, Any] = spec["template"]
    labels = {**(template["metadata"].get("labels") or {}), HASH_LABEL: digest}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH_LABEL: digest}}
    new_spec: Object = {
        "replicas": wanted_replicas(deployment),
        "selector": selector,
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    if spec.get("minReadySeconds"):
        new_spec["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {**copied_annotations(deployment), REVISION: str(revision)},
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": new_spec,
    }


def copied_annotations(deployment: Object) -> dict[str, str]:
    """Return the annotations of a Deployment that its ReplicaSets get."""
    annotations = deployment["metadata"].get("annotations") or {}
    return {name: text for name, text in annotations.items() if name not in _NOT_COPIED}


def revision_of(replica_set: Object) -> int:
    """Return the revision in the annotation of a ReplicaSet; 0 without one."""
    text = annotation(replica_set, REVISION)
    return int(text) if text.isdecimal() else 0
