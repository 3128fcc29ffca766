"""Built-in mutating admission: what a new object takes over from the cluster's classes and from its protection.

These are the plugins Priority, DefaultTolerationSeconds, RuntimeClass, PodTopologyLabels, DefaultStorageClass,
DefaultIngressClass, StorageObjectInUseProtection and TaintNodesByCondition; a class is looked up when the object is
created.
"""

from collections.abc import Callable, Mapping

from clientgo_apiserver.admission.limitranges import with_range_defaults
from clientgo_apiserver.api.gotext import quoted_text
from clientgo_apiserver.api.names import path_segment_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure, forbidden
from clientgo_apiserver.registry.validation.access import SYSTEM_CLASSES
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NODES, PODS
from clientgo_apiserver.storage.stored import Key

PRIORITY_CLASSES: Key = ("scheduling.k8s.io", "priorityclasses")
RUNTIME_CLASSES: Key = ("node.k8s.io", "runtimeclasses")
STORAGE_CLASSES: Key = ("storage.k8s.io", "storageclasses")
_INGRESS_CLASSES: Key = ("networking.k8s.io", "ingressclasses")
_PREEMPTING = "PreemptLowerPriority"
_EVICTING = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
_NOT_READY: Object = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

Default = Callable[[State, Write, Object], Object]


def with_policy_defaults(state: State, write: Write, new: Object, old: Object | None) -> Object:
    """Return a decoded object with the defaults of the cluster's policies, which an update keeps (403)."""
    if old is not None:
        return _keep_policy_defaults(write, new, old)
    for default in () if write.subresource else _DEFAULTS.get(write.resource.storage, ()):
        new = default(state, write, new)
    return new


def _keep_policy_defaults(write: Write, new: Object, old: Object) -> Object:
    """Return a pod that replaces `old` with the priority and the tolerations it was created with, if it lacks them."""
    if write.resource.storage != PODS or write.subresource or new["spec"] == old["spec"]:
        return new
    assigned = {field: old["spec"][field] for field in ("priority", "preemptionPolicy") if field in old["spec"]}
    return _with_tolerations({**new, "spec": {**assigned, **new["spec"]}})


def _with_spec(obj: Object, **fields: object) -> Object:
    return {**obj, "spec": {**obj["spec"], **fields}}


def _set_priority(state: State, write: Write, pod: Object) -> Object:
    spec, name = pod["spec"], pod["spec"].get("priorityClassName")
    priority_class = _priority_class(state, name) if name else _default_priority(state)
    if name and priority_class is None:
        raise forbidden(write.resource, _name(pod), f"no PriorityClass with name {name} was found")
    priority_class = priority_class or {}
    priority, policy = priority_class.get("value", 0), priority_class.get("preemptionPolicy") or _PREEMPTING
    for field, kind, computed in (("priority", "integer", priority), ("preemptionPolicy", "string", policy)):
        requested = spec.get(field, computed)
        if requested != computed:
            label = "PreemptionPolicy" if kind == "string" else field
            reason = f"the {kind} value of {label} ({requested}) must not be provided in pod spec; priority admission"
            reason += f" controller computed {computed} from the given PriorityClass name"
            raise forbidden(write.resource, _name(pod), reason)
    named = name or (priority_class.get("metadata") or {}).get("name")
    return _with_spec(
        pod, priority=priority, preemptionPolicy=policy, **({"priorityClassName": named} if named else {})
    )


def _priority_class(state: State, name: str) -> Object | None:
    stored = state.store.get(PRIORITY_CLASSES, "", name)
    return {"value": SYSTEM_CLASSES[name]} if stored is None and name in SYSTEM_CLASSES else stored


def _default_priority(state: State) -> Object | None:
    defaults = [
        priority_class for priority_class in state.store.list(PRIORITY_CLASSES) if priority_class.get("globalDefault")
    ]
    return min(defaults, key=lambda priority_class: priority_class.get("value", 0), default=None)


def _add_tolerations(_: State, __: Write, pod: Object) -> Object:
    return _with_tolerations(pod)


def _with_tolerations(pod: Object) -> Object:
    present = pod["spec"].get("tolerations") or []
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _EVICTING
        if not any(
            (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"
            for toleration in present
        )
    ]
    return _with_spec(pod, tolerations=[*present, *added]) if added else pod


def with_topology(state: State, meta: Object, node: str) -> Object:
    """Return metadata of a pod, or of its binding, with the labels of the node that name its region and zone."""
    if not state.release.enabled("PodTopologyLabelsAdmission"):
        return meta
    labels = ((state.store.get(NODES, "", node) or {}).get("metadata") or {}).get("labels") or {}
    topology = {label: labels[label] for label in _TOPOLOGY if label in labels}
    return {**meta, "labels": {**(meta.get("labels") or {}), **topology}} if topology else meta


