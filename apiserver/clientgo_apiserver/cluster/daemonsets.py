"""DaemonSets: one pod on each node that the template selects and tolerates."""

from functools import partial

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.cluster.daemonrollout import DaemonRollout, pods_by_node
from clientgo_apiserver.cluster.placement import matches_node, tolerates
from clientgo_apiserver.cluster.podcontrol import BURST, split_available
from clientgo_apiserver.cluster.revisions import HASH_LABEL, RevisionedController, hash_of
from clientgo_apiserver.storage.keys import DAEMON_SETS, NODES, PODS
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

    _service_account = "daemon-set-controller"
    _sources = (DAEMON_SETS,)
    _further = (NODES,)
    _kind = "DaemonSet"

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        super()._changed(kind, key, old, new)
        if key == NODES and new is not None and (old is None or _placed_by(old) != _placed_by(new)):
            for obj in self._store.list(DAEMON_SETS):
                if self._reacts_to(obj, new):
                    self._schedule(*name_of(obj))

    def _reacts_to(self, obj: Object, node: Object) -> bool:
        """Return whether a DaemonSet needs a pod on a node, must delete it, or may no longer count it as misscheduled.

        As kube-controller-manager, which lets the status wait for the next sync if the pod stays. That of a deleted
        node comes with the deletion of its pod.
        """
        template, name = self._template(obj), node["metadata"]["name"]
        if not any(pod["spec"].get("nodeName") == name for pod in self._owned.by(obj, PODS)):
            return self._runs_on(template, node, "NoSchedule")
        is_misscheduled = (obj.get("status") or {}).get("numberMisscheduled")
        return bool(is_misscheduled) or not self._runs_on(template, node, "NoExecute")

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        if is_deleting(obj):
            return
        revisions = self._revisions(obj)
        digest = hash_of(revisions[-1])
        template = self._template(obj)
        nodes = {node["metadata"]["name"]: node for node in self._store.list(NODES)}
        selected = {name for name, node in nodes.items() if self._runs_on(template, node, "NoSchedule")}
        staying = {name: name in selected for name, node in nodes.items() if self._runs_on(template, node, "NoExecute")}
        rollout = DaemonRollout(obj, digest, staying, children, self._state.clock.time())
        plan = rollout.manage()
        if not any(plan) and (obj["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate") == "RollingUpdate":
            plan = rollout.roll()
        deletions = [partial(self._delete_stored, pod) for pod in plan.delete]
        creations = [partial(self._create, obj, template, node, digest) for node in plan.create]
        try:
            self._run_steps(obj, [*deletions, *creations][:BURST])
        finally:  # a pod may be rejected
            self._write(obj, selected, nodes, digest)
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

    def _write(self, obj: Object, selected: set[str], nodes: dict[str, Object], digest: str) -> None:
        by_node = pods_by_node(self._owned.by(obj, PODS))
        pods = [by_node[name][0] for name in selected if name in by_node]
        now = self._state.clock.time()
        ready, available, _ = split_available(pods, obj["spec"], now)
        _, _, due = split_available((pod for on_node in by_node.values() for pod in on_node), obj["spec"], now)
        self._update_status(
            obj,
            {
                "observedGeneration": obj["metadata"].get("generation", 1),
                "currentNumberScheduled": len(pods),
                "desiredNumberScheduled": len(selected),
                "numberMisscheduled": sum(name in nodes and name not in selected for name in by_node),
                "numberReady": ready,
                "numberAvailable": available or None,
                "numberUnavailable": (len(selected) - available) or None,
                "updatedNumberScheduled": sum(hash_of(pod) == digest for pod in pods) or None,
            },
        )
        self._again_at(due, *name_of(obj))


def _placed_by(node: Object) -> tuple[object, ...]:
    """Return what decides about the pods on a node."""
    return node["metadata"].get("labels"), node["spec"].get("taints"), node["spec"].get("unschedulable")
