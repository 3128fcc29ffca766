"""Arithmetic of rollouts: the replicas that the ReplicaSets of a Deployment get or lose."""

from collections.abc import Mapping

from clientgo_apiserver.controllers.base import annotation
from clientgo_apiserver.controllers.replicasets import DESIRED, MAXIMUM
from clientgo_apiserver.controllers.rollout import max_surge, wanted_replicas
from clientgo_apiserver.resources import Object


def count_of(replica_set: Object | None, field: str) -> int:
    """Return a number of a ReplicaSet's status; 0 without the ReplicaSet or the number."""
    return int(((replica_set or {}).get("status") or {}).get(field) or 0)


def size_annotations(obj: Object) -> dict[str, str]:
    """Return the annotations by which a later change of `spec.replicas` is noticed and distributed."""
    return {DESIRED: str(wanted_replicas(obj)), MAXIMUM: str(max_replicas(obj))}


def shrink(sizes: dict[str, int], removable: int, limits: Mapping[str, int]) -> int:
    """Reduce each size by up to its limit, in order, together by `removable`; return how many remain removable."""
    for name, limit in limits.items():
        removed = max(0, min(removable, limit))
        sizes[name] -= removed
        removable -= removed
    return removable


def max_replicas(obj: Object) -> int:
    """Return the replicas that a rollout may have at most: the desired ones and `maxSurge`."""
    desired = wanted_replicas(obj)
    return int32(desired + (max_surge(obj) if desired else 0))


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
    text = annotation(replica_set, MAXIMUM)
    before = int(text) if text.isdecimal() and int(text) else max(1, count_of(obj, "replicas"))
    share = (2 * size * max_replicas(obj) + before) // (2 * before) - size  # half is rounded up, as Go does
    return min(share, unassigned) if remaining > 0 else max(share, unassigned)
