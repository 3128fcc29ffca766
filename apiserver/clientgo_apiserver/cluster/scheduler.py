"""Scheduler: binds pods to nodes that they fit, the least used first, or says why none fits."""

from collections import Counter, defaultdict
from fractions import Fraction

from clientgo_apiserver.admission.defaulting import with_topology
from clientgo_apiserver.api.conditions import condition_of
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.events import ComponentEvents
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.owned import DEFAULT_SCHEDULER
from clientgo_apiserver.cluster.placement import lacking, matches_node, untolerated
from clientgo_apiserver.cluster.podaffinity import PodNeighbors, has_neighbors
from clientgo_apiserver.cluster.podcontrol import FINISHED, phase_of
from clientgo_apiserver.handlers.podactions import with_condition
from clientgo_apiserver.registry.defaults.pods import pod_amounts
from clientgo_apiserver.storage.keys import NAMESPACES, NODES, PODS
from clientgo_apiserver.storage.stored import Key, Name, name_of

_EFFECTS = ("NoSchedule", "NoExecute")


class SchedulerSimulation(InternalController):
    """Assigns a node to each pod that has the default scheduler and no scheduling gates."""

    _sources = (NODES, PODS)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._events = ComponentEvents(internal.state, DEFAULT_SCHEDULER)
        # Requested amounts by node, and those of each pod on one.
        self._used: defaultdict[str, defaultdict[str, Fraction | int]] = defaultdict(lambda: defaultdict(int))
        self._placed: dict[Name, tuple[str, dict[str, Fraction | int]]] = {}
        self._unplaced: set[Name] = set()
        self._attracted: set[Name] = set()  # unplaced pods that may wait for another pod
        self._neighbors: set[Name] = set()  # placed pods that others may not run beside

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == PODS:
            name, is_old = name_of(new or old or {}), old is not None and new is not None and old["spec"] == new["spec"]
            if not is_old or phase_of(new or {}) in FINISHED:
                self._account(name, new)
            if new is not None and _waits(new):
                self._unplaced.add(name)
                if "podAffinity" in (new["spec"].get("affinity") or {}):
                    self._attracted.add(name)
                if not is_old:
                    self._schedule(*name)
            else:
                self._unplaced.discard(name)
                self._attracted.discard(name)
                if new is None or phase_of(new) in FINISHED:
                    self._retry(self._unplaced)
                elif old is None or not old["spec"].get("nodeName"):
                    self._retry(self._attracted)
        elif key == NODES and new is not None and (old is None or _offered(old) != _offered(new)):
            self._retry(self._unplaced)

    def _retry(self, names: set[Name]) -> None:
        for name in sorted(names):  # a set's order depends on the process
            self._schedule(*name)

    def _account(self, name: Name, pod: Object | None) -> None:
        placed = self._placed.pop(name, None)
        self._neighbors.discard(name)
        if placed is not None:
            self._add(*placed, -1)
        if pod is None or not pod["spec"].get("nodeName") or phase_of(pod) in FINISHED:
            return
        if has_neighbors(pod):
            self._neighbors.add(name)
        amounts = _requests(pod)
        self._placed[name] = pod["spec"]["nodeName"], amounts
        self._add(pod["spec"]["nodeName"], amounts, 1)

    def _add(self, node: str, amounts: dict[str, Fraction | int], sign: int) -> None:
        used = self._used[node]
        for name, amount in amounts.items():
            used[name] += sign * amount

    def _sync(self, *names: str) -> None:
        pod = self._store.get(PODS, *names)
        if pod is None or not _waits(pod):
            return
        reasons: Counter[str] = Counter()
        nodes, requests = self._store.list(NODES), _requests(pod)
        neighbors = self._neighbors_of(pod, nodes)
        used = sorted((self._used[node["metadata"]["name"]]["pods"], index) for index, node in enumerate(nodes))
        for node in (nodes[index] for _, index in used):  # the least used first, of equal ones by name
            reason = self._reason(pod, requests, node) or (neighbors.reason(node) if neighbors is not None else "")
            if not reason:
                self._bind(pod, node["metadata"]["name"])
                return
            reasons[reason] += 1
        details = ", ".join(sorted(f"{number} {reason}" for reason, number in reasons.items()))
        self._reject(pod, f"0/{len(nodes)} nodes are available: {details or 'no nodes'}.")

    def _neighbors_of(self, pod: Object, nodes: list[Object]) -> PodNeighbors | None:
        """Return the pods that matter to where the pod runs; None if none does."""
        if not has_neighbors(pod) and not self._neighbors:
            return None
        names = self._placed if has_neighbors(pod) else self._neighbors
        placed = [stored for name in names if (stored := self._store.get(PODS, *name)) is not None]
        return PodNeighbors(pod, placed, nodes, lambda name: self._store.get(NAMESPACES, "", name) or {})

    def _reason(self, pod: Object, requests: dict[str, Fraction | int], node: Object) -> str:
        """Return why the pod does not fit the node, in kube-scheduler's words, or ""."""
        spec, name = pod["spec"], node["metadata"]["name"]
        taint = untolerated(spec, node, _EFFECTS)
        if taint is not None:
            if taint["key"] == "node.kubernetes.io/unschedulable":
                return "node(s) were unschedulable"
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        if not matches_node(spec, node):
            return "node(s) didn't match Pod's node affinity/selector"
        missing = lacking(requests, self._used[name], node)
        return ("Too many pods" if missing[0] == "pods" else f"Insufficient {missing[0]}") if missing else ""

    def _bind(self, pod: Object, node: str) -> None:
        bound = with_condition(pod, "PodScheduled", "True", self._now())
        bound["metadata"] = with_topology(self._state, bound["metadata"], node)
        self._store.put(PODS, {**bound, "spec": {**bound["spec"], "nodeName": node}})
        namespace, name = name_of(pod)
        self._events.record(pod, "Scheduled", f"Successfully assigned {namespace}/{name} to {node}")

    def _reject(self, pod: Object, message: str) -> None:
        if condition_of(pod, "PodScheduled").get("message") != message:
            rejected = with_condition(
                pod, "PodScheduled", "False", self._now(), reason="Unschedulable", message=message
            )
            self._store.put(PODS, rejected)
            self._events.record(pod, "FailedScheduling", message, kind="Warning")


def _waits(pod: Object) -> bool:
    spec = pod["spec"]
    is_ours = spec.get("schedulerName", DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER
    return is_ours and not spec.get("nodeName") and not spec.get("schedulingGates") and not is_deleting(pod)


def _requests(pod: Object) -> dict[str, Fraction | int]:
    amounts = {name: amount.value for name, amount in pod_amounts(pod, "requests").items()}
    return {**amounts, "pods": 1}


def _offered(node: Object) -> tuple[object, ...]:
    """Return what a node offers to pods."""
    status = node.get("status") or {}
    spec = node["spec"]
    return node["metadata"].get("labels"), spec.get("taints"), spec.get("unschedulable"), status.get("allocatable")
