"""Pods that a DaemonSet creates and deletes, as upstream's controller decides for each node.

Without surge a node runs one pod, and an update deletes old pods while fewer than `maxUnavailable` are unavailable.
With `maxSurge`, up to that many nodes run a new pod beside the old one, which ends once the new one is available.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.cluster.podcontrol import FINISHED, available_at, is_ready, phase_of
from clientgo_apiserver.cluster.revisions import hash_of
from clientgo_apiserver.cluster.rollout import resolve


class DaemonPlan(NamedTuple):
    """Nodes that need a pod, and pods to delete."""

    create: list[str]
    delete: list[Object]


class _Pair(NamedTuple):
    """New and old pod of a node; neither is being deleted."""

    new: Object | None
    old: Object | None


class DaemonRollout:
    """Decisions about the pods of one DaemonSet at one moment.

    `nodes` has the nodes on which running pods may stay, and whether they need one.
    """

    def __init__(self, obj: Object, digest: str, nodes: Mapping[str, bool], pods: Iterable[Object], now: float) -> None:
        self._spec = obj["spec"]
        self._digest = digest
        self._nodes = nodes
        self._selected = [name for name, is_selected in nodes.items() if is_selected]
        self._by_node = pods_by_node(pods)
        self._now = now
        limits = (self._spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        self._max_surge = resolve(limits.get("maxSurge", 0), len(self._selected), up=True)
        self._max_unavailable = resolve(limits.get("maxUnavailable", 1), len(self._selected), up=True)
        if not self._max_surge and not self._max_unavailable:
            self._max_unavailable = 1

    def __repr__(self) -> str:
        return f"<DaemonRollout {self._digest} {len(self._selected)} nodes>"

    def manage(self) -> DaemonPlan:
        """Plan a pod for each selected node; remove those that ended, are too many or must leave."""
        plan = DaemonPlan([], [])
        for node in {**self._by_node, **dict.fromkeys(self._selected)}:
            pods = self._by_node.get(node, [])
            remaining = [pod for pod in pods if not is_deleting(pod)]
            if node not in self._nodes:
                plan.delete.extend(remaining)
                continue
            running = [pod for pod in remaining if phase_of(pod) not in FINISHED]
            plan.delete.extend(pod for pod in remaining if phase_of(pod) in FINISHED)
            plan.delete.extend(self._surplus(running) if self._max_surge else running[1:])
            # A surging node needs a pod that is not being deleted; otherwise it waits until the last is gone.
            if self._nodes[node] and not (running if self._max_surge else pods):
                plan.create.append(node)
        return plan

    def _surplus(self, running: list[Object]) -> list[Object]:
        """Return the pods of a surging node but the oldest new and the oldest old one, of which the old may end."""
        new = [pod for pod in running if self._is_new(pod)]
        old = [pod for pod in running if not self._is_new(pod)]
        surplus = [*new[1:], *old[1:]]
        if new and old and (not is_ready(old[0]) or self._is_available(new[0])):
            surplus.append(old[0])
        return surplus

    def roll(self) -> DaemonPlan:
        """Plan the next step of a rolling update."""
        pairs = {name: self._pair(self._by_node.get(name, [])) for name in {*self._by_node, *self._selected}}
        ordered = {name: pairs[name] for name in sorted(pairs)}
        return self._surge(ordered) if self._max_surge else self._replace(ordered)

    def _replace(self, pairs: dict[str, _Pair]) -> DaemonPlan:
        """Plan to delete the old pods that are unavailable, and as many others as may be."""
        unavailable, delete, candidates = 0, [], []
        for new, old in pairs.values():
            if old is not None and new is None:
                if self._is_available(old):
                    candidates.append(old)
                    continue
                delete.append(old)
            elif old is None and self._is_available(new):
                continue
            unavailable += 1
        return DaemonPlan([], [*delete, *candidates[: max(0, self._max_unavailable - unavailable)]])

    def _surge(self, pairs: dict[str, _Pair]) -> DaemonPlan:
        """Plan new pods beside old ones, and to delete old ones whose successors are available."""
        create: list[str] = []
        candidates: list[str] = []
        delete: list[Object] = []
        leaving: list[Object] = []
        surging = 0
        for node, (new, old) in pairs.items():
            if old is None:
                continue
            if new is not None:
                if self._is_available(new):
                    delete.append(old)
                else:
                    surging += 1
            elif not self._nodes[node]:
                (leaving if self._is_available(old) else delete).append(old)
            else:
                (candidates if self._is_available(old) else create).append(node)
        available = sum(self._is_available(old or new) for new, old in pairs.values())
        delete.extend(leaving[: max(0, available - len(self._selected))])
        return DaemonPlan([*create, *candidates[: max(0, self._max_surge - surging)]], delete)

    def _pair(self, pods: list[Object]) -> _Pair:
        remaining = [pod for pod in pods if not is_deleting(pod)]
        new = next((pod for pod in remaining if self._is_new(pod)), None)
        return _Pair(new, next((pod for pod in remaining if not self._is_new(pod)), None))

    def _is_new(self, pod: Object) -> bool:
        return hash_of(pod) == self._digest

    def _is_available(self, pod: Object | None) -> bool:
        time = available_at(pod, float(self._spec.get("minReadySeconds") or 0)) if pod is not None else None
        return time is not None and time <= self._now


def pods_by_node(pods: Iterable[Object]) -> dict[str, list[Object]]:
    """Return pods by their nodes, the oldest first, without those that have ended and are being deleted."""
    by_node: dict[str, list[Object]] = {}
    for pod in sorted(pods, key=_age):
        if not (is_deleting(pod) and phase_of(pod) in FINISHED):
            by_node.setdefault(_node_of(pod), []).append(pod)
    return by_node


def _age(pod: Object) -> tuple[bool, str, str]:
    """Return the sort key of pods by age; those on a node come first."""
    return not pod["spec"].get("nodeName"), pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]


def _node_of(pod: Object) -> str:
    """Return the node of a pod, or the one that it is made for."""
    name = pod["spec"].get("nodeName")
    if name:
        return str(name)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    fields = [field for term in terms for field in term.get("matchFields") or ()]
    return str(fields[0]["values"][0]) if fields else ""
