"""Autoscalers in both versions, as a real server converts them."""

import json
from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, Kube
from clientgo_apiserver.registry.autoscalers import PREFIX, autoscaler_v1_to_v2, autoscaler_v2_to_v1

URL = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
SPEC = {"maxReplicas": 5, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
SELECTOR = {"matchLabels": {"a": "b"}}
SERVICE = {"kind": "Service", "name": "s", "apiVersion": "v1"}


def metric(kind: str, form: str, value: Any, **source: Any) -> dict[str, Any]:
    """Return a metric whose target has one value; `form` is that of the field."""
    types = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
    return {"type": kind, kind[:1].lower() + kind[1:]: {**source, "target": {"type": types[form], form: value}}}


METRICS = [
    (metric("Resource", "averageValue", "2", name="cpu"), {"name": "cpu", "targetAverageValue": "2"}),
    (metric("Resource", "averageUtilization", 60, name="memory"), {"name": "memory", "targetAverageUtilization": 60}),
    (metric("ContainerResource", "averageUtilization", 50, name="cpu", container="c"),
     {"name": "cpu", "targetAverageUtilization": 50, "container": "c"}),
    (metric("Pods", "averageValue", "1500m", metric={"name": "m", "selector": SELECTOR}),
     {"metricName": "m", "targetAverageValue": "1500m", "selector": SELECTOR}),
    (metric("Object", "value", "10", metric={"name": "o"}, describedObject=SERVICE),
     {"target": SERVICE, "metricName": "o", "targetValue": "10"}),
    (metric("Object", "averageValue", "10", metric={"name": "p", "selector": SELECTOR}, describedObject=SERVICE),
     {"target": SERVICE, "metricName": "p", "targetValue": "0", "selector": SELECTOR, "averageValue": "10"}),
    (metric("External", "value", "10", metric={"name": "e", "selector": SELECTOR}),
     {"metricName": "e", "metricSelector": SELECTOR, "targetValue": "10"}),
    (metric("External", "averageValue", "10", metric={"name": "f"}), {"metricName": "f", "targetAverageValue": "10"}),
]  # fmt: skip


@pytest.mark.parametrize(("new", "old"), METRICS)
def test_metric_is_an_annotation_of_the_old_version(new: dict[str, Any], old: dict[str, Any]) -> None:
    stored = {"metadata": {"name": "h"}, "spec": {**SPEC, "metrics": [new]}}
    converted = autoscaler_v2_to_v1(stored)
    assert converted["spec"] == SPEC
    [written] = json.loads(converted["metadata"]["annotations"][f"{PREFIX}metrics"])
    kind = new["type"]
    assert json.dumps(written) == json.dumps({"type": kind, kind[:1].lower() + kind[1:]: old}), "in Go's order"
    assert autoscaler_v1_to_v2(converted) == stored


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 9, "averageValue": "3"}}},
         {"name": "cpu", "currentAverageUtilization": 9, "currentAverageValue": "3"}),
        ({"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "4"}}},
         {"metricName": "m", "currentAverageValue": "4"}),
        ({"type": "External", "external": {"metric": {"name": "e"}, "current": {"averageValue": "6"}}},
         {"metricName": "e", "currentValue": "0", "currentAverageValue": "6"}),
    ],
)  # fmt: skip
def test_status_is_in_annotations_of_the_old_version(new: dict[str, Any], old: dict[str, Any]) -> None:
    condition = {"type": "AbleToScale", "status": "True", "reason": "r", "message": "m"}
    status = {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": [new], "conditions": [condition]}
    stored = {"metadata": {"name": "h"}, "spec": SPEC, "status": status}
    converted = autoscaler_v2_to_v1(stored)
    annotations = converted["metadata"]["annotations"]
    assert [*json.loads(annotations[f"{PREFIX}current-metrics"])[0].values()] == [new["type"], old]
    assert json.loads(annotations[f"{PREFIX}conditions"]) == [condition]
    assert converted["status"].get("currentCPUUtilizationPercentage") == old.get("currentAverageUtilization")
    assert autoscaler_v1_to_v2(converted) == stored


def test_behavior_has_the_names_of_the_internal_form(kube: Kube) -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 7}}
    kube.ok("POST", URL.format("v2"), {"metadata": {"name": "h"}, "spec": {**SPEC, "behavior": behavior}})
    text = kube.ok("GET", URL.format("v1") + "/h")["metadata"]["annotations"][f"{PREFIX}behavior"]
    policy = '[{"Type":"Percent","Value":100,"PeriodSeconds":15}]'
    rules = f'{{"StabilizationWindowSeconds":7,"SelectPolicy":"Max","Policies":{policy},"Tolerance":null}}'
    assert text.endswith(f',"ScaleDown":{rules}}}')
    kube.ok("PATCH", URL.format("v1") + "/h", {"spec": {"maxReplicas": 6}}, MERGE)
    changed = kube.ok("GET", URL.format("v2") + "/h")["spec"]
    assert changed["maxReplicas"] == 6
    assert changed["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 7


PODS_METRIC = '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"3"}}]'


@pytest.mark.parametrize(
    ("annotations", "metrics", "remaining"),
    [
        ({"metrics": PODS_METRIC}, ["Pods"], {"metrics"}),
        ({"metrics": "[]", "behavior": "{}"}, ["Resource"], set()),
        ({"metrics": "no JSON", "behavior": "null"}, ["Resource"], set()),
        ({"behavior": '{"scaleDown":{"policies":[{"type":"Pods","value":1,"periodSeconds":7}]}}', "other": "x"},
         ["Resource"],
         {"behavior", "other"}),
        ({}, ["Resource"], set()),
    ],
)  # fmt: skip
def test_annotations_of_the_old_version_are_read_and_kept_if_they_have_content(
    kube: Kube, annotations: dict[str, str], metrics: list[str], remaining: set[str]
) -> None:
    """The target of CPU has a default unless there are other metrics."""
    meta = {"name": "h", "annotations": {f"{PREFIX}{name}": text for name, text in annotations.items()}}
    created = kube.ok("POST", URL.format("v1"), {"metadata": meta, "spec": SPEC})
    assert {name.removeprefix(PREFIX) for name in created["metadata"].get("annotations") or ()} == remaining
    assert created["spec"].get("targetCPUUtilizationPercentage") == (80 if metrics == ["Resource"] else None)
    stored = kube.ok("GET", URL.format("v2") + "/h")
    assert [each["type"] for each in stored["spec"]["metrics"]] == metrics
    assert {name.removeprefix(PREFIX) for name in stored["metadata"].get("annotations") or ()} <= {"other"}


@pytest.mark.parametrize(
    ("annotations", "spec", "field"),
    [
        ({"behavior": '{"scaleUp":{"stabilizationWindowSeconds":3}}'}, {}, "spec.behavior.scaleUp.policies"),
        ({"metrics": PODS_METRIC}, {"targetCPUUtilizationPercentage": 0},
         "spec.metrics[1].resource.target.averageUtilization"),
    ],
)  # fmt: skip
def test_old_version_is_validated_with_what_its_annotations_hold(
    kube: Kube, annotations: dict[str, str], spec: dict[str, Any], field: str
) -> None:
    meta = {"name": "h", "annotations": {f"{PREFIX}{name}": text for name, text in annotations.items()}}
    status = kube.refused(422, "POST", URL.format("v1"), {"metadata": meta, "spec": {**SPEC, **spec}})
    assert [cause["field"] for cause in status["details"]["causes"]] == [field]
