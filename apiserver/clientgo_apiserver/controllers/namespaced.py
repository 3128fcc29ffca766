"""Controllers of resource quotas and PodDisruptionBudgets.

There are no pods, so a budget counts the replicas of Deployments, StatefulSets and ReplicaSets without an owner whose
template has the labels it selects.
"""

from clientgo_apiserver.admission.quota import CHANGEABLE, usage
from clientgo_apiserver.admission.quota import KEY as QUOTAS
from clientgo_apiserver.controllers.base import InternalController, condition_of
from clientgo_apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from clientgo_apiserver.controllers.rollout import resolve, wanted_replicas
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key

BUDGETS: Key = ("policy", "poddisruptionbudgets")
_WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)


class QuotaController(InternalController):
    """Keeps the status of every ResourceQuota up to date."""

    _sources = (QUOTAS,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        # The number of quotas is checked first: hardly any server has one.
        if self._store.count(QUOTAS) and (kind != "MODIFIED" or key in (QUOTAS, *CHANGEABLE)):
            namespace = (new or old or {})["metadata"].get("namespace", "")
            if namespace:
                self._schedule(namespace)

    def _sync(self, *names: str) -> None:
        for quota in self._store.list(QUOTAS, *names):
            hard = (quota.get("spec") or {}).get("hard") or {}
            used = {name: str(amount) for name, amount in sorted(usage(self._store, quota).items())}
            status = {"hard": hard, "used": used}
            if (quota.get("status") or {}) != status:
                # A JSON patch replaces the whole status, so that names that are no longer limited vanish.
                self._write_status(QUOTAS, quota, [{"op": "add", "path": "/status", "value": status}], kind="json")


class DisruptionSimulation(InternalController):
    """Keeps the status of every PodDisruptionBudget up to date."""

    _sources = (BUDGETS,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        namespace = (new or old or {})["metadata"].get("namespace", "")
        if (key == BUDGETS or key in _WORKLOADS) and self._store.list(BUDGETS, namespace):
            self._schedule(namespace)

    def _sync(self, *names: str) -> None:
        listed = [obj for key in _WORKLOADS for obj in self._store.list(key, *names)]
        workloads = [obj for obj in listed if not obj["metadata"].get("ownerReferences")]
        for budget in self._store.list(BUDGETS, *names):
            status = budget_status(budget, workloads, self._now())
            before = budget.get("status") or {}
            if any(before.get(member) != value for member, value in status.items()):
                self._write_status(BUDGETS, budget, status)


def budget_status(budget: Object, workloads: list[Object], now: str) -> Object:
    """Return a merge patch of a budget's status, by the workloads it may select. `now` is an RFC 3339 time."""
    spec = budget.get("spec") or {}
    # Unlike elsewhere, an absent selector selects nothing; an empty one selects everything.
    mine = [
        workload
        for workload in workloads
        if spec.get("selector") is not None and selects(spec["selector"], _labels(workload))
    ]
    expected = sum(wanted_replicas(workload) for workload in mine)
    healthy = sum(int((workload.get("status") or {}).get("readyReplicas", 0)) for workload in mine)
    if spec.get("maxUnavailable") is not None:
        desired = max(0, expected - resolve(spec["maxUnavailable"], expected, up=True))
    else:
        desired = resolve(spec.get("minAvailable", 1), expected, up=True)
    return disruption_status(budget, expected, healthy, desired, now)


def disruption_status(budget: Object, expected: int, healthy: int, desired: int, now: str) -> Object:
    """Return a merge patch of a budget's status, by numbers of pods: expected, healthy, and required to be healthy."""
    allowed = max(0, healthy - desired) if expected else 0
    generation = budget["metadata"].get("generation", 1)
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
    }
    before = condition_of(budget, "DisruptionAllowed")
    same = before.get("status") == condition["status"]
    return {
        "observedGeneration": generation,
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "conditions": [{**condition, "lastTransitionTime": before["lastTransitionTime"] if same else now}],
    }


def _labels(workload: Object) -> dict[str, str]:
    labels: dict[str, str] = (workload["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return labels
