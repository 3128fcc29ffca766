"""Built-in kinds that two groups or versions show in different shapes: Event and HorizontalPodAutoscaler."""

from typing import Any

Object = dict[str, Any]

# core/v1 field -> events.k8s.io/v1 field; what is named the same in both is not listed.
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENT_BACK = {new: old for old, new in _EVENT_FIELDS.items()}


def event_from_core(obj: Object) -> Object:
    """A stored (core/v1) event as events.k8s.io/v1 shows it."""
    renamed = {_EVENT_FIELDS.get(field, field): value for field, value in obj.items()}
    return _tidy(renamed, ("deprecatedFirstTimestamp", "deprecatedLastTimestamp"))


def event_to_core(obj: Object) -> Object:
    """An events.k8s.io/v1 event as it is stored."""
    return {_EVENT_BACK.get(field, field): value for field, value in obj.items()}


def hpa_v2_to_v1(obj: Object) -> Object:
    """A stored (autoscaling/v2) autoscaler as v1 shows it: the CPU utilization target is a field of its own."""
    spec = dict(obj.get("spec") or {})
    rest = []
    for metric in spec.pop("metrics", None) or ():
        resource = metric.get("resource") or {}
        target = resource.get("target") or {}
        if resource.get("name") == "cpu" and target.get("type") == "Utilization":
            spec["targetCPUUtilizationPercentage"] = target.get("averageUtilization")
        else:
            rest.append(metric)
    return {**obj, "spec": {**spec, **({"metrics": rest} if rest else {})}}


def hpa_v1_to_v2(obj: Object) -> Object:
    """An autoscaling/v1 autoscaler as it is stored."""
    spec = dict(obj.get("spec") or {})
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        spec["metrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "target": target}},
            *spec.get("metrics", ()),
        ]
    return {**obj, "spec": spec}


def _tidy(obj: Object, fields: tuple[str, ...]) -> Object:
    return {field: value for field, value in obj.items() if field not in fields or value is not None}
