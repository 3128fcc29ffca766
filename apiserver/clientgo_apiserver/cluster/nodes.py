"""Nodes: a few simulated ones, their heartbeats and taints, and the pods of nodes that fail or vanish.

Every Node is simulated, also those that clients create. One with the annotation `simulation.clientgo.dev/ready:
"false"` is not ready: it is tainted, and pods that do not tolerate that for long are evicted, as on a cluster.
"""

from functools import partial

from clientgo.version import KUBERNETES
from clientgo_apiserver.cluster.placement import tolerates_taint
from clientgo_apiserver.cluster.podcontrol import FINISHED, PODS, phase_of
from clientgo_apiserver.controllers.base import (
    InternalController,
    annotation,
    condition_of,
    conditions_of,
    is_deleting,
    other_conditions,
)
from clientgo_apiserver.controllers.deployments import NODES
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

READY = "simulation.clientgo.dev/ready"
LEASES: Key = ("coordination.k8s.io", "leases")
_LEASE_NAMESPACE = "kube-node-lease"
_HEARTBEAT_SECONDS, _LEASE_SECONDS = 10.0, 40
_NOT_READY, _UNSCHEDULABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"
_RESOURCES = {"cpu": "128", "memory": "1Ti", "ephemeral-storage": "2Ti", "pods": "1100"}
_NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "simulated",
    "osImage": "simulated",
    "containerRuntimeVersion": "simulated://1.0",
    "kubeletVersion": f"v{KUBERNETES}.0",
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
        elif key == PODS and new is not None and new["spec"].get("nodeName"):
            node = self._store.get(NODES, "", new["spec"]["nodeName"])
            is_new = old is None or old["spec"].get("nodeName") != new["spec"]["nodeName"]
            if is_new and (node is None or _no_execute(node)):
                self._schedule("pod", *name_of(new))

    def _sync(self, *names: str) -> None:
        kind, *name = names
        if kind == "node":
            self._sync_node(name[0])
        else:
            self._sync_pod(name[0], name[1])

    def _sync_node(self, name: str) -> None:
        node = self._store.get(NODES, "", name)
        if node is None:
            return
        ready = annotation(node, READY) != "false"
        taints = [
            taint for taint in node["spec"].get("taints") or () if taint.get("key") not in (_NOT_READY, _UNSCHEDULABLE)
        ]
        now = self._now()
        if not ready:
            taints += [
                {"key": _NOT_READY, "effect": effect, "timeAdded": now} for effect in ("NoSchedule", "NoExecute")
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
            self._sync_pod(*name_of(pod))

    def _sync_pod(self, namespace: str, name: str) -> None:
        """Delete a pod whose node is gone; evict it from a tainted one once its tolerations have run out."""
        pod = self._store.get(PODS, namespace, name)
        if pod is None or not pod["spec"].get("nodeName"):
            return
        node, uid = self._store.get(NODES, "", pod["spec"]["nodeName"]), pod["metadata"]["uid"]
        delete = partial(self._internal.delete, PODS, namespace, name, uid=uid)
        if node is None:
            self._attempt("delete the pod of a node that is gone", (namespace, name), partial(delete, grace=0))
            return
        taints = _no_execute(node)
        self._show_readiness(pod, is_node_ready=annotation(node, READY) != "false")
        limits = []
        for taint in taints:
            matching = [each for each in pod["spec"].get("tolerations") or () if tolerates_taint(each, taint)]
            limits.append(
                min(
                    (float(each["tolerationSeconds"]) for each in matching if "tolerationSeconds" in each),
                    default=None if matching else 0.0,
                )
            )
        due = min((limit for limit in limits if limit is not None), default=None)
        if due is None or is_deleting(pod) or phase_of(pod) in FINISHED:
            return
        if due == 0.0:
            self._attempt("evict the pod", (namespace, name), delete)
        else:
            self._later(due, self._evict, namespace, name, uid)

    def _show_readiness(self, pod: Object, *, is_node_ready: bool) -> None:
        """Make the pods of a node that is not ready unready, and ready again when it recovers."""
        conditions = conditions_of(pod)
        values = {item["type"]: item["status"] for item in conditions}
        gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
        ready = str(is_node_ready and all(values.get(kind) == "True" for kind in ("ContainersReady", *gates)))
        if values.get("Ready", ready) == ready:
            return
        changed = {"status": ready, "lastTransitionTime": self._now()}
        updated = [{**item, **changed} if item["type"] == "Ready" else item for item in conditions]
        self._store.put(PODS, {**pod, "status": {**pod["status"], "conditions": updated}})

    def _evict(self, namespace: str, name: str, uid: str) -> None:
        pod = self._store.get(PODS, namespace, name)
        node = self._store.get(NODES, "", pod["spec"].get("nodeName", "")) if pod is not None else None
        if pod is None or node is None or pod["metadata"]["uid"] != uid or is_deleting(pod):
            return
        if _no_execute(node):
            self._attempt(
                "evict the pod", (namespace, name), partial(self._internal.delete, PODS, namespace, name, uid=uid)
            )

    def _pods_on(self, node: str) -> list[Object]:
        return [pod for pod in self._store.list(PODS) if pod["spec"].get("nodeName") == node]

    def _heartbeat(self) -> None:
        """Renew the Lease of each ready node, as its kubelet does."""
        micro = f"{self._now()[:-1]}.000000Z"
        for node in self._store.list(NODES):
            if annotation(node, READY) == "false":
                continue
            name = node["metadata"]["name"]
            lease = self._store.get(LEASES, _LEASE_NAMESPACE, name)
            if lease is None:
                spec = {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": micro}
                owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
                meta = {"name": name, "namespace": _LEASE_NAMESPACE, "ownerReferences": [owner]}
                lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
                create = partial(self._internal.create, LEASES, _LEASE_NAMESPACE, lease)
                self._attempt("create the lease", (_LEASE_NAMESPACE, name), create)
            else:
                self._store.put(LEASES, {**lease, "spec": {**lease["spec"], "renewTime": micro}})
        self._later(_HEARTBEAT_SECONDS, self._heartbeat)


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


def _with_status(node: Object, *, ready: bool, now: str) -> Object:
    status = node.get("status") or {}
    capacity = status.get("capacity") or _RESOURCES
    name = node["metadata"]["name"]
    before = condition_of(node, "Ready")
    if before.get("status") != str(ready):
        reason = ("KubeletReady", "kubelet is posting ready status") if ready else ("KubeletNotReady", "simulated")
        before = {
            "type": "Ready",
            "status": str(ready),
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
            "reason": reason[0],
            "message": reason[1],
        }
    info = status.get("nodeInfo") or {}
    defaults = {"capacity": capacity, "allocatable": capacity, "addresses": [{"type": "Hostname", "address": name}]}
    return {
        **node,
        "status": {
            **defaults,
            **status,
            "nodeInfo": info if info.get("kubeletVersion") else _NODE_INFO,
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
