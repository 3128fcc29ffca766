"""Status of PodDisruptionBudgets, counted from the workloads that would run the selected pods.

There are no pods, so a budget counts the replicas of Deployments, StatefulSets and ReplicaSets without an owner whose
template has the labels it selects.
"""

import math
from typing import Any

from clientgo.apiserver.controllers.base import InternalController
from clientgo.apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from clientgo.apiserver.controllers.rollout import wanted_replicas
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.storage.selection import selects
from clientgo.apiserver.storage.stored import Key

BUDGETS: Key = ("policy", "poddisruptionbudgets")
_WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)


class DisruptionSimulation(InternalController):
    """Keeps the status of every PodDisruptionBudget up to date."""

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._due: set[str] = set()

    def _resync(self) -> None:
        for budget in self._internal.list(BUDGETS):
            self._schedule(budget["metadata"]["namespace"])

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if obj is not None and (key == BUDGETS or key in _WORKLOADS):
            self._schedule(obj["metadata"]["namespace"])

    def _schedule(self, namespace: str) -> None:
        if namespace not in self._due and self._internal.list(BUDGETS, namespace):
            self._due.add(namespace)
            self._internal.call_soon(self._sync, namespace)

    def _sync(self, namespace: str) -> None:
        self._due.discard(namespace)
        if not self._running:
            return
        workloads = [
            obj
            for key in _WORKLOADS
            for obj in self._internal.list(key, namespace)
            if not obj["metadata"].get("ownerReferences")
        ]
        for budget in self._internal.list(BUDGETS, namespace):
            status = budget_status(budget, workloads, self._now())
            before = budget.get("status") or {}
            if any(before.get(member) != value for member, value in status.items()):
                self._write_status(BUDGETS, budget, status)


def budget_status(budget: Object, workloads: list[Object], now: str) -> Object:
    """Return a merge patch of a budget's status, by the workloads it may select. `now` is an RFC 3339 time."""
    spec = budget.get("spec") or {}
    # Unlike elsewhere, an absent selector selects nothing; an empty one selects everything.
    mine = [one for one in workloads if spec.get("selector") is not None and selects(spec["selector"], _labels(one))]
    expected = sum(wanted_replicas(one) for one in mine)
    healthy = sum(int((one.get("status") or {}).get("readyReplicas", 0)) for one in mine)
    if spec.get("maxUnavailable") is not None:
        desired = max(0, expected - _count(spec["maxUnavailable"], expected))
    else:
        desired = _count(spec.get("minAvailable", 1), expected)
    allowed = max(0, healthy - desired) if expected else 0
    generation = budget["metadata"].get("generation", 1)
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
    }
    before: Object = next(iter((budget.get("status") or {}).get("conditions") or ()), {})
    same = before.get("status") == condition["status"]
    return {
        "observedGeneration": generation,
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "conditions": [{**condition, "lastTransitionTime": before["lastTransitionTime"] if same else now}],
    }


def _count(value: Any, total: int) -> int:
    """Resolve a number or a percentage; percentages are rounded up."""
    if isinstance(value, int):
        return value
    return math.ceil(float(str(value).removesuffix("%") or 0) * total / 100)


def _labels(workload: Object) -> dict[str, str]:
    found: dict[str, str] = (workload["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return found
