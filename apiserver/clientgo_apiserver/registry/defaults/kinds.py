"""Defaulting of the built-in kinds: functions for what depends on the whole object, then the defaults by type."""

import base64
import json
import re
from collections.abc import Callable, Mapping

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.crds import crdschema
from clientgo_apiserver.gotypes.messages import Message
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.registry.autoscalers import PREFIX
from clientgo_apiserver.registry.defaults.pods import pod, quality_of_service
from clientgo_apiserver.registry.defaults.services import service
from clientgo_apiserver.registry.defaults.types import complete
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.storage.keys import NODES

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The annotation that counts the changes of a DaemonSet's template; Kubernetes' own form of the object lacks it."""

_TARGET_PERCENTAGE = 80  # of CPU in autoscaling/v1
_MAX_INT32 = 2**31 - 1
_GATED: Object = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def set_defaults(resource: Resource, message: Message, obj: Object, old: Object | None, now: str) -> Object:
    """Return a decoded object with its defaults and the fields that Go always writes."""
    new = complete(message, set_kind_defaults(resource, obj, old, now), old)
    return with_template_generation(new, template_generation(new)) if resource.kind == "DaemonSet" else new


def set_kind_defaults(resource: Resource, obj: Object, old: Object | None, now: str) -> Object:
    """Return a decoded object with the defaults that depend on the whole object.

    A new object of a kind with a status starts with the status the server gives it, not with the client's.
    """
    created = old is None and resource.status and not keeps_status(resource)
    sent = obj.get("status") or {}
    if created:
        obj = {**obj, "status": {}}
    if old is not None and resource.kind == "Pod":
        obj = {**obj, "status": _kept_status(obj.get("status") or {}, old.get("status") or {})}
    default = _DEFAULTS.get(resource.storage)
    if default is not None:
        obj = default(obj, old)
    if created and resource.kind in _INITIAL_STATUS:
        obj = {**obj, "status": _INITIAL_STATUS[resource.kind](obj, now)}
        if sent.get("qosClass"):  # of a pod, which keeps the class that it was sent with
            obj["status"]["qosClass"] = sent["qosClass"]
    return obj


def _pod_status(obj: Object, now: str) -> Object:
    spec = obj["spec"]
    gated = {"conditions": [{**_GATED, "lastTransitionTime": now}]} if spec.get("schedulingGates") else {}
    return {"phase": "Pending", **gated, "qosClass": quality_of_service(spec)}


def _kept_status(new: Object, old: Object) -> Object:
    """Return a pod's status with the quality of service and the generations of the old one, unless it has its own."""
    from_old = {
        field: old[field] for field in ("qosClass", "observedGeneration") if old.get(field) and not new.get(field)
    }
    observed: dict[str, list[int]] = {}
    for condition in old.get("conditions") or ():
        observed.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration") or 0)
    conditions = []
    for condition in new.get("conditions") or ():
        generations = observed.get(condition.get("type") or "")
        before = generations.pop(0) if generations else 0
        conditions.append(
            {**condition, "observedGeneration": before}
            if before and not condition.get("observedGeneration")
            else condition
        )
    return {**new, **from_old, **({"conditions": conditions} if conditions else {})}


_INITIAL_STATUS: Mapping[str, Callable[[Object, str], Object]] = {
    "PersistentVolume": lambda _, now: {"lastPhaseTransitionTime": now},
    "Pod": _pod_status,
    "ReplicaSet": lambda _, __: {"replicas": 0},
}


def _job(obj: Object, _: Object | None) -> Object:
    declared = obj.get("spec") or {}
    spec = {"parallelism": 1, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False, **declared}
    if "completions" not in declared and "parallelism" not in declared:
        spec["completions"] = 1
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in declared else 6)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in declared else "TerminatingOrFailed")
    return _labelled(obj, spec)


def _replication_controller(obj: Object, _: Object | None) -> Object:
    spec = dict(obj.get("spec") or {})
    labels = _template_labels(spec)
    if labels and not spec.get("selector"):
        spec["selector"] = labels
    return _labelled(obj, spec)


def _labelled(obj: Object, spec: Object) -> Object:
    """Return the workload, which has the labels of its pods if it has none."""
    labels, meta = _template_labels(spec), obj["metadata"]
    return {**obj, "spec": spec, "metadata": {**meta, "labels": labels} if labels and not meta.get("labels") else meta}


