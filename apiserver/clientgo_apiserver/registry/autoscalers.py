"""Autoscalers in autoscaling/v1 and autoscaling/v2, in which they are stored.

The old version has a field for the target of CPU alone. As in Kubernetes, everything else that the new one has is JSON
in annotations: other metrics, the behavior, and of the status the current metrics and the conditions.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from clientgo.meta.jsonvalues import html_escaped
from clientgo_apiserver.api.resources import Object

PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, BEHAVIOR, CURRENT, CONDITIONS = (
    f"{PREFIX}{name}" for name in ("metrics", "behavior", "current-metrics", "conditions")
)
"""The annotations."""

_SOURCES = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}
# Fields of the old version in their order, and their paths in the new one; `*` is target, or current in the status.
_AVERAGES = {"*AverageUtilization": ("*", "averageUtilization"), "*AverageValue": ("*", "averageValue")}
_FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "Object": {
        "target": ("describedObject",),
        "metricName": ("metric", "name"),
        "*Value": ("*", "value"),
        "selector": ("metric", "selector"),
        "averageValue": ("*", "averageValue"),
    },
    "Pods": {
        "metricName": ("metric", "name"),
        "*AverageValue": ("*", "averageValue"),
        "selector": ("metric", "selector"),
    },
    "Resource": {"name": ("name",), **_AVERAGES},
    "ContainerResource": {"name": ("name",), **_AVERAGES, "container": ("container",)},
    "External": {
        "metricName": ("metric", "name"),
        "metricSelector": ("metric", "selector"),
        "*Value": ("*", "value"),
        "*AverageValue": ("*", "averageValue"),
    },
}
_REQUIRED = frozenset(
    ["Object target*Value", "Object current*Value", "External current*Value"]
    + [f"{kind} current*AverageValue" for kind in ("Pods", "Resource", "ContainerResource")]
)
"""Quantities that the old version always has."""

_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY = ("Type", "Value", "PeriodSeconds")


def autoscaler_v2_to_v1(obj: Object) -> Object:
    """Convert a stored autoscaler to autoscaling/v1."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    other_metrics = []
    for metric in metrics:
        percentage = _utilization(metric, "target")
        if percentage is None:
            other_metrics.append(_old_metric(metric, "target"))
        else:
            spec["targetCPUUtilizationPercentage"] = percentage
    for metric in current:
        if (percentage := _utilization(metric, "current")) is not None:
            status["currentCPUUtilizationPercentage"] = percentage
    behavior = spec.pop("behavior", None)
    texts = {
        METRICS: other_metrics,
        BEHAVIOR: behavior and {name: _old_rules(behavior.get(_lower(name))) for name in ("ScaleUp", "ScaleDown")},
        CURRENT: [_old_metric(metric, "current") for metric in current],
        CONDITIONS: status.pop("conditions", None),
    }
    annotations |= {name: html_escaped(msgspec.json.encode(value)).decode() for name, value in texts.items() if value}
    return _rebuilt(obj, spec, status, annotations)


def autoscaler_v1_to_v2(obj: Object) -> Object:
    """Convert an autoscaling/v1 autoscaler to its stored form."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    values = {name: _parsed(annotations.pop(name, "")) for name in (METRICS, BEHAVIOR, CURRENT, CONDITIONS)}
    metrics = [_new_metric(metric, "target") for metric in _objects(values[METRICS])]
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    current = [_new_metric(metric, "current") for metric in _objects(values[CURRENT])]
    percentage = status.pop("currentCPUUtilizationPercentage", None)
    if percentage is not None and not current:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percentage}}}]
    behavior = _lower_names(values[BEHAVIOR]) if isinstance(values[BEHAVIOR], dict) else None
    spec |= {name: value for name, value in (("metrics", metrics), ("behavior", behavior)) if value}
    conditions = _objects(values[CONDITIONS])
    status |= {name: value for name, value in (("currentMetrics", current), ("conditions", conditions)) if value}
    return _rebuilt(obj, spec, status, annotations)


def _rebuilt(obj: Object, spec: Object, status: Object, annotations: Object) -> Object:
    meta = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
    sections = {"spec": spec, "status": status}
    changed = {name: value for name, value in sections.items() if name in obj or value}
    return {**obj, "metadata": {**meta, **({"annotations": annotations} if annotations else {})}, **changed}


def _utilization(metric: Object, kind: str) -> int | None:
    """Return the percentage of CPU that a metric is about; None for another metric."""
    source = metric.get("resource") or {}
    percentage: int | None = (source.get(kind) or {}).get("averageUtilization")
    return percentage if metric.get("type") == "Resource" and source.get("name") == "cpu" else None


def _old_metric(metric: Object, kind: str) -> Object:
    """Convert a metric (`kind`: target, or current in the status) to the old version."""
    name = str(metric.get("type"))
    source = metric.get(_SOURCES.get(name, "")) or {}
    converted = {}
    for field, path in _FIELDS.get(name, {}).items():
        value: Any = source
        for step in path:
            value = (value or {}).get(kind if step == "*" else step)
        if value is None and f"{name} {field.replace('*', f'{kind}*')}" in _REQUIRED:
            value = "0"
        if value is not None:
            converted[field.replace("*", kind)] = value
    return {"type": name, **({_SOURCES[name]: converted} if name in _SOURCES else {})}


def _new_metric(metric: Object, kind: str) -> Object:
    """Convert a metric of the old version."""
    name = str(metric.get("type"))
    source = metric.get(_SOURCES.get(name, "")) or {}
    converted: Object = {kind: {}}
    for field, path in _FIELDS.get(name, {}).items():
        value = source.get(field.replace("*", kind))
        if value is None:
            continue
        *steps, last = path
        inner: Any = converted
        for step in steps:
            inner = inner.setdefault(kind if step == "*" else step, {})
        inner[last] = value
    values = converted[kind]
    if "averageValue" in values and values.get("value") == "0":
        del values["value"]  # which the old version always has
    if kind == "target":
        forms = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
        converted[kind] = {"type": next((forms[form] for form in forms if form in values), "Value"), **values}
    return {"type": name, **({_SOURCES[name]: converted} if name in _SOURCES else {})}


def _old_rules(rules: Object | None) -> Object | None:
    """Return the rules of one direction as Go encodes the internal form, whose fields have no names in JSON."""
    if rules is None:
        return None
    policies = rules.get("policies")
    old = {name: rules.get(_lower(name)) for name in _RULES}
    if policies is not None:
        old["Policies"] = [{name: policy.get(_lower(name)) for name in _POLICY} for policy in policies]
    return old


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


def _lower_names(value: Any) -> Any:
    """Return a value with names in lower case, and without nulls."""
    if isinstance(value, dict):
        return {_lower(name): _lower_names(item) for name, item in value.items() if item is not None}
    return [_lower_names(item) for item in value] if isinstance(value, list) else value


def _parsed(text: str) -> Any:
    """Return the JSON of an annotation; None if it is none, which Kubernetes ignores."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _objects(value: Any) -> list[Object]:
    items: Iterable[Any] = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict)]
