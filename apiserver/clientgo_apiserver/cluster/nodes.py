"""Nodes: a few simulated ones, their heartbeats and taints, and the pods of nodes that fail or vanish.

Every Node is simulated, also those that clients create. One with the annotation `simulation.clientgo.dev/ready:
"false"` is not ready: it is tainted, and pods that do not tolerate that for long are evicted, as on a cluster. With
`unknown` its kubelet does nothing more: evicted pods stay until the node comes back or is deleted.
"""

from functools import partial

from clientgo_apiserver.api.conditions import condition_of, conditions_of, other_conditions
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController, annotation, is_deleting
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.placement import tolerates_taint
from clientgo_apiserver.cluster.podcontrol import FINISHED, phase_of
from clientgo_apiserver.handlers.podactions import with_condition
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.keys import NODES, PODS
from clientgo_apiserver.storage.stored import Key, name_of

READY = "simulation.clientgo.dev/ready"
LEASES: Key = ("coordination.k8s.io", "leases")
_LEASE_NAMESPACE = "kube-node-lease"
_HEARTBEAT_SECONDS, _LEASE_SECONDS = 10.0, 40
_LEASES = 25  # that are renewed in a row
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_TAINTS = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}
_REASONS = {
    "True": ("KubeletReady", "kubelet is posting ready status"),
    "False": ("KubeletNotReady", "simulated"),
    "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
}
"""Reason and message of the condition Ready."""
_RESOURCES = {"cpu": "128", "memory": "1Ti", "ephemeral-storage": "2Ti", "pods": "1100"}
_NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "simulated",
    "osImage": "simulated",
    "containerRuntimeVersion": "simulated://1.0",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


