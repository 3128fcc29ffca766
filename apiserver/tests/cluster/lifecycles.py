"""Life cycles as data, and what plays them on a cluster with pods: YAML files of steps and end states.

A step is a mapping whose first key is its verb: `create`, `change`, `delete` or `evict` an object `PLURAL/NAME`, where
`pods/#0` is the first pod by name; `drain` a node; `wait` for seconds. `refused: CODE` expects the step to fail, and
`always` holds after each second of a wait. An end state has the fields of objects' statuses, conditions by their type,
other fields by a path that starts with a period, and views of all pods. The page of end states is written by
`python -m apiserver.tests.cluster.lifecycles > apiserver/docs/life-cycles.md`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from apiserver.tests.cluster.podcluster import NODES, PODS, REPLICA_SETS, Object, PodCluster, pod_template
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.jqpaths import values_at
from clientgo_apiserver.storage.stored import Key

FOLDER = Path(__file__).with_name("lifecycledata")
_KINDS: dict[str, tuple[Key, str]] = {
    "deployments": (("apps", "deployments"), "apps/v1 Deployment"),
    "replicasets": (REPLICA_SETS, "apps/v1 ReplicaSet"),
    "replicationcontrollers": (("", "replicationcontrollers"), "v1 ReplicationController"),
    "statefulsets": (("apps", "statefulsets"), "apps/v1 StatefulSet"),
    "daemonsets": (("apps", "daemonsets"), "apps/v1 DaemonSet"),
    "jobs": (("batch", "jobs"), "batch/v1 Job"),
    "cronjobs": (("batch", "cronjobs"), "batch/v1 CronJob"),
    "controllerrevisions": (("apps", "controllerrevisions"), "apps/v1 ControllerRevision"),
    "pods": (PODS, "v1 Pod"),
    "nodes": (NODES, "v1 Node"),
    "namespaces": (("", "namespaces"), "v1 Namespace"),
    "configmaps": (("", "configmaps"), "v1 ConfigMap"),
    "services": (("", "services"), "v1 Service"),
    "endpointslices": (("discovery.k8s.io", "endpointslices"), "discovery.k8s.io/v1 EndpointSlice"),
    "endpoints": (("", "endpoints"), "v1 Endpoints"),
    "resourcequotas": (("", "resourcequotas"), "v1 ResourceQuota"),
    "persistentvolumeclaims": (("", "persistentvolumeclaims"), "v1 PersistentVolumeClaim"),
    "persistentvolumes": (("", "persistentvolumes"), "v1 PersistentVolume"),
    "storageclasses": (("storage.k8s.io", "storageclasses"), "storage.k8s.io/v1 StorageClass"),
    "poddisruptionbudgets": (("policy", "poddisruptionbudgets"), "policy/v1 PodDisruptionBudget"),
    "events": (("", "events"), "v1 Event"),
}
_TITLES = {
    "cronjobs": "CronJobs",
    "daemonsets": "DaemonSets",
    "deployments": "Deployments",
    "jobs": "Jobs",
    "namespaces": "Namespaces, owners, claims and endpoints",
    "nodes": "Nodes, evictions and budgets",
    "quotas": "Quotas",
    "replicasets": "ReplicaSets and ReplicationControllers",
    "scheduling": "Scheduling beside other pods",
    "statefulsets": "StatefulSets",
    "volumes": "Volumes and claims",
}
_INTRODUCTION = """# Life cycles

The states in which objects end, on a clock that tests step. Each line is a test: its steps are in
[the data](../tests/cluster/lifecycledata), a file for each section.

The expected states follow from the documented behavior of kube-controller-manager 1.36 and the order of decisions in
its controllers; the last column names the rule. 199 of the 232 life cycles without volumes were also played in real
time, with simulated kubelets as here, on kube-apiserver, kube-scheduler and kube-controller-manager 1.36.2, and ended
in the same state there (2026-11-28). Seven more were played and cannot be compared: they depend on the moment of a
step or need more than six minutes. 26 were not played in this form: most need hours, and three on rolling updates of
StatefulSets were changed since. Those of volumes were compared case by case with that controller manager (2026-11-30);
which of two waiting claims gets a volume is not determined there, and volumes are made by provisioners outside.

Pods become ready a second after they are scheduled, and end a second after they are deleted. `pods: i Ready 3` means
that three pods of the image `i` are ready; `pods/#0` is the first pod by name. Conditions are listed by their type,
with status and reason."""
_CLUSTER_SCOPED = ("nodes", "namespaces", "persistentvolumes", "storageclasses")
_META = ("labels", "annotations", "finalizers")


@dataclass(frozen=True)
class LifeCycle:
    """Steps, the state in which they must end, and the rule of Kubernetes that requires it."""

    name: str
    rule: str
    steps: list[Object]
    end: Object


def life_cycles() -> Iterator[tuple[str, LifeCycle]]:
    """Yield the life cycles with the names of their files."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for item in yaml.safe_load(path.read_text()):
            yield path.stem, LifeCycle(**item)


