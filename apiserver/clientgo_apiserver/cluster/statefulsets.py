"""StatefulSets: pods with ordinals, created, updated and deleted in order.

With `OrderedReady`, a pod is created once all before it are available, and removed once all before it are; with
`Parallel`, at once. A rolling update replaces pods from the highest ordinal down to `partition`, one at a time, or with
the feature MaxUnavailableStatefulSet as many as `maxUnavailable` allows; with `OnDelete`, a pod gets the new template
when it is deleted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import controller_reference, is_deleting
from clientgo_apiserver.cluster.podcontrol import BURST, FINISHED, available_at, phase_of, split_available
from clientgo_apiserver.cluster.revisions import HASH_LABEL, RevisionedController, hash_of
from clientgo_apiserver.cluster.rollout import resolve, wanted_replicas
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.storage.keys import CLAIMS, PODS, STATEFUL_SETS
from clientgo_apiserver.storage.stored import name_of

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


class StatefulSetController(RevisionedController):
    """Keeps the pods of StatefulSets."""

    _service_account = "statefulset-controller"
    _sources = (STATEFUL_SETS,)
    _kind = "StatefulSet"
    _revision_label = "controller.kubernetes.io/hash"
    _messages = {
        "SuccessfulCreate": "Create Pod {pod} in StatefulSet {workload} successful",
        "FailedCreate": "Create Pod {pod} in StatefulSet {workload} failed error: {error}",
        "SuccessfulDelete": "Delete Pod {pod} in StatefulSet {workload} successful",
    }
    _unreported = ("AlreadyExists",)

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
        try:
            if self._keep(obj, pods, templates, (current, update)):
                self._roll(obj, pods, update)
        finally:  # a pod may be rejected
            self._write(obj, current, update)
        used = set(map(hash_of, pods.values()))
        self._trim_revisions(obj, revisions, {current, update, *used})

    def _keep(
        self, obj: Object, pods: dict[int, Object], templates: dict[str, Object], revisions: tuple[str, str]
    ) -> bool:
        """Create, replace and remove pods; return whether a rolling update may go on."""
        is_ordered, ordinals, creatable = not _is_parallel(obj), _ordinals(obj), self._creatable(obj)
        steps: list[Callable[[], object]] = []
        is_waiting = False
        for ordinal in ordinals:
            pod = pods.get(ordinal)
            if len(steps) == creatable:
                is_waiting = True
            elif pod is None:
                revision = revisions[ordinal >= ordinals.start + _partition(obj)]
                steps.append(partial(self._create, obj, ordinal, templates[revision], revision))
            elif phase_of(pod) in FINISHED and not is_deleting(pod):
                steps.append(partial(self._delete_stored, pod))  # it is created again once it is gone
            is_waiting = is_waiting or (is_ordered and not self._is_available(obj, pod))
            if is_waiting:
                break
            if pod is not None and obj["spec"].get("volumeClaimTemplates"):
                self._set_claim_owners(obj, pod)
        self._run_steps(obj, steps)
        if is_waiting:
            return False
        return self._remove_surplus(obj, {ordinal: pods[ordinal] for ordinal in pods if ordinal not in ordinals})

    def _remove_surplus(self, obj: Object, pods: dict[int, Object]) -> bool:
        """Remove pods that were scaled away, from the highest ordinal; return whether a rolling update may go on."""
        is_ordered, surplus = not _is_parallel(obj), sorted(pods, reverse=True)
        first_unavailable = next((each for each in reversed(surplus) if not self._is_available(obj, pods[each])), None)
        for ordinal in surplus:
            self._set_claim_owners(obj, pods[ordinal])
        if is_ordered and surplus:  # one at a time
            pod = pods[surplus[0]]
            if surplus[0] == first_unavailable or self._is_available(obj, pod):
                self._delete_stored(pod)
            return False
        remaining = [pods[ordinal] for ordinal in surplus if not is_deleting(pods[ordinal])]
        self._run_steps(obj, [partial(self._delete_stored, pod) for pod in remaining[:BURST]])
        return len(remaining) <= BURST

    def _create(self, obj: Object, ordinal: int, template: Object, revision: str) -> None:
        name = f"{obj['metadata']['name']}-{ordinal}"
        if self._has_earlier_claims(obj, name):
            return
        volumes = self._claims(obj, name)
        labels = {HASH_LABEL: revision, NAME_LABEL: name, INDEX_LABEL: str(ordinal)}
        pod = self._pod(obj, template, name=name, labels=labels)
        spec = pod["spec"]
        spec |= {"hostname": name, "subdomain": obj["spec"].get("serviceName") or ""}
        if volumes:
            mounted = {volume["name"] for volume in volumes}
            other_volumes = [volume for volume in spec.get("volumes") or () if volume["name"] not in mounted]
            spec["volumes"] = [*other_volumes, *volumes]
        self._set_claim_owners(obj, self._create_pod(pod))

    def _has_earlier_claims(self, obj: Object, pod_name: str) -> bool:
        """Return whether claims of a new pod are being deleted, or about to be with the pod's predecessor.

        As in Kubernetes, the pod then waits for the next event of the StatefulSet or its pods: no claim causes a sync.
        """
        claims = self._stored_claims(obj, pod_name)
        owners = [owner for claim in claims for owner in claim["metadata"].get("ownerReferences") or ()]
        return any(map(is_deleting, claims)) or any(owner["kind"] == "Pod" for owner in owners)

    def _stored_claims(self, obj: Object, pod_name: str) -> list[Object]:
        names = [f"{each['metadata']['name']}-{pod_name}" for each in obj["spec"].get("volumeClaimTemplates") or ()]
        stored = (self._store.get(CLAIMS, obj["metadata"]["namespace"], name) for name in names)
        return [claim for claim in stored if claim is not None]

    def _set_claim_owners(self, obj: Object, pod: Object) -> None:
        """Make the pod or the StatefulSet own the pod's claims, or neither, as the retention policy says."""
        policy = obj["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        owner = obj if policy.get("whenDeleted") == "Delete" else None
        if policy.get("whenScaled") == "Delete" and _ordinal(obj, pod) not in _ordinals(obj):
            owner = pod
        uids = (obj["metadata"]["uid"], pod["metadata"]["uid"])
        for claim in self._stored_claims(obj, pod["metadata"]["name"]):
            before = claim["metadata"].get("ownerReferences") or []
            owners = [each for each in before if each.get("uid") not in uids]
            owners += [controller_reference(owner)] if owner is not None else []
            if owners != before:
                meta = {"uid": claim["metadata"]["uid"], "ownerReferences": owners or None}
                self._internal.patch(CLAIMS, *name_of(claim), {"metadata": meta})

    def _claims(self, obj: Object, pod_name: str) -> list[Object]:
        """Create the claims of a pod that do not exist; return its volumes."""
        namespace, volumes = obj["metadata"]["namespace"], []
        for template in obj["spec"].get("volumeClaimTemplates") or ():
            name = f"{template['metadata']['name']}-{pod_name}"
            if self._store.get(CLAIMS, namespace, name) is None:
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
                self._internal.create(CLAIMS, namespace, claim)
                message = f"Create Claim {name} Pod {pod_name} in StatefulSet {obj['metadata']['name']} success"
                self._events.record(obj, "SuccessfulCreate", message)
            volumes.append({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": name}})
        return volumes

    def _roll(self, obj: Object, pods: dict[int, Object], update: str) -> None:
        """Delete old pods from the highest ordinal down: one once all above it are available, or several at once."""
        strategy = obj["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        if current().enabled("MaxUnavailableStatefulSet"):
            self._roll_together(obj, pods, update)
            return
        for ordinal in reversed(_ordinals(obj)[_partition(obj) :]):
            pod = pods.get(ordinal)
            if pod is not None and not is_deleting(pod) and hash_of(pod) != update:
                self._run_steps(obj, [partial(self._delete_stored, pod)])
                return
            if not self._is_available(obj, pod):
                return

    def _roll_together(self, obj: Object, pods: dict[int, Object], update: str) -> None:
        """Delete as many old pods as may be unavailable besides those that are.

        With `Parallel`, old pods that are unavailable anyway are all deleted, so that a faulty template is replaced.
        """
        ordinals = _ordinals(obj)
        unavailable = {each for each in ordinals if not self._is_available(obj, pods.get(each))}
        old = [
            each
            for each in reversed(ordinals[_partition(obj) :])
            if each in pods and not is_deleting(pods[each]) and hash_of(pods[each]) != update
        ]
        lost = [each for each in old if each in unavailable] if _is_parallel(obj) else []
        remaining = [each for each in old if each not in lost]
        allowed = max(_max_unavailable(obj) - len(unavailable), 0)
        chosen = [*lost, *remaining[:allowed]]
        self._run_steps(obj, [partial(self._delete_stored, pods[each]) for each in chosen])

    def _is_available(self, obj: Object, pod: Object | None) -> bool:
        if pod is None or is_deleting(pod) or phase_of(pod) != "Running":
            return False
        time = available_at(pod, float(obj["spec"].get("minReadySeconds") or 0))
        return time is not None and time <= self._state.clock.time()

    def _write(self, obj: Object, current: str, update: str) -> None:
        pods = self._owned.by(obj, PODS)
        running = [pod for pod in pods if phase_of(pod) == "Running"]
        ready, available, due = split_available(running, obj["spec"], self._state.clock.time())
        hashes = [hash_of(pod) for pod in pods if not is_deleting(pod)]
        updated = hashes.count(update)
        rolls = (obj["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate") == "RollingUpdate"
        if rolls and updated == ready == len(pods) == wanted_replicas(obj):
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


def _is_parallel(obj: Object) -> bool:
    return bool(obj["spec"].get("podManagementPolicy") == "Parallel")


def _ordinals(obj: Object) -> range:
    start = int((obj["spec"].get("ordinals") or {}).get("start") or 0)
    return range(start, start + wanted_replicas(obj))


def _ordinal(obj: Object, pod: Object) -> int | None:
    prefix, _, text = pod["metadata"]["name"].rpartition("-")
    return int(text) if prefix == obj["metadata"]["name"] and text.isdecimal() else None


def _max_unavailable(obj: Object) -> int:
    """Return how many pods a rolling update may make unavailable: percentages are rounded down, at least one."""
    rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return max(resolve(rolling.get("maxUnavailable") or 1, wanted_replicas(obj), up=False), 1)


def _partition(obj: Object) -> int:
    strategy: dict[str, Any] = obj["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0
    return min(int((strategy.get("rollingUpdate") or {}).get("partition") or 0), wanted_replicas(obj))
