"""PodDisruptionBudgets by the pods that they select, as the disruption controller counts them."""

from typing import Any

from clientgo_apiserver.cluster.owned import controller_of, topmost_controller
from clientgo_apiserver.cluster.podcontrol import FINISHED, PODS, is_ready, phase_of, seconds_of
from clientgo_apiserver.controllers.base import is_deleting
from clientgo_apiserver.controllers.budgets import (
    BUDGETS,
    BudgetController,
    BudgetMember,
    BudgetMembers,
    desired_healthy,
    disruption_status,
)
from clientgo_apiserver.controllers.rollout import wanted_replicas
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, Name

_SCALED: dict[str, Key] = {
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "Deployment": ("apps", "deployments"),
}
_DISRUPTED_SECONDS = 120  # an eviction that was not followed by a deletion is forgotten


class DisruptionController(BudgetController):
    """Keeps the status of every PodDisruptionBudget."""

    _kinds = (PODS,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        super()._changed(kind, key, old, new)
        if not self._members or key not in _SCALED.values() or old is None or new is None:
            return
        if wanted_replicas(old) != wanted_replicas(new):
            labels = (new["spec"]["template"].get("metadata") or {}).get("labels") or {}
            for budget in self._selectors.candidates(new["metadata"]["namespace"], labels):
                self._schedule(*budget)

    def _labels_of(self, key: Key, obj: Object) -> dict[str, str] | None:
        labels: dict[str, str] = obj["metadata"].get("labels") or {}
        return labels

    def _member(self, key: Key, obj: Object) -> BudgetMember | None:
        if phase_of(obj) in FINISHED:
            return None
        owner = controller_of(obj) or {}
        healthy = is_ready(obj) and not is_deleting(obj)
        return BudgetMember(1, int(healthy), (owner.get("kind", ""), owner.get("name", ""), owner.get("uid", "")))

    def _sync(self, *names: str) -> None:
        budget = self._store.get(BUDGETS, *names)
        if budget is None:
            return
        now, members = self._state.clock.time(), self._members[names[0], names[1]]
        disrupted, healthy = {}, members.healthy
        for name, time in ((budget.get("status") or {}).get("disruptedPods") or {}).items():
            pod, member = self._store.get(PODS, names[0], name), members.by_name.get((PODS, (names[0], name)))
            if pod is None or member is None or is_deleting(pod) or seconds_of(time) + _DISRUPTED_SECONDS <= now:
                continue
            disrupted[name] = time
            healthy -= member.healthy
        expected, desired = self._expected(budget, members)
        self._write(budget, disruption_status(budget, expected, healthy, desired, self._now()), disrupted)
        if disrupted:
            due = min(map(seconds_of, disrupted.values())) + _DISRUPTED_SECONDS
            self._later(max(0.0, due - now), self._schedule, *names)

    def _expected(self, budget: Object, members: BudgetMembers) -> tuple[int, int]:
        """Return the pods that should exist, and how many must be healthy."""
        spec: dict[str, Any] = budget.get("spec") or {}
        minimum = spec.get("minAvailable", 1)
        if spec.get("maxUnavailable") is None and isinstance(minimum, int):
            return members.expected, minimum
        replicas: dict[Name, int] = {}
        for kind, name, uid in members.controllers:
            reference = {"kind": kind, "name": name, "uid": uid}
            workload = topmost_controller(self._store, budget["metadata"]["namespace"], reference, _SCALED)
            if workload is not None:
                replicas[workload["kind"], workload["metadata"]["uid"]] = wanted_replicas(workload)
        expected = sum(replicas.values())
        return expected, desired_healthy(budget, expected)

    def _write(self, budget: Object, status: Object, disrupted: dict[str, str]) -> None:
        before = budget.get("status") or {}
        changed = {field: value for field, value in status.items() if before.get(field) != value}
        if (before.get("disruptedPods") or {}) != disrupted:
            gone = {name: None for name in before.get("disruptedPods") or () if name not in disrupted}
            changed["disruptedPods"] = {**disrupted, **gone} if disrupted else None
        if changed:
            self._write_status(BUDGETS, budget, changed)