class Player:
    """Plays the steps of one life cycle on a cluster."""

    def __init__(self, cluster: PodCluster) -> None:
        self.cluster = cluster

    def play(self, step: Object) -> None:
        """Take a step."""
        verb, target = next(iter(step.items()))
        take: Callable[[str, Object], None] = {
            "create": self._create, "change": self._change, "delete": self._delete, "evict": self._evict,
            "drain": self._drain, "wait": self._wait,
        }[verb]  # fmt: skip
        refused = 0
        try:
            take(target, {key: value for key, value in step.items() if key not in (verb, "refused")})
        except ApiFailure as failure:
            if "refused" not in step:
                raise
            refused = failure.code
        assert refused == step.get("refused", 0), step

    def observed(self, expected: Object) -> Object:
        """Return the state of the cluster in the shape of the expected one."""
        return {subject: self._observe(subject, value) for subject, value in expected.items()}

    def _find(self, target: str, namespace: str = "default") -> tuple[Key, str, str]:
        """Return key, namespace and name of an object, which `#N` names by its position."""
        plural, _, name = target.partition("/")
        namespace = "" if plural in _CLUSTER_SCOPED else namespace
        key = _KINDS[plural][0]
        if name.startswith("#"):
            name = self.cluster.store.list(key, namespace)[int(name[1:])]["metadata"]["name"]
        return key, namespace, name

    def _create(self, target: str, fields: Object) -> None:
        key, namespace, name = self._find(target, fields.pop("in", "default"))
        api_version, kind = _KINDS[target.partition("/")[0]][1].split()
        meta = {"name": name, **{field: fields.pop(field) for field in _META if field in fields}}
        obj = {"apiVersion": api_version, "kind": kind, "metadata": meta}
        if "owned by" in fields:
            meta["ownerReferences"] = [self._reference(fields.pop("owned by"), namespace)]
        base = _base(target.partition("/")[0], name, fields.pop("image", "i"))
        self.cluster.create(key, _merged(_merged(base, obj), fields), namespace)

    def _reference(self, target: str, namespace: str) -> Object:
        owner = self.cluster.store.get(*self._find(target, namespace))
        assert owner is not None, f"{target} exists"
        reference = {field: owner[field] for field in ("apiVersion", "kind")}
        reference |= {field: owner["metadata"][field] for field in ("name", "uid")}
        return {**reference, "blockOwnerDeletion": True}

    def _change(self, target: str, fields: Object) -> None:
        key, namespace, name = self._find(target, fields.pop("in", "default"))
        if "status" in fields:
            self.cluster.internal.patch(key, namespace, name, fields, subresource="status")
            self.cluster.scheduler.run()
            return
        meta = {field: fields.pop(field) for field in _META if field in fields}
        if "also owned by" in fields:
            before = self.cluster.get(key, name, namespace)["metadata"].get("ownerReferences") or []
            meta["ownerReferences"] = [*before, self._reference(fields.pop("also owned by"), namespace)]
        patch: Object = {"metadata": meta, **fields}
        if "image" in patch:
            template = {"spec": {"containers": [{"name": "c", "image": patch.pop("image")}]}}
            patch["spec"] = _merged({"template": template}, patch.get("spec") or {})
        self.cluster.patch(key, name, patch, namespace)

    def _delete(self, target: str, fields: Object) -> None:
        key, namespace, name = self._find(target, fields.pop("in", "default"))
        self.cluster.delete(key, name, namespace, **fields)

    def _evict(self, target: str, fields: Object) -> None:
        self.cluster.evict(self._find(target)[2])

    def _drain(self, node: str, fields: Object) -> None:
        """Cordon a node and evict its pods, but those of DaemonSets, as `kubectl drain` does."""
        self.cluster.patch(NODES, node, {"spec": {"unschedulable": True}}, "")
        for _ in range(10):
            for pod in self.cluster.pods():
                owners = pod["metadata"].get("ownerReferences") or [{"kind": ""}]
                is_leaving = "deletionTimestamp" in pod["metadata"] or owners[0]["kind"] == "DaemonSet"
                if pod["spec"].get("nodeName") == node and not is_leaving:
                    self._evict_if_allowed(pod["metadata"]["name"])
            self._wait("1", fields)

    def _evict_if_allowed(self, name: str) -> None:
        try:
            self.cluster.evict(name)
        except ApiFailure as failure:
            if failure.code != 429:
                raise

    def _wait(self, seconds: str, fields: Object) -> None:
        step = fields.get("by", 1)
        for _ in range(int(seconds) // step):
            self.cluster.step(step)
            limits = fields.get("always") or {}
            for subject, bounds in limits.items():
                for field, (least, most) in bounds.items():
                    value = self._observe(subject, {field: 0})[field]
                    assert least <= value <= most, f"{subject} has {field} {value}"

    def _observe(self, subject: str, expected: Any) -> Any:
        if "/" not in subject:
            return self._view(subject, expected)
        plural_and_name, _, namespace = subject.partition(" in ")
        try:
            obj = self.cluster.store.get(*self._find(plural_and_name, namespace or "default"))
        except IndexError:
            obj = None
        if obj is None or not isinstance(expected, dict):
            return "gone" if obj is None else "exists"
        return {field: _field(obj, field, value) for field, value in expected.items()}

    def _view(self, name: str, expected: Any) -> Any:
        """Return a view of the whole cluster: its pods, ReplicaSets or events, or the names of objects of one kind."""
        pods = self.cluster.pods()
        events = Counter[str]()
        stored = self.cluster.store.list(("", "events"))
        for event in stored:
            events[event["reason"]] += event["count"]
        views: dict[str, Callable[[], Object]] = {
            "pods": lambda: dict(Counter(f"{_image(pod)} {_state(pod)}" for pod in pods)),
            "all pods": lambda: {"number": len(pods)},
            "named pods": lambda: {pod["metadata"]["name"]: f"{_image(pod)} {_state(pod)}" for pod in pods},
            "nodes of pods": lambda: dict(Counter(pod["spec"].get("nodeName", "none") for pod in pods)),
            "sizes by image": lambda: {
                each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
                for each in self.cluster.store.list(REPLICA_SETS)
            },
            "events": lambda: {reason: events[reason] for reason in expected},
        }
        if name in views:
            return views[name]()
        described, _, involved = name.partition(" of ")
        if described in ("events", "messages"):
            field = "reason" if described == "events" else "message"
            return sorted({each[field] for each in stored if each["involvedObject"]["name"] == involved})
        if described == "number":
            return self.cluster.store.count(_KINDS[involved][0])
        return [each["metadata"]["name"] for each in self.cluster.store.list(_KINDS[name][0])]


def _base(plural: str, name: str, image: str) -> Object:
    """Return what a step that creates an object need not say."""
    template = pod_template(name, image)
    once = {"template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}
    selector = {"matchLabels": {"app": name}}
    storage = {"accessModes": ["ReadWriteOnce"]}
    replicated = {"spec": {"selector": selector, "template": template}}
    bases: Object = {
        "deployments": replicated,
        "replicasets": replicated,
        "statefulsets": replicated,
        "daemonsets": replicated,
        "replicationcontrollers": {"spec": {"selector": {"app": name}, "template": template}},
        "jobs": {"spec": once},
        "cronjobs": {"spec": {"jobTemplate": {"spec": once}}},
        "pods": {"metadata": template["metadata"], "spec": template["spec"]},
        "services": {"spec": {"selector": {"app": name}, "ports": [{"port": 80}]}},
        "poddisruptionbudgets": {"spec": {"selector": selector}},
        "persistentvolumes": {"spec": {**storage, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}},
        "persistentvolumeclaims": {"spec": {**storage, "resources": {"requests": {"storage": "1Gi"}}}},
        "storageclasses": {"provisioner": "example.com/disks"},
    }
    base: Object = bases.get(plural, {})
    return base


def _merged(base: Object, over: Object) -> Object:
    """Return `base` with the fields of `over`, mappings merged."""
    merged = dict(base)
    for field, value in over.items():
        before = merged.get(field)
        merged[field] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged


def _field(obj: Object, field: str, expected: Any) -> Any:
    """Return a field of the status, a condition, or what is at a path; an absent number is 0."""
    value: Any = obj.get("status") or {}
    if field.startswith("."):
        value = next(iter(values_at(obj, field)), None)
    elif field[0].isupper():
        conditions = {each["type"]: each for each in value.get("conditions") or ()}
        condition = conditions.get(field)
        return None if condition is None else " ".join(filter(None, (condition["status"], condition.get("reason"))))
    else:
        value = value.get(field)
    return type(expected)() if value is None and expected is not None else value


def _image(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def _state(pod: Object) -> str:
    """Return the state of a pod: its phase, or that it is ready or being deleted."""
    status = pod.get("status") or {}
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())
    return "Ready" if ready else str(status.get("phase", ""))


def page() -> str:
    """Return the documentation of the end states."""
    lines = [_INTRODUCTION]
    title = ""
    for name, cycle in life_cycles():
        if name != title:
            lines += ["", f"## {_TITLES[name]}", "", "| Life cycle | End state | Rule |", "| --- | --- | --- |"]
            title = name
        lines.append(f"| {cycle.name} | {_text(cycle.end)} | {cycle.rule} |")
    return "\n".join(lines) + "\n"


def _text(end: Object) -> str:
    """Return an end state as the text of a cell."""
    subjects = []
    for subject, value in end.items():
        if isinstance(value, dict):
            fields = [f"{name} {_value(each)}" for name, each in value.items()] or ["none"]
            subjects.append(f"{subject}: {', '.join(fields)}")
        else:
            subjects.append(f"{subject} {_value(value)}")
    escaped = "; ".join(subjects).replace("|", "\\|")
    return f"`{escaped}`"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "absent" if value in (None, "") else str(value)


if __name__ == "__main__":
    print(page(), end="")
