"""StatefulSets: pods with ordinals, created, updated and deleted in order.

With `OrderedReady`, a pod is created once all before it are available, and removed once all before it are; with
`Parallel`, at once. A rolling update replaces pods from the highest ordinal down to `partition`, one at a time; with
`OnDelete`, a pod gets the new template when it is deleted.
"""

from typing import Any

from clientgo_apiserver.cluster.podcontrol import (
    FINISHED,
    PODS,
    available_at,
    is_ready,
    phase_of,
    split_available,
)
from clientgo_apiserver.cluster.revisions import HASH_LABEL, RevisionedController
from clientgo_apiserver.controllers.base import is_deleting
from clientgo_apiserver.controllers.deployments import STATEFUL_SETS
from clientgo_apiserver.controllers.rollout import wanted_replicas
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
_CLAIMS: Key = ("", "persistentvolumeclaims")


class StatefulSetController(RevisionedController):
    """Keeps the pods of StatefulSets."""

    _key = STATEFUL_SETS
    _sources = (STATEFUL_SETS,)
    _kind = "StatefulSet"
    _revision_label = "controller.kubernetes.io/hash"

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        if is_deleting(obj):
            return
        revisions = self._revisions(obj)
        names = [each["metadata"]["name"] for each in revisions]
        update = names[-1]
        current = (obj.get("status") or {}).get("currentRevision") or update
        current = current if current in names else update
        templates = {each["metadata"]["name"]: each["data"]["spec"]["template"] for each in revisions}
        pods = {ordinal: pod for pod in children if (ordinal := _ordinal(obj, pod)) is not None}
        if self._keep(obj, pods, templates, (current, update)):
            self._roll(obj, pods, update)
        self._write(obj, current, update)
        used = {(pod["metadata"].get("labels") or {}).get(HASH_LABEL, "") for pod in pods.values()}
        self._trim_revisions(obj, revisions, {current, update, *used})

    def _keep(
        self, obj: Object, pods: dict[int, Object], templates: dict[str, Object], revisions: tuple[str, str]
    ) -> bool:
        """Create, replace and remove pods; return whether all are there and a rolling update may go on."""
        is_ordered = obj["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        ordinals = _ordinals(obj)
        complete = True
        for ordinal in ordinals:
            pod = pods.get(ordinal)
            if pod is not None and phase_of(pod) in FINISHED and not is_deleting(pod):
                self._delete(pod)
                pod = None if is_ordered else pod
                complete = False
            elif pod is None:
                current, update = revisions
                revision = current if ordinal < ordinals.start + _partition(obj) else update
                self._create(obj, ordinal, templates[revision], revision)
                complete = False
            if is_ordered and not self._is_available(obj, pod):
                return False
        surplus = sorted((ordinal for ordinal in pods if ordinal not in ordinals), reverse=True)
        for ordinal in surplus:
            if not is_deleting(pods[ordinal]):
                self._delete(pods[ordinal])
            if is_ordered:
                return False  # one at a time
        return complete and not surplus

    def _create(self, obj: Object, ordinal: int, template: Object, revision: str) -> None:
        name = f"{obj['metadata']['name']}-{ordinal}"
        volumes = self._claims(obj, name)
        labels = {HASH_LABEL: revision, NAME_LABEL: name, INDEX_LABEL: str(ordinal)}
        pod = self._pod(obj, template, name=name, labels=labels)
        spec = pod["spec"]
        spec |= {"hostname": name, "subdomain": obj["spec"].get("serviceName") or ""}
        if volumes:
            mounted = {volume["name"] for volume in volumes}
            other_volumes = [volume for volume in spec.get("volumes") or () if volume["name"] not in mounted]
            spec["volumes"] = [*other_volumes, *volumes]
        self._create_pod(pod)

    def _claims(self, obj: Object, pod_name: str) -> list[Object]:
        """Create the claims of a pod that do not exist; return its volumes."""
        namespace, volumes = obj["metadata"]["namespace"], []
        for template in obj["spec"].get("volumeClaimTemplates") or ():
            name = f"{template['metadata']['name']}-{pod_name}"
            if self._store.get(_CLAIMS, namespace, name) is None:
                labels = {
                    **(template["metadata"].get("labels") or {}),
                    **(obj["spec"]["selector"].get("matchLabels") or {}),
                }
                meta = {"name": name, "namespace": namespace, "labels": labels}
                claim = {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": meta,
                    "spec": template["spec"],
                }
                self._internal.create(_CLAIMS, namespace, claim)
            volumes.append({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": name}})
        return volumes

    def _roll(self, obj: Object, pods: dict[int, Object], update: str) -> None:
        if (obj["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate") != "RollingUpdate":
            return
        ordinals = _ordinals(obj)
        for ordinal in reversed(range(ordinals.start + _partition(obj), ordinals.stop)):
            pod = pods[ordinal]
            if (pod["metadata"].get("labels") or {}).get(HASH_LABEL) != update:
                if not is_deleting(pod):
                    self._delete(pod)
                return
            if not self._is_available(obj, pod):
                return

    def _is_available(self, obj: Object, pod: Object | None) -> bool:
        if pod is None or is_deleting(pod):
            return False
        time = available_at(pod, float(obj["spec"].get("minReadySeconds") or 0))
        return time is not None and time <= self._state.clock.time()

    def _write(self, obj: Object, current: str, update: str) -> None:
        pods = [pod for pod in self._owned.by(obj, PODS) if phase_of(pod) not in FINISHED]
        ready, available, due = split_available(pods, obj["spec"], self._state.clock.time())
        hashes = [(pod["metadata"].get("labels") or {}).get(HASH_LABEL) for pod in pods if not is_deleting(pod)]
        updated = hashes.count(update)
        replicas = wanted_replicas(obj)
        if updated == replicas == len(pods) and all(map(is_ready, pods)):
            current = update
        self._update_status(
            obj,
            {
                "observedGeneration": obj["metadata"].get("generation", 1),
                "replicas": len(pods),
                "readyReplicas": ready or None,
                "availableReplicas": available,
                "currentReplicas": hashes.count(current) or None,
                "updatedReplicas": updated or None,
                "currentRevision": current,
                "updateRevision": update,
                "collisionCount": 0,
            },
        )
        self._again_at(due, *name_of(obj))


def _ordinals(obj: Object) -> range:
    start = int((obj["spec"].get("ordinals") or {}).get("start") or 0)
    return range(start, start + wanted_replicas(obj))


def _ordinal(obj: Object, pod: Object) -> int | None:
    prefix, _, text = pod["metadata"]["name"].rpartition("-")
    return int(text) if prefix == obj["metadata"]["name"] and text.isdecimal() else None


def _partition(obj: Object) -> int:
    strategy: dict[str, Any] = obj["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0
    return min(int((strategy.get("rollingUpdate") or {}).get("partition") or 0), wanted_replicas(obj))
