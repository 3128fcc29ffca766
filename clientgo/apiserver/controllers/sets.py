"""What a StatefulSet's or DaemonSet's status says at a stage of its rollout: pure, as `rollout` is for Deployments."""

from typing import Any

from clientgo.apiserver.controllers.rollout import Stage, template_hash, wanted_replicas

Object = dict[str, Any]


def stateful_set_status(obj: Object, stage: Stage) -> Object:
    """Give a merge patch of a StatefulSet's status; what must vanish is None."""
    meta, replicas = obj["metadata"], wanted_replicas(obj)
    revision = f"{meta['name']}-{template_hash(obj)}"
    before = (obj.get("status") or {}).get("currentRevision") or revision
    rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    kept = min(int(rolling.get("partition") or 0), replicas) if before != revision else 0
    updated = min(stage.updated, replicas - kept)
    moved = kept or stage.template_changed
    return {
        "observedGeneration": meta.get("generation", 1),
        "replicas": replicas,
        "readyReplicas": stage.ready or None,
        "availableReplicas": stage.ready,
        "currentReplicas": (replicas - updated if moved and before != revision else replicas) or None,
        "updatedReplicas": updated or None,
        # The replicas below the partition keep the template they have, and with them the set its revision.
        "currentRevision": before if moved else revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def daemon_set_status(obj: Object, stage: Stage, wanted: int) -> Object:
    """Give a merge patch of a DaemonSet's status, `wanted` being how many nodes it is to run on."""
    return {
        "observedGeneration": obj["metadata"].get("generation", 1),
        "currentNumberScheduled": wanted,
        "desiredNumberScheduled": wanted,
        "numberMisscheduled": 0,
        "numberReady": stage.ready,
        "numberAvailable": stage.ready or None,
        "numberUnavailable": max(0, wanted - stage.ready) or None,
        "updatedNumberScheduled": stage.updated or None,
    }


def runs_on(daemon_set: Object, node: Object) -> bool:
    """Whether a DaemonSet's pods are for this node: it has the labels they select."""
    wanted = (daemon_set["spec"]["template"].get("spec") or {}).get("nodeSelector") or {}
    labels = node["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())
