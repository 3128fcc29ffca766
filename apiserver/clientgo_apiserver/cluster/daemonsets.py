"""DaemonSets: one pod on each node that the template selects and tolerates."""

from clientgo_apiserver.cluster.placement import matches_node, tolerates
from clientgo_apiserver.cluster.podcontrol import FINISHED, PODS, is_ready, phase_of, split_available
from clientgo_apiserver.cluster.revisions import HASH_LABEL, RevisionedController, hash_of
from clientgo_apiserver.controllers.base import is_deleting
from clientgo_apiserver.controllers.deployments import DAEMON_SETS, NODES
from clientgo_apiserver.controllers.rollout import resolve
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

_TOLERATED = {
    "node.kubernetes.io/not-ready": "NoExecute",
    "node.kubernetes.io/unreachable": "NoExecute",
    "node.kubernetes.io/disk-pressure": "NoSchedule",
    "node.kubernetes.io/memory-pressure": "NoSchedule",
    "node.kubernetes.io/pid-pressure": "NoSchedule",
    "node.kubernetes.io/unschedulable": "NoSchedule",
}
"""Taints that every pod of a DaemonSet tolerates."""


class DaemonSetController(RevisionedController):
    """Keeps the pods of DaemonSets."""

    _key = DAEMON_SETS
    _sources = (DAEMON_SETS,)
    _kind = "DaemonSet"

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        super()._changed(kind, key, old, new)
        if key == NODES and (old is None or new is None or _placed_by(old) != _placed_by(new)):
            for obj in self._store.list(DAEMON_SETS):
                self._schedule(*name_of(obj))

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        if is_deleting(obj):
            return
        revisions = self._revisions(obj)
        template = self._template(obj)
        nodes = {node["metadata"]["name"]: node for node in self._store.list(NODES)}
        selected = [name for name, node in nodes.items() if self._runs_on(template, node, "NoSchedule")]
        by_node: dict[str, list[Object]] = {}
        for pod in children:
            by_node.setdefault(_node_of(pod), []).append(pod)
        for name in selected:
            pods = [pod for pod in by_node.get(name, ()) if phase_of(pod) not in FINISHED]
            for ended in by_node.get(name, ()):
                if phase_of(ended) in FINISHED and not is_deleting(ended):
                    self._delete(ended)
            if not pods:
                self._create(obj, template, name, hash_of(revisions[-1]))
        for name, pods in by_node.items():
            stays = name in nodes and self._runs_on(template, nodes[name], "NoExecute")
            for pod in pods if not stays else pods[1:]:
                if not is_deleting(pod):
                    self._delete(pod)
        self._roll(obj, {name: by_node[name][0] for name in selected if name in by_node}, len(selected), revisions[-1])
        self._write(obj, selected, nodes, hash_of(revisions[-1]))
        self._trim_revisions(obj, revisions, {hash_of(pod) for pod in children})

    def _template(self, obj: Object) -> Object:
        template: Object = obj["spec"]["template"]
        spec = template["spec"]
        present = spec.get("tolerations") or []
        added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED.items()]
        tolerations = [*present, *(toleration for toleration in added if toleration not in present)]
        return {**template, "spec": {**spec, "tolerations": tolerations}}

    def _runs_on(self, template: Object, node: Object, effect: str) -> bool:
        effects = ("NoExecute",) if effect == "NoExecute" else ("NoSchedule", "NoExecute")
        return matches_node(template["spec"], node) and tolerates(template["spec"], node, effects)

    def _create(self, obj: Object, template: Object, node: str, digest: str) -> None:
        generation = str(obj["metadata"].get("generation", 1))
        pod = self._pod(obj, template, labels={HASH_LABEL: digest, "pod-template-generation": generation})
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
        affinity = dict(pod["spec"].get("affinity") or {})
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), **required}
        pod["spec"] |= {"affinity": affinity}
        self._create_pod(pod)

    def _roll(self, obj: Object, pods: dict[str, Object], nodes: int, revision: Object) -> None:
        strategy = obj["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        limit = resolve((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), nodes, up=True)
        unavailable = nodes - sum(is_ready(pod) and not is_deleting(pod) for pod in pods.values())
        for pod in pods.values():
            if hash_of(pod) == hash_of(revision) or is_deleting(pod):
                continue
            if is_ready(pod):
                if unavailable >= limit:
                    continue
                unavailable += 1
            self._delete(pod)

    def _write(self, obj: Object, selected: list[str], nodes: dict[str, Object], digest: str) -> None:
        placed = {_node_of(pod): pod for pod in self._owned.by(obj, PODS) if phase_of(pod) not in FINISHED}
        pods = [placed[name] for name in selected if name in placed]
        ready, available, due = split_available(pods, obj["spec"], self._state.clock.time())
        self._update_status(
            obj,
            {
                "observedGeneration": obj["metadata"].get("generation", 1),
                "currentNumberScheduled": len(pods),
                "desiredNumberScheduled": len(selected),
                "numberMisscheduled": sum(name in nodes and name not in selected for name in placed),
                "numberReady": ready,
                "numberAvailable": available or None,
                "numberUnavailable": (len(selected) - available) or None,
                "updatedNumberScheduled": sum(hash_of(pod) == digest for pod in pods) or None,
            },
        )
        self._again_at(due, *name_of(obj))


def _node_of(pod: Object) -> str:
    """Return the node of a pod, or the one that it is made for."""
    name = pod["spec"].get("nodeName")
    if name:
        return str(name)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    fields = [field for term in terms for field in term.get("matchFields") or ()]
    return str(fields[0]["values"][0]) if fields else ""


def _placed_by(node: Object) -> tuple[object, ...]:
    """Return what decides about the pods on a node."""
    return node["metadata"].get("labels"), node["spec"].get("taints"), node["spec"].get("unschedulable")
