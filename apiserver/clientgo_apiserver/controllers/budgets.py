"""PodDisruptionBudgets: their members, counted as they change, and their status.

Without pods, a budget counts the replicas of Deployments, StatefulSets and ReplicaSets without an owner whose template
has the labels it selects.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from clientgo_apiserver.controllers.base import InternalController, condition_of
from clientgo_apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from clientgo_apiserver.controllers.rollout import resolve, wanted_replicas
from clientgo_apiserver.controllers.selectorindex import LabelIndex, SelectorIndex
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key, Name, name_of

BUDGETS: Key = ("policy", "poddisruptionbudgets")


class BudgetMember(NamedTuple):
    """Contribution of one object to a budget: expected and healthy pods, and the controller of a pod."""

    expected: int
    healthy: int
    controller: tuple[str, ...] = ()


@dataclass(slots=True)
class BudgetMembers:
    """Objects that a budget selects, and their sums."""

    by_name: dict[tuple[Key, Name], BudgetMember] = field(default_factory=dict)
    expected: int = 0
    healthy: int = 0
    controllers: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def set(self, key: Key, name: Name, member: BudgetMember | None) -> bool:
        """Replace the contribution of an object; return whether it has changed."""
        before = self.by_name.pop((key, name), None)
        if member is not None:
            self.by_name[key, name] = member
        for each, sign in ((before, -1), (member, 1)):
            if each is not None:
                self.expected += sign * each.expected
                self.healthy += sign * each.healthy
                self.controllers[each.controller] += sign
                if not self.controllers[each.controller]:
                    del self.controllers[each.controller]
        return before != member


class BudgetController(InternalController):
    """Base class of the controllers of budgets: a change costs the same, however many members and budgets there are."""

    _sources = (BUDGETS,)
    _kinds: ClassVar[tuple[Key, ...]] = ()
    """Keys of the members."""

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._members: dict[Name, BudgetMembers] = {}
        self._selectors = SelectorIndex()
        self._labels: dict[Key, LabelIndex] = {}  # empty until there is a budget: hardly any server has one

    @abstractmethod
    def _labels_of(self, key: Key, obj: Object) -> dict[str, str] | None:
        """Return the labels by which a budget selects the object; None for one that no budget selects."""

    @abstractmethod
    def _member(self, key: Key, obj: Object) -> BudgetMember | None:
        """Return the contribution of a selected object."""

    def _watched(self) -> Iterable[Key] | None:
        return (BUDGETS, *self._kinds)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == BUDGETS:
            self._changed_budget(old, new)
        elif self._labels and key in self._kinds:
            self._changed_member(key, old, new)

    def _changed_budget(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            name = name_of(old or {})
            self._members.pop(name, None)
            self._selectors.discard(name)
            return
        name, selector = name_of(new), _selector(new)
        if not self._labels:
            self._index()
        if old is None or selector != _selector(old):
            members = self._members[name] = BudgetMembers()
            self._selectors.discard(name)
            if selector is not None:  # unlike elsewhere, an absent selector selects nothing
                self._selectors.add(name, selector)
                for key in self._kinds:
                    self._collect(members, key, name[0], selector)
        self._schedule(*name)

    def _index(self) -> None:
        for key in self._kinds:
            index = self._labels[key] = LabelIndex()
            for obj in self._store.list(key):
                index.update(name_of(obj), {}, self._labels_of(key, obj) or {})

    def _collect(self, members: BudgetMembers, key: Key, namespace: str, selector: Object) -> None:
        names = self._labels[key].candidates(namespace, selector)
        objects = self._store.list(key, namespace) if names is None else [self._store.get(key, *name) for name in names]
        for obj in objects:
            labels = self._labels_of(key, obj) if obj is not None else None
            if obj is not None and labels is not None and selects(selector, labels):
                members.set(key, name_of(obj), self._member(key, obj))

    def _changed_member(self, key: Key, old: Object | None, new: Object | None) -> None:
        name = name_of(new or old or {})
        before = self._labels_of(key, old) if old is not None else None
        after = self._labels_of(key, new) if new is not None else None
        self._labels[key].update(name, before or {}, after or {})
        budgets = {
            budget
            for labels in (before, after)
            if labels is not None
            for budget in self._selectors.candidates(name[0], labels)
        }
        for budget in budgets:
            stored = self._store.get(BUDGETS, *budget)
            selector = _selector(stored or {})
            is_selected = new is not None and after is not None and selector is not None and selects(selector, after)
            if self._members[budget].set(key, name, self._member(key, new) if new and is_selected else None):
                self._schedule(*budget)


class DisruptionSimulation(BudgetController):
    """Keeps the status of every PodDisruptionBudget by the replicas of workloads."""

    _kinds = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)

    def _labels_of(self, key: Key, obj: Object) -> dict[str, str] | None:
        if obj["metadata"].get("ownerReferences"):
            return None
        labels: dict[str, str] = (obj["spec"]["template"].get("metadata") or {}).get("labels") or {}
        return labels

    def _member(self, key: Key, obj: Object) -> BudgetMember | None:
        return BudgetMember(wanted_replicas(obj), int((obj.get("status") or {}).get("readyReplicas", 0)))

    def _sync(self, *names: str) -> None:
        budget = self._store.get(BUDGETS, *names)
        if budget is None:
            return
        members = self._members[names[0], names[1]]
        desired = desired_healthy(budget, members.expected)
        status = disruption_status(budget, members.expected, members.healthy, desired, self._now())
        before = budget.get("status") or {}
        if any(before.get(field) != value for field, value in status.items()):
            self._write_status(BUDGETS, budget, status)


def desired_healthy(budget: Object, expected: int) -> int:
    """Return how many of the expected pods must be healthy."""
    spec: dict[str, Any] = budget.get("spec") or {}
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - resolve(spec["maxUnavailable"], expected, up=True))
    return resolve(spec.get("minAvailable", 1), expected, up=True)


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


def _selector(budget: Object) -> Object | None:
    selector: Object | None = (budget.get("spec") or {}).get("selector")
    return selector
