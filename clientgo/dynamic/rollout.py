"""Rollout of Deployments, StatefulSets and DaemonSets in JSON form, judged as `kubectl rollout status` does."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from clientgo.errors import ClientGoError
from clientgo.meta.conditions import conditions_of, map_in, status_of, whole_number

ROLLING_UPDATE = "RollingUpdate"

_ONLY = f"rollout status is only available for {ROLLING_UPDATE} strategy type"


class RolloutFailed(ClientGoError):
    """A rollout cannot complete: its deadline is exceeded, its strategy has no status, or the object is deleted."""


class RolloutStatus(NamedTuple):
    """Progress of a rollout: whether it is complete, and kubectl's sentence about it."""

    is_complete: bool
    message: str


def rollout_status(obj: Mapping[str, Any]) -> RolloutStatus:
    """Return the progress of an object's rollout.

    Raises:
        RolloutFailed: the progress deadline is exceeded, or the update strategy is not `RollingUpdate`.
        ValueError: the kind has no rollout.
    """
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    kind = str(obj.get("kind", ""))
    judge = _KINDS.get(kind) if group in ("apps", "extensions") else None
    if judge is None:
        name = f"{kind}.{group}".rstrip(".")
        raise ValueError(f"a {name} has no rollout: expected a Deployment, StatefulSet or DaemonSet of the group apps")
    return judge(_Workload(obj))


class _Workload:
    """Fields that decide on a rollout; absent numbers of the status are 0, as in Go."""

    def __init__(self, obj: Mapping[str, Any]) -> None:
        metadata, spec = map_in(obj, "metadata"), map_in(obj, "spec")
        self.name = str(metadata.get("name", ""))
        self.replicas = whole_number(spec.get("replicas"))
        self.strategy = map_in(spec, "updateStrategy")
        self.status = status_of(obj)
        self.is_observed = (whole_number(metadata.get("generation")) or 0) <= self.count("observedGeneration")
        self.reasons = {str(item.get("type")): item.get("reason") for item in reversed(conditions_of(obj))}

    def count(self, name: str) -> int:
        """Return a number of the status."""
        return whole_number(self.status.get(name)) or 0


def _deployment(deployment: _Workload) -> RolloutStatus:
    if not deployment.is_observed:
        return RolloutStatus(False, "Waiting for deployment spec update to be observed...")
    if deployment.reasons.get("Progressing") == "ProgressDeadlineExceeded":
        raise RolloutFailed(f'deployment "{deployment.name}" exceeded its progress deadline')
    updated, available = deployment.count("updatedReplicas"), deployment.count("availableReplicas")
    old = deployment.count("replicas") - updated
    waiting = f'Waiting for deployment "{deployment.name}" rollout to finish: '
    if deployment.replicas is not None and updated < deployment.replicas:
        remaining = f"{updated} out of {deployment.replicas} new replicas have been updated..."
    elif old > 0:
        remaining = f"{old} old replicas are pending termination..."
    elif available < updated:
        remaining = f"{available} of {updated} updated replicas are available..."
    else:
        return RolloutStatus(True, f'deployment "{deployment.name}" successfully rolled out')
    return RolloutStatus(False, waiting + remaining)


def _daemon_set(daemon_set: _Workload) -> RolloutStatus:
    _need_rolling_update(daemon_set)
    if not daemon_set.is_observed:
        return RolloutStatus(False, "Waiting for daemon set spec update to be observed...")
    updated, available = daemon_set.count("updatedNumberScheduled"), daemon_set.count("numberAvailable")
    desired = daemon_set.count("desiredNumberScheduled")
    waiting = f'Waiting for daemon set "{daemon_set.name}" rollout to finish: '
    if updated < desired:
        return RolloutStatus(False, f"{waiting}{updated} out of {desired} new pods have been updated...")
    if available < desired:
        return RolloutStatus(False, f"{waiting}{available} of {desired} updated pods are available...")
    return RolloutStatus(True, f'daemon set "{daemon_set.name}" successfully rolled out')


def _stateful_set(stateful_set: _Workload) -> RolloutStatus:
    _need_rolling_update(stateful_set)
    replicas, updated = stateful_set.replicas, stateful_set.count("updatedReplicas")
    if not stateful_set.is_observed or not stateful_set.count("observedGeneration"):
        return RolloutStatus(False, "Waiting for statefulset spec update to be observed...")
    if replicas is not None and (missing := replicas - stateful_set.count("readyReplicas")) > 0:
        return RolloutStatus(False, f"Waiting for {missing} pods to be ready...")
    if isinstance(rolling := stateful_set.strategy.get("rollingUpdate"), Mapping):
        partition = whole_number(rolling.get("partition"))
        if replicas is not None and partition is not None and updated < replicas - partition:
            remaining = f"{updated} out of {replicas - partition} new pods have been updated..."
            return RolloutStatus(False, f"Waiting for partitioned roll out to finish: {remaining}")
        return RolloutStatus(True, f"partitioned roll out complete: {updated} new pods have been updated...")
    current, update = stateful_set.status.get("currentRevision"), stateful_set.status.get("updateRevision")
    if current != update:
        progress = f"{updated} pods at revision {update}..."
        return RolloutStatus(False, f"waiting for statefulset rolling update to complete {progress}")
    progress = f"{stateful_set.count('currentReplicas')} pods at revision {current}..."
    return RolloutStatus(True, f"statefulset rolling update complete {progress}")


_KINDS: Mapping[str, Callable[[_Workload], RolloutStatus]] = {
    "Deployment": _deployment,
    "DaemonSet": _daemon_set,
    "StatefulSet": _stateful_set,
}


def _need_rolling_update(workload: _Workload) -> None:
    if workload.strategy.get("type") != ROLLING_UPDATE:
        raise RolloutFailed(_ONLY)