class NodeSimulation(InternalController):
    """Creates `count` nodes unless there are any, and keeps the status and taints of all."""

    _sources = (NODES, PODS)

    def __init__(self, internal: Internal, *, count: int) -> None:
        super().__init__(internal)
        self._count = count
        self._evictions: dict[str, Handle] = {}

    def start(self) -> None:
        """Create the nodes, and react to every change from now on."""
        super().start()
        if not self._store.count(NODES):
            for number in range(1, self._count + 1):
                self._internal.create(NODES, "", _node(number))
        self._heartbeat()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == NODES:
            if new is None:
                for pod in self._pods_on((old or {})["metadata"]["name"]):
                    self._schedule("pod", *name_of(pod))
            elif old is None or _acted_on(old) != _acted_on(new):
                self._schedule("node", new["metadata"]["name"])
        elif key == PODS and new is None:
            self._cancel_eviction((old or {})["metadata"]["uid"])
        elif key == PODS and new is not None and new["spec"].get("nodeName"):
            node = self._store.get(NODES, "", new["spec"]["nodeName"])
            is_new = old is None or old["spec"].get("nodeName") != new["spec"]["nodeName"]
            if is_new and (node is None or _no_execute(node)):
                self._schedule("pod", *name_of(new))

    def _sync(self, *names: str) -> None:
        kind, *name = names
        if kind == "node":
            self._sync_node(name[0])
        elif kind == "leases":
            for each in name:
                self._renew_lease(each)
        else:
            self._sync_pod(name[0], name[1])

    def _sync_node(self, name: str) -> None:
        node = self._store.get(NODES, "", name)
        if node is None:
            return
        ready, now = readiness(node), self._now()
        simulated = (_UNSCHEDULABLE, *_TAINTS.values())
        taints = [taint for taint in node["spec"].get("taints") or () if taint.get("key") not in simulated]
        if ready in _TAINTS:
            taints += [
                {"key": _TAINTS[ready], "effect": effect, "timeAdded": now} for effect in ("NoSchedule", "NoExecute")
            ]
        if node["spec"].get("unschedulable"):
            taints.append({"key": _UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": now})
        changed = _with_status(node, ready=ready, now=now)
        if [_identity(each) for each in taints] != [_identity(each) for each in node["spec"].get("taints") or ()]:
            spec = {key: value for key, value in changed["spec"].items() if key != "taints"}
            changed = {**changed, "spec": {**spec, **({"taints": taints} if taints else {})}}
        if changed != node:
            self._store.put(NODES, changed)
        for pod in self._pods_on(name):
            self._schedule("pod", *name_of(pod))

    def _sync_pod(self, namespace: str, name: str) -> None:
        """Delete a pod whose node is gone; evict it from a tainted one once its tolerations have run out."""
        pod = self._store.get(PODS, namespace, name)
        if pod is None or not pod["spec"].get("nodeName"):
            return
        node, uid = self._store.get(NODES, "", pod["spec"]["nodeName"]), pod["metadata"]["uid"]
        if node is None:
            if phase_of(pod) not in FINISHED:
                pod = {**pod, "status": {**(pod.get("status") or {}), "phase": "Failed"}}
            self._disrupt(pod, ("DeletionByPodGC", "PodGC: node no longer exists"), grace=0)
            return
        taints = _no_execute(node)
        self._show_readiness(pod, is_reachable=readiness(node) != "Unknown")
        limits = []
        for taint in taints:
            matching = [each for each in pod["spec"].get("tolerations") or () if tolerates_taint(each, taint)]
            limits.append(
                min(
                    (float(each["tolerationSeconds"]) for each in matching if "tolerationSeconds" in each),
                    default=None if matching else 0.0,
                )
            )
        limit = min((limit for limit in limits if limit is not None), default=None)
        if limit is None or is_deleting(pod) or phase_of(pod) in FINISHED:
            self._cancel_eviction(uid)
        elif limit == 0.0:
            self._evict(namespace, name, uid)
        elif uid not in self._evictions:
            self._evictions[uid] = self._later(limit, self._evict, namespace, name, uid)

    def _cancel_eviction(self, uid: str) -> None:
        timer = self._evictions.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _show_readiness(self, pod: Object, *, is_reachable: bool) -> None:
        """Make the pods of an unreachable node unready, and ready again when it is back.

        The pods of a node whose kubelet says that it is not ready keep their conditions, as on a cluster.
        """
        conditions = conditions_of(pod)
        values = {item["type"]: item["status"] for item in conditions}
        gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
        ready = str(is_reachable and all(values.get(kind) == "True" for kind in ("ContainersReady", *gates)))
        if values.get("Ready", ready) == ready:
            return
        changed = {"status": ready, "lastTransitionTime": self._now()}
        updated = [{**item, **changed} if item["type"] == "Ready" else item for item in conditions]
        self._store.put(PODS, {**pod, "status": {**pod["status"], "conditions": updated}})

    def _evict(self, namespace: str, name: str, uid: str) -> None:
        self._evictions.pop(uid, None)
        pod = self._store.get(PODS, namespace, name)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self._disrupt(pod, ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"))

    def _disrupt(self, pod: Object, reason: tuple[str, str], *, grace: int | None = None) -> None:
        """Delete a pod, and say in its conditions that its node is the cause."""
        marked = with_condition(pod, "DisruptionTarget", "True", self._now(), reason=reason[0], message=reason[1])
        self._store.put(PODS, marked)
        delete = partial(self._internal.delete, PODS, *name_of(pod), uid=pod["metadata"]["uid"], grace=grace)
        self._attempt("delete the pod", name_of(pod), delete)

    def _pods_on(self, node: str) -> list[Object]:
        return [pod for pod in self._store.list(PODS) if pod["spec"].get("nodeName") == node]

    def _heartbeat(self) -> None:
        """Renew the Leases before they are next read: until then no time has to come."""
        self._state.delay(LEASES, self._renew_leases)

    def _renew_leases(self) -> None:
        """Renew the Leases of all nodes, some now and the others later, and again after some time."""
        self._later(_HEARTBEAT_SECONDS, self._heartbeat)
        names = [node["metadata"]["name"] for node in self._store.list(NODES)]
        self._state.call_with_retry(self._sync, "leases", *names[:_LEASES])
        for start in range(_LEASES, len(names), _LEASES):
            self._schedule("leases", *names[start : start + _LEASES])

    def _renew_lease(self, name: str) -> None:
        """Renew the Lease of a node if it is ready, as its kubelet does."""
        node, lease = self._store.get(NODES, "", name), self._store.get(LEASES, _LEASE_NAMESPACE, name)
        if node is None or readiness(node) != "True":
            return
        micro = f"{self._now()[:-1]}.000000Z"
        if lease is not None:
            self._store.put(LEASES, {**lease, "spec": {**lease["spec"], "renewTime": micro}})
            return
        spec = {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": micro}
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        meta = {"name": name, "namespace": _LEASE_NAMESPACE, "ownerReferences": [owner]}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
        create = partial(self._internal.create, LEASES, _LEASE_NAMESPACE, lease)
        self._attempt("create the lease", (_LEASE_NAMESPACE, name), create)


def readiness(node: Object) -> str:
    """Return the status of a node's condition Ready: True, False or Unknown, as its annotation says."""
    return {"false": "False", "unknown": "Unknown"}.get(annotation(node, READY), "True")


def _node(number: int) -> Object:
    name = f"node-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": "simulated",
        "topology.kubernetes.io/zone": f"zone-{number}",
    }
    address = f"10.0.0.{number % 256}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"podCIDR": f"10.244.{number % 256}.0/24"},
        "status": {"addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]},
    }


def _with_status(node: Object, *, ready: str, now: str) -> Object:
    status = node.get("status") or {}
    capacity = status.get("capacity") or _RESOURCES
    name = node["metadata"]["name"]
    before = condition_of(node, "Ready")
    if before.get("status") != ready:
        reason, message = _REASONS[ready]
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        before = {"type": "Ready", "status": ready, **times, "reason": reason, "message": message}
    info = status.get("nodeInfo") or {}
    own_info = {**_NODE_INFO, "kubeletVersion": f"v{current().version}.0"}
    defaults = {"capacity": capacity, "allocatable": capacity, "addresses": [{"type": "Hostname", "address": name}]}
    return {
        **node,
        "status": {
            **defaults,
            **status,
            "nodeInfo": info if info.get("kubeletVersion") else own_info,
            "conditions": [*other_conditions(node, "Ready"), before],
        },
    }


def _no_execute(node: Object) -> list[Object]:
    """Return the taints that evict pods."""
    return [taint for taint in node["spec"].get("taints") or () if taint.get("effect") == "NoExecute"]


def _acted_on(node: Object) -> tuple[object, ...]:
    status = node.get("status") or {}
    return annotation(node, READY), node["spec"], status.get("capacity"), status.get("allocatable")


def _identity(taint: Object) -> tuple[object, ...]:
    return taint.get("key"), taint.get("value"), taint.get("effect")