def _set_topology(state: State, _: Write, pod: Object) -> Object:
    node = pod["spec"].get("nodeName")
    return {**pod, "metadata": with_topology(state, pod["metadata"], node)} if node else pod


def fixed_overhead(runtime_class: Object | None) -> Object | None:
    """Return the overhead of the pods of a runtime class."""
    overhead: Object | None = ((runtime_class or {}).get("overhead") or {}).get("podFixed")
    return overhead


def _set_runtime(state: State, write: Write, pod: Object) -> Object:
    spec, name = pod["spec"], pod["spec"].get("runtimeClassName")
    runtime_class = state.store.get(RUNTIME_CLASSES, "", name) if name else None
    if name and runtime_class is None:
        if reasons := path_segment_errors(name):  # of the client that looks it up
            raise ApiFailure(500, "", f"invalid resource name {quoted_text(name)}: [{' '.join(reasons)}]")
        raise forbidden(write.resource, _name(pod), f'pod rejected: RuntimeClass "{name}" not found')
    overhead = fixed_overhead(runtime_class)
    if overhead and spec.get("overhead") and spec["overhead"] != overhead:
        reason = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise forbidden(write.resource, _name(pod), f"pod rejected: {reason}")
    changed: Object = {"overhead": overhead} if overhead else {}
    scheduling = (runtime_class or {}).get("scheduling") or {}
    required, requested = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key in sorted(required):
        if requested.get(key, required[key]) != required[key]:
            reason = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {required[key]}"
            raise forbidden(write.resource, _name(pod), f"{reason}; pod.spec.nodeSelector[{key}] = {requested[key]}")
    if required:
        changed["nodeSelector"] = {**requested, **required}
    tolerations, present = scheduling.get("tolerations") or (), spec.get("tolerations") or []
    if tolerations:
        changed["tolerations"] = [*present, *(toleration for toleration in tolerations if toleration not in present)]
    return _with_spec(pod, **changed) if changed else pod


def has_storage_class(claim: Object) -> bool:
    """Return whether a claim names a storage class, be it none."""
    return "storageClassName" in claim["spec"] or CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {})


def default_storage_class(state: State) -> str:
    """Return the name of the storage class of claims that name none, or ""."""
    return _default_class(state, STORAGE_CLASSES, "storageclass.kubernetes.io/is-default-class")


def _set_storage_class(state: State, _: Write, claim: Object) -> Object:
    name = "" if has_storage_class(claim) else default_storage_class(state)
    return _with_spec(claim, storageClassName=name) if name else claim


def _set_ingress_class(state: State, _: Write, ingress: Object) -> Object:
    annotations = ingress["metadata"].get("annotations") or {}
    if "ingressClassName" in ingress["spec"] or "kubernetes.io/ingress.class" in annotations:
        return ingress
    name = _default_class(state, _INGRESS_CLASSES, "ingressclass.kubernetes.io/is-default-class")
    return _with_spec(ingress, ingressClassName=name) if name else ingress


def _default_class(state: State, key: Key, annotation: str) -> str:
    """Return the name of the default class, the newest if there are several; "" if there is none."""
    metadata = [obj["metadata"] for obj in state.store.list(key)]
    marked = [meta for meta in metadata if (meta.get("annotations") or {}).get(annotation) == "true"]
    newest = max((meta["creationTimestamp"] for meta in marked), default="")
    return min((str(meta["name"]) for meta in marked if meta["creationTimestamp"] == newest), default="")


def _protect(finalizer: str) -> Default:
    def default(_: State, __: Write, obj: Object) -> Object:
        meta = obj["metadata"]
        present = meta.get("finalizers") or []
        return obj if finalizer in present else {**obj, "metadata": {**meta, "finalizers": [*present, finalizer]}}

    return default


def _taint(_: State, __: Write, node: Object) -> Object:
    taints = node["spec"].get("taints") or []
    is_tainted = any(taint.get("key") == _NOT_READY["key"] and taint.get("effect") == "NoSchedule" for taint in taints)
    return node if is_tainted else _with_spec(node, taints=[*taints, _NOT_READY])


def _name(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


PVC_PROTECTION, PV_PROTECTION = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
VAC_PROTECTION = "kubernetes.io/vac-protection"
_DEFAULTS: Mapping[Key, tuple[Default, ...]] = {
    ("", "pods"): (with_range_defaults, _set_priority, _add_tolerations, _set_runtime, _set_topology),
    ("", "nodes"): (_taint,),
    ("", "persistentvolumeclaims"): (_set_storage_class, _protect(PVC_PROTECTION)),
    ("", "persistentvolumes"): (_protect(PV_PROTECTION),),
    ("storage.k8s.io", "volumeattributesclasses"): (_protect(VAC_PROTECTION),),
    ("networking.k8s.io", "ingresses"): (_set_ingress_class,),
}
