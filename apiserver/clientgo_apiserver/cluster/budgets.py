"""PodDisruptionBudgets by the pods that they select, as the disruption controller counts them.

Pods are counted as they change: a change costs the same, however many pods and budgets there are.
"""

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from clientgo_apiserver.api.conditions import condition_of
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.events import ComponentEvents
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.owned import controller_of, topmost_controller
from clientgo_apiserver.cluster.podcontrol import is_ready, seconds_of
from clientgo_apiserver.cluster.rollout import resolve, wanted_replicas
from clientgo_apiserver.cluster.selectorindex import LabelIndex, SelectorIndex
from clientgo_apiserver.handlers.scale import scale_of
from clientgo_apiserver.storage.keys import (
    BUDGETS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from clientgo_apiserver.storage.selection import label_selector, selects
from clientgo_apiserver.storage.stored import Key, Name, name_of

_SCALED: dict[str, Key] = {
    "ReplicaSet": REPLICA_SETS,
    "StatefulSet": STATEFUL_SETS,
    "Deployment": DEPLOYMENTS,
    "ReplicationController": REPLICATION_CONTROLLERS,
}
_REFERENCE = ("apiVersion", "kind", "name", "uid")
_UNCOUNTABLE = "Failed to calculate the number of expected pods"
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of"
    " the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please"
    ' set ".spec.minAvailable" field of the PDB to an integer value.'
)
_DISRUPTED_SECONDS = 120  # an eviction that was not followed by a deletion is forgotten


class _Member(NamedTuple):
    """Pod that a budget selects: whether it is healthy, and the reference to its controller."""

    is_healthy: bool
    controller: tuple[str, ...]


class _Members(msgspec.Struct):
    """Pods that a budget selects, and how many are healthy and of each controller."""

    by_name: dict[Name, _Member] = {}
    healthy: int = 0
    controllers: Counter[tuple[str, ...]] = msgspec.field(default_factory=Counter)

    def set(self, name: Name, member: _Member | None) -> bool:
        """Replace a pod; return whether it has changed."""
        before = self.by_name.pop(name, None)
        if member is not None:
            self.by_name[name] = member
        for each, sign in ((before, -1), (member, 1)):
            if each is not None:
                self.healthy += sign * each.is_healthy
                self.controllers[each.controller] += sign
                if not self.controllers[each.controller]:
                    del self.controllers[each.controller]
        return before != member


