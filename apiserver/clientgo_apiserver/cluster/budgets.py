"""PodDisruptionBudgets by the pods that they select, as the disruption controller counts them."""

from collections.abc import Iterable
from typing import Any

from clientgo_apiserver.cluster.owned import controller_of, topmost_controller
from clientgo_apiserver.cluster.podcontrol import FINISHED, PODS, is_ready, phase_of, seconds_of
from clientgo_apiserver.controllers.base import condition_of, is_deleting
from clientgo_apiserver.controllers.budgets import (
    BUDGETS,
    BudgetController,
    BudgetMember,
    BudgetMembers,
    desired_healthy,
    disruption_status,
)
from clientgo_apiserver.controllers.events import ComponentEvents
from clientgo_apiserver.controllers.rollout import wanted_replicas
from clientgo_apiserver.handlers.scale import scale_of
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.selection import label_selector
from clientgo_apiserver.storage.stored import Key

_SCALED: dict[str, Key] = {
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "Deployment": ("apps", "deployments"),
    "ReplicationController": ("", "replicationcontrollers"),
}
_REFERENCE = ("apiVersion", "kind", "name", "uid")
_NO_SCALE = 'found no controllers for pod "{}"'
_UNCOUNTABLE = "Failed to calculate the number of expected pods"
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of"
    " the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please"
    ' set ".spec.minAvailable" field of the PDB to an integer value.'
)
_DISRUPTED_SECONDS = 120  # an eviction that was not followed by a deletion is forgotten


class DisruptionController(BudgetController):
    """Keeps the status of every PodDisruptionBudget."""

    _kinds = (PODS,)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._events = ComponentEvents(internal.state, "controllermanager")

    def _watched(self) -> Iterable[Key] | None:
        return (BUDGETS, PODS, *_SCALED.values())

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
        return BudgetMember(1, int(healthy), tuple(owner.get(field, "") for field in _REFERENCE))

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
        expected = self._expected(budget, members)
        if expected is None:
            self._write(budget, {"disruptionsAllowed": 0, "conditions": [self._failure(budget, members)]}, disrupted)
        else:
            desired = desired_healthy(budget, expected)
            self._write(budget, disruption_status(budget, expected, healthy, desired, self._now()), disrupted)
        if disrupted:
            due = min(map(seconds_of, disrupted.values())) + _DISRUPTED_SECONDS
            self._later(max(0.0, due - now), self._schedule, *names)

    def _expected(self, budget: Object, members: BudgetMembers) -> int | None:
        """Return the number of pods that should exist; None if one has a controller without a scale."""
        spec: dict[str, Any] = budget.get("spec") or {}
        if spec.get("maxUnavailable") is None and isinstance(spec.get("minAvailable", 1), int):
            return members.expected
        namespace = budget["metadata"]["namespace"]
        managed = [controller for controller in members.controllers if any(controller)]
        if len(managed) < len(members.controllers):
            text = _UNMANAGED.format(label_selector(spec.get("selector")))
            self._events.record(budget, "UnmanagedPods", text, kind="Warning")
        scales = [self._scale(namespace, dict(zip(_REFERENCE, controller, strict=True))) for controller in managed]
        return None if None in scales else sum(dict(filter(None, scales)).values())

    def _scale(self, namespace: str, reference: Object) -> tuple[str, int] | None:
        """Return uid and replicas of the topmost controller, or of a custom object with the subresource scale."""
        workload = topmost_controller(self._store, namespace, reference, _SCALED)
        if workload is not None:
            return workload["metadata"]["uid"], wanted_replicas(workload)
        group, _, version = reference["apiVersion"].rpartition("/")
        resource = self._state.registry.by_kind(group, version, reference["kind"])
        if resource is None or resource.scale is None:
            return None
        obj = self._store.get(resource.storage, namespace, reference["name"])
        if obj is None or obj["metadata"]["uid"] != reference["uid"]:
            return None
        return reference["uid"], int(scale_of(resource.scale, obj)["spec"].get("replicas") or 0)

    def _failure(self, budget: Object, members: BudgetMembers) -> Object:
        """Record that the expected pods cannot be counted; return the condition DisruptionAllowed."""
        namespace = budget["metadata"]["namespace"]
        text = _NO_SCALE.format(
            next(
                name[1]
                for (_, name), member in sorted(members.by_name.items())
                if any(member.controller)
                and self._scale(namespace, dict(zip(_REFERENCE, member.controller, strict=True))) is None
            )
        )
        self._events.record(budget, "CalculateExpectedPodCountFailed", f"{_UNCOUNTABLE}: {text}", kind="Warning")
        before = condition_of(budget, "DisruptionAllowed")
        since = before["lastTransitionTime"] if before.get("status") == "False" else self._now()
        condition = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": text}
        observed = (budget.get("status") or {}).get("observedGeneration", 0)
        return {**condition, "observedGeneration": observed, "lastTransitionTime": since}

    def _write(self, budget: Object, status: Object, disrupted: dict[str, str]) -> None:
        before = budget.get("status") or {}
        changed = {field: value for field, value in status.items() if before.get(field) != value}
        if (before.get("disruptedPods") or {}) != disrupted:
            gone = {name: None for name in before.get("disruptedPods") or () if name not in disrupted}
            changed["disruptedPods"] = {**disrupted, **gone} if disrupted else None
        if changed:
            self._write_status(BUDGETS, budget, changed)
