"""ReplicaSets and ReplicationControllers: as many pods as `spec.replicas`."""

from collections import Counter
from functools import partial
from itertools import repeat

from clientgo_apiserver.api.conditions import condition_of, other_conditions
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.cluster.internal import InReview
from clientgo_apiserver.cluster.owned import controller_of
from clientgo_apiserver.cluster.podcontrol import (
    BURST,
    FINISHED,
    WorkloadController,
    deletion_rank,
    is_active,
    phase_of,
    split_available,
)
from clientgo_apiserver.cluster.rollout import wanted_replicas
from clientgo_apiserver.storage.keys import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import name_of

_FAILURE = "ReplicaFailure"


class ReplicaSetController(WorkloadController):
    """Creates and deletes the pods of ReplicaSets, and counts them."""

    _service_account = "replicaset-controller"
    _sources = (REPLICA_SETS,)
    _kind = "ReplicaSet"
    _rank = 1

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        pods = [pod for pod in children if is_active(pod)]
        missing = wanted_replicas(obj) - len(pods)
        failure: ApiFailure | None = None
        reason = ""
        if missing and not is_deleting(obj):
            reason = "FailedCreate" if missing > 0 else "FailedDelete"
            try:
                self._manage(obj, pods, missing)
            except InReview:
                raise
            except ApiFailure as error:
                failure = error
            else:
                return  # the changes of its pods sync it again
        terminating = sum(is_deleting(pod) and phase_of(pod) not in FINISHED for pod in children)
        self._count(obj, pods, terminating, (reason, failure.message) if failure is not None else None)
        if failure is not None:
            raise failure

    def _manage(self, obj: Object, pods: list[Object], missing: int) -> None:
        if missing > 0:
            create = partial(self._create_pod, self._pod(obj, obj["spec"]["template"]), derived=True)
            self._run_steps(obj, repeat(create, min(missing, self._creatable(obj))))
        else:
            crowds = Counter(pod["spec"].get("nodeName") for pod in self._related(obj))
            ranked = sorted(pods, key=lambda pod: deletion_rank(pod, crowds[pod["spec"].get("nodeName")]))
            self._run_steps(obj, [partial(self._delete_stored, pod) for pod in ranked[: min(-missing, BURST)]])

    def _related(self, obj: Object) -> list[Object]:
        """Return the pods of the ReplicaSet and of others with its controller."""
        owner = controller_of(obj)
        sets = [obj] if owner is None else self._owned.by({"metadata": {"uid": owner["uid"]}}, REPLICA_SETS)
        return [pod for each in sets for pod in self._owned.by(each, PODS) if is_active(pod)]

    def _count(self, obj: Object, pods: list[Object], terminating: int, failure: tuple[str, str] | None) -> None:
        template_labels = (obj["spec"]["template"].get("metadata") or {}).get("labels") or {}
        ready, available, due = split_available(pods, obj["spec"], self._state.clock.time())
        required = template_labels.items()
        labeled = sum(required <= (pod["metadata"].get("labels") or {}).items() for pod in pods)
        self._update_status(
            obj,
            {
                "observedGeneration": obj["metadata"].get("generation", 1),
                "replicas": len(pods),
                "fullyLabeledReplicas": labeled or None,
                "readyReplicas": ready or None,
                "availableReplicas": available or None,
                "terminatingReplicas": terminating,
                "conditions": self._conditions(obj, failure),
            },
        )
        self._again_at(due, *name_of(obj))

    def _conditions(self, obj: Object, failure: tuple[str, str] | None) -> list[Object] | None:
        before, remaining = condition_of(obj, _FAILURE), other_conditions(obj, _FAILURE)
        if failure is None:
            return remaining or None
        if before.get("reason") == failure[0]:
            return [*remaining, before]
        condition = {"type": _FAILURE, "status": "True", "reason": failure[0], "message": failure[1]}
        return [*remaining, {**condition, "lastTransitionTime": self._now()}]


class ReplicationControllerController(ReplicaSetController):
    """Creates and deletes the pods of ReplicationControllers, whose selectors are maps of labels."""

    _service_account = "replication-controller"
    _sources = (REPLICATION_CONTROLLERS,)
    _kind = "ReplicationController"
    _component = "replication-controller"

    def _selects(self, workload: Object, child: Object) -> bool:
        selector = workload["spec"].get("selector")
        return bool(selector) and selects({"matchLabels": selector}, child["metadata"].get("labels") or {})