def _template_labels(spec: Object) -> Object:
    labels: Object = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return labels


def _namespace(obj: Object, _: Object | None) -> Object:
    meta = obj["metadata"]
    if "name" in meta:
        meta = {**meta, "labels": {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}}
    return {**obj, "spec": obj.get("spec") or {}, "metadata": meta}


def _secret(obj: Object, _: Object | None) -> Object:
    texts = obj.get("stringData")
    if not texts:
        return obj
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
    stored = {field: value for field, value in obj.items() if field != "stringData"}
    return {**stored, "data": {**(obj.get("data") or {}), **encoded}}


def template_generation(obj: Object) -> int:
    """Return the number in the annotation of a DaemonSet, a field of older versions; 0 without it; DecodeError."""
    text = str((obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or 0)
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII) is None:
        reason = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise DecodeError(reason)
    return int(text)


def with_template_generation(obj: Object, number: int) -> Object:
    """Return a DaemonSet with this number in its annotation."""
    annotations = {**obj["metadata"].get("annotations", {}), TEMPLATE_GENERATION: str(number)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _node(obj: Object, _: Object | None) -> Object:
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    # The first of podCIDRs is podCIDR, which wins, as in the conversion from v1.
    first = spec.get("podCIDR")
    if first and [first] != (spec.get("podCIDRs") or [])[:1]:
        spec["podCIDRs"] = [first]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = status["capacity"]
    return {**obj, "spec": spec, "status": status}


def _autoscaler(obj: Object, _: Object | None) -> Object:
    """Return an autoscaler without the annotations that held in older versions what has fields now."""
    annotations = obj["metadata"].get("annotations") or {}
    names = _AUTOSCALING_FIELDS
    if obj["apiVersion"] == "autoscaling/v1":  # which has no fields for some of it
        names = tuple(name for name in names if not _has_content(name, annotations.get(f"{PREFIX}{name}", "")))
        if "metrics" in names:  # else the target of CPU has no default
            obj = {**obj, "spec": {"targetCPUUtilizationPercentage": _TARGET_PERCENTAGE, **(obj.get("spec") or {})}}
    dropped = {f"{PREFIX}{name}" for name in names} & annotations.keys()
    if not dropped:
        return obj
    remaining = {name: value for name, value in annotations.items() if name not in dropped}
    meta = {field: value for field, value in obj["metadata"].items() if field != "annotations"}
    return {**obj, "metadata": {**meta, "annotations": remaining} if remaining else meta}


def _has_content(name: str, text: str) -> bool:
    """Return whether an annotation holds metrics or a behavior."""
    try:
        return name in ("behavior", "metrics") and bool(json.loads(text))
    except ValueError:
        return False


_AUTOSCALING_FIELDS: tuple[str, ...] = ("behavior", "conditions", "current-metrics", "metrics")


def _daemon_set(obj: Object, _: Object | None) -> Object:
    """Return a DaemonSet whose numbers of a rolling update are 0 if it has another strategy, and not the defaults."""
    spec = obj.get("spec") or {}
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("rollingUpdate") is None or strategy.get("type") in (None, "", "RollingUpdate"):
        return obj
    rolling = {"maxUnavailable": 0, "maxSurge": 0, **strategy["rollingUpdate"]}
    return {**obj, "spec": {**spec, "updateStrategy": {**strategy, "rollingUpdate": rolling}}}


_DEFAULTS: Mapping[tuple[str, str], Callable[[Object, Object | None], Object]] = {
    ("", "namespaces"): _namespace,
    ("", "nodes"): _node,
    ("", "pods"): lambda obj, _: pod(obj),
    ("", "replicationcontrollers"): _replication_controller,
    ("", "secrets"): _secret,
    ("", "services"): service,
    ("apiextensions.k8s.io", "customresourcedefinitions"): crdschema.with_defaults,
    ("apps", "daemonsets"): _daemon_set,
    ("autoscaling", "horizontalpodautoscalers"): _autoscaler,
    ("batch", "jobs"): _job,
}


def keeps_status(resource: Resource) -> bool:
    """Return whether a created object keeps the status that it is sent with."""
    # The kubelet registers its node with a status.
    return resource.storage == NODES or is_written_with_status(resource)


def is_written_with_status(resource: Resource) -> bool:
    """Return whether every write may change the status."""
    return resource.kind == "ServiceCIDR" and not current().enabled("ServiceCIDRStatusFieldWiping")