class DisruptionController(InternalController):
    """Keeps the status of every PodDisruptionBudget."""

    _service_account = "disruption-controller"
    _sources = (BUDGETS,)
    _further = (PODS, *_SCALED.values())

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._events = ComponentEvents(internal.state, "controllermanager")
        self._members: dict[Name, _Members] = {}
        self._selectors = SelectorIndex()
        self._labels: LabelIndex | None = None  # of pods; none until there is a budget: hardly any server has one

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == BUDGETS:
            self._changed_budget(old, new)
        elif key == PODS:
            if self._labels is not None:
                self._changed_pod(self._labels, old, new)
        elif self._members and old is not None and new is not None and wanted_replicas(old) != wanted_replicas(new):
            labels = (new["spec"]["template"].get("metadata") or {}).get("labels") or {}
            for budget in self._selectors.candidates(new["metadata"]["namespace"], labels):
                self._schedule(*budget)

    def _changed_budget(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            name = name_of(old or {})
            self._members.pop(name, None)
            self._selectors.discard(name)
            return
        name, selector = name_of(new), _selector(new)
        if self._labels is None:
            self._labels = LabelIndex()
            for pod in self._store.list(PODS):
                self._labels.update(name_of(pod), {}, _labels_of(pod))
        if old is None or selector != _selector(old):
            members = self._members[name] = _Members()
            self._selectors.discard(name)
            if selector is not None:  # unlike elsewhere, an absent selector selects nothing
                self._selectors.add(name, selector)
                self._collect(self._labels, members, name[0], selector)
        self._schedule(*name)

    def _collect(self, index: LabelIndex, members: _Members, namespace: str, selector: Object) -> None:
        names = index.candidates(namespace, selector)
        pods = self._store.list(PODS, namespace) if names is None else [self._store.get(PODS, *name) for name in names]
        for pod in pods:
            if pod is not None and selects(selector, _labels_of(pod)):
                members.set(name_of(pod), _member(pod))

    def _changed_pod(self, index: LabelIndex, old: Object | None, new: Object | None) -> None:
        name = name_of(new or old or {})
        before, after = _labels_of(old), _labels_of(new)
        index.update(name, before, after)
        budgets = {budget for labels in (before, after) for budget in self._selectors.candidates(name[0], labels)}
        for budget in budgets:
            selector = _selector(self._store.get(BUDGETS, *budget) or {})
            is_selected = new is not None and selector is not None and selects(selector, after)
            if self._members[budget].set(name, _member(new) if new and is_selected else None):
                self._schedule(*budget, rank=1)

    def _sync(self, *names: str) -> None:
        budget = self._store.get(BUDGETS, *names)
        if budget is None:
            return
        now, members = self._state.clock.time(), self._members[names[0], names[1]]
        if not members.by_name:
            self._events.record(budget, "NoPods", "No matching pods found")
        disrupted, healthy = {}, members.healthy
        for name, time in ((budget.get("status") or {}).get("disruptedPods") or {}).items():
            pod, member = self._store.get(PODS, names[0], name), members.by_name.get((names[0], name))
            if pod is None or member is None or is_deleting(pod) or seconds_of(time) + _DISRUPTED_SECONDS <= now:
                continue
            disrupted[name] = time
            healthy -= member.is_healthy
        expected = self._expected(budget, members)
        if expected is None:
            self._write(budget, {"disruptionsAllowed": 0, "conditions": [self._failure(budget, members)]}, disrupted)
        else:
            desired = _desired_healthy(budget, expected)
            self._write(budget, _disruption_status(budget, expected, healthy, desired, self._now()), disrupted)
        if disrupted:
            due = min(map(seconds_of, disrupted.values())) + _DISRUPTED_SECONDS
            self._later(max(0.0, due - now), self._schedule, *names)

    def _expected(self, budget: Object, members: _Members) -> int | None:
        """Return the number of pods that should exist; None if one has a controller without a scale."""
        spec: dict[str, Any] = budget.get("spec") or {}
        if spec.get("maxUnavailable") is None and isinstance(spec.get("minAvailable", 1), int):
            return len(members.by_name)
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
        resource = self._resource(reference)
        if resource is None or resource.scale is None:
            return None
        obj = self._store.get(resource.storage, namespace, reference["name"])
        if obj is None or obj["metadata"]["uid"] != reference["uid"]:
            return None
        return reference["uid"], int(scale_of(resource.scale, obj)["spec"].get("replicas") or 0)

    def _failure(self, budget: Object, members: _Members) -> Object:
        """Record that the expected pods cannot be counted; return the condition DisruptionAllowed."""
        namespace = budget["metadata"]["namespace"]
        references = (
            (name[1], dict(zip(_REFERENCE, member.controller, strict=True)))
            for name, member in sorted(members.by_name.items())
            if any(member.controller)
        )
        text = next(
            self._missing(pod, reference) for pod, reference in references if self._scale(namespace, reference) is None
        )
        self._events.record(budget, "CalculateExpectedPodCountFailed", f"{_UNCOUNTABLE}: {text}", kind="Warning")
        observed = (budget.get("status") or {}).get("observedGeneration", 0)
        return _disruption_allowed(budget, ("False", "SyncFailed", text), observed, self._now())

    def _missing(self, pod: str, reference: Object) -> str:
        resource = self._resource(reference)
        if resource is not None and resource.scale is None:
            return f"{resource.qualified} does not implement the scale subresource"
        return f'found no controllers for pod "{pod}"'

    def _resource(self, reference: Object) -> Resource | None:
        group, _, version = reference["apiVersion"].rpartition("/")
        return self._state.registry.by_kind(group, version, reference["kind"])

    def _write(self, budget: Object, status: Object, disrupted: dict[str, str]) -> None:
        before = budget.get("status") or {}
        changed = {field: value for field, value in status.items() if before.get(field) != value}
        if (before.get("disruptedPods") or {}) != disrupted:
            gone = {name: None for name in before.get("disruptedPods") or () if name not in disrupted}
            changed["disruptedPods"] = {**disrupted, **gone} if disrupted else None
        if changed:
            self._write_status(BUDGETS, budget, changed)


def _desired_healthy(budget: Object, expected: int) -> int:
    """Return how many of the expected pods must be healthy."""
    spec: dict[str, Any] = budget.get("spec") or {}
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - resolve(spec["maxUnavailable"], expected, up=True))
    return resolve(spec.get("minAvailable", 1), expected, up=True)


def _disruption_status(budget: Object, expected: int, healthy: int, desired: int, now: str) -> Object:
    """Return a merge patch of a budget's status, by numbers of pods: expected, healthy, and required to be healthy."""
    allowed = max(0, healthy - desired) if expected else 0
    generation = budget["metadata"].get("generation", 1)
    outcome = ("True", "SufficientPods", "") if allowed else ("False", "InsufficientPods", "")
    return {
        "observedGeneration": generation,
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "conditions": [_disruption_allowed(budget, outcome, generation, now)],
    }


def _disruption_allowed(budget: Object, outcome: tuple[str, str, str], generation: int, now: str) -> Object:
    """Return the condition DisruptionAllowed with this status, reason and message."""
    status, reason, message = outcome
    before = condition_of(budget, "DisruptionAllowed")
    since = before["lastTransitionTime"] if before.get("status") == status else now
    condition = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message}
    return {**condition, "observedGeneration": generation, "lastTransitionTime": since}


def _selector(budget: Object) -> Object | None:
    selector: Object | None = (budget.get("spec") or {}).get("selector")
    return selector


def _labels_of(pod: Object | None) -> dict[str, str]:
    labels: dict[str, str] = (pod["metadata"].get("labels") or {}) if pod is not None else {}
    return labels


def _member(pod: Object) -> _Member:
    owner = controller_of(pod) or {}
    is_healthy = is_ready(pod) and not is_deleting(pod)
    return _Member(is_healthy, tuple(owner.get(field, "") for field in _REFERENCE))
