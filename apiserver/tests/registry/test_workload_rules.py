"""Rules of pods, workloads, jobs and autoscalers, as requests meet them."""

import json
from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, Kube

POD = {"containers": [{"name": "c", "image": "i"}]}
LABELLED = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": LABELLED}
JOB = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
CRON_JOB = {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}
AUTOSCALER = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}
PATHS = {
    "pods": "/api/v1", "deployments": "/apis/apps/v1", "statefulsets": "/apis/apps/v1", "daemonsets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1", "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "poddisruptionbudgets": "/apis/policy/v1",
}  # fmt: skip


def path(plural: str, name: str = "") -> str:
    return f"{PATHS[plural]}/namespaces/default/{plural}{f'/{name}' if name else ''}"


def container(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", **more}]}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def volume(**source: Any) -> dict[str, Any]:
    return {**POD, "volumes": [{"name": "v", **source}]}


INVALID: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("pods", container(resources={"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}),
     {"spec.containers[0].resources.requests": 'Invalid value: "2Gi": must be less than or equal to memory limit of'}),
    ("pods", container(volumeMounts=[{"name": "lost", "mountPath": "/x"}]),
     {"spec.containers[0].volumeMounts[0].name": 'Not found: "lost"'}),
    ("pods", container(readinessProbe={"periodSeconds": 5}),
     {"spec.containers[0].readinessProbe": "Required value: must specify a handler type"}),
    ("pods", container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.containers"}}}]),
     {"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath": 'Invalid value: "spec.containers": error converting'}),
    ("pods", {**POD, "initContainers": [{"name": "i", "image": "i", "lifecycle": {}}]},
     {"spec.initContainers[0].lifecycle": "Forbidden: may not be set for init containers without"}),
    ("pods", {**POD, "tolerations": [{"key": "a", "tolerationSeconds": 0}]},
     {"spec.tolerations[0].effect": "Invalid value: \"\": effect must be 'NoExecute' when"}),
    ("pods", volume(emptyDir={}, secret={"secretName": "s"}),
     {"spec.volumes[0].secret": "Forbidden: may not specify more than 1 volume type"}),
    ("pods", volume(downwardAPI={"items": [{"path": "../a", "fieldRef": {"fieldPath": "metadata.name"}}]}),
     {"spec.volumes[0].downwardAPI.path": "Invalid value: \"../a\": must not contain '..'"}),
    ("deployments", {**WORKLOAD, "template": {**LABELLED, "spec": container(image="")}},
     {"spec.template.spec.containers[0].image": "Required value"}),
    ("deployments", {**WORKLOAD, "strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
     {"spec.strategy.rollingUpdate": "Forbidden: may not be specified when strategy `type` is 'Recreate'"}),
    ("deployments", {**WORKLOAD, "strategy": {"type": "Other"}},
     {"spec.strategy": 'Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "Recreate"'}),
    ("daemonsets", {**WORKLOAD, "updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "1%"}}},
     {"spec.updateStrategy.rollingUpdate.maxSurge": "Invalid value: 1: may not be set when maxUnavailable"}),
    ("jobs", {**JOB, "completionMode": "Indexed", "parallelism": 1},
     {"spec.completions": "Required value: when completion mode is Indexed"}),
    ("cronjobs", {**CRON_JOB, "schedule": "61 * * * *"},
     {"spec.schedule": 'Invalid value: "61 * * * *": end of range (61) above maximum (59): 61'}),
    ("cronjobs", {**CRON_JOB, "timeZone": "Mars/Base"},
     {"spec.timeZone": 'Invalid value: "Mars/Base": unknown time zone Mars/Base'}),
    ("horizontalpodautoscalers", {**AUTOSCALER, "behavior": {"scaleDown": {"policies": []}}},
     {"spec.behavior.scaleDown.policies": "Required value: must specify at least one Policy"}),
    ("statefulsets", {**WORKLOAD, "volumeClaimTemplates": [{"metadata": {"name": "a.b"}, "spec": CLAIM}]},
     {"spec.template.spec.volumes[0].name": 'Invalid value: "a.b": must not contain dots'}),
    ("horizontalpodautoscalers", {**AUTOSCALER, "metrics": [{"type": "Pods"}]},
     {"spec.metrics[0].pods": "Required value: must populate information for the given metric source"}),
    ("poddisruptionbudgets", {"maxUnavailable": "200%"},
     {"spec.maxUnavailable": 'Invalid value: "200%": must not be greater than 100%'}),
]  # fmt: skip


@pytest.mark.parametrize(("plural", "spec", "expected"), INVALID, ids=lambda value: str(value)[:40])
def test_invalid_spec_is_rejected(kube: Kube, plural: str, spec: dict[str, Any], expected: dict[str, str]) -> None:
    status = kube.refused(422, "POST", path(plural), {"metadata": {"name": "x"}, "spec": spec})
    assert_causes(status, expected)


CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, str]]] = [
    ("pods", POD, {"spec": {"dnsPolicy": "Default"}}, {"spec": "Forbidden: pod updates may not change fields"}),
    ("deployments", WORKLOAD, {"status": {"replicas": 1, "readyReplicas": 2}},
     {"status.readyReplicas": "Invalid value: 2: cannot be greater than status.replicas"}),
    ("statefulsets", WORKLOAD, {"spec": {"serviceName": "x"}},
     {"spec": "Forbidden: updates to statefulset spec for fields other than 'replicas'"}),
    ("jobs", JOB, {"spec": {"completions": 7}}, {"spec.completions": "Invalid value: 7: field is immutable"}),
    ("jobs", JOB, {"status": {"completionTime": "2024-01-01T00:00:00Z"}},
     {"status.completionTime": 'Invalid value: "2024-01-01T00:00:00Z": cannot set completionTime when'}),
]  # fmt: skip


@pytest.mark.parametrize(("plural", "spec", "patch", "expected"), CHANGES, ids=lambda value: str(value)[:40])
def test_invalid_change_is_rejected(
    kube: Kube, plural: str, spec: dict[str, Any], patch: dict[str, Any], expected: dict[str, str]
) -> None:
    kube.ok("POST", path(plural), {"metadata": {"name": "x"}, "spec": spec})
    target = path(plural, "x") + ("/status" if "status" in patch else "")
    assert_causes(kube.refused(422, "PATCH", target, patch, MERGE), expected)


def test_diff_of_a_rejected_pod_update_names_the_changed_field(kube: Kube) -> None:
    kube.ok("POST", path("pods"), {"metadata": {"name": "x"}, "spec": POD})
    status = kube.refused(422, "PATCH", path("pods", "x"), {"spec": {"hostname": "other"}}, MERGE)
    assert '\n- "Hostname": "",\n+ "Hostname": "other",\n' in status["message"]


def assert_causes(status: dict[str, Any], expected: dict[str, str]) -> None:
    causes = (status.get("details") or {}).get("causes") or []
    assert {cause["field"] for cause in causes} == expected.keys(), json.dumps(causes)
    assert all(cause["message"].startswith(expected[cause["field"]]) for cause in causes), json.dumps(causes)


def test_priority_and_tolerations_are_kept_by_an_update_without_them(kube: Kube) -> None:
    built = kube.ok("POST", path("pods"), {"metadata": {"name": "x"}, "spec": POD})
    local = {field: value for field, value in built["spec"].items() if field not in ("priority", "tolerations")}
    updated = kube.ok("PUT", path("pods", "x"), {**built, "spec": local})
    assert updated["spec"] == built["spec"]


def test_quality_of_service_is_kept_by_a_status_without_it(kube: Kube) -> None:
    built = kube.ok("POST", path("pods"), {"metadata": {"name": "x"}, "spec": POD})
    updated = kube.ok("PUT", path("pods", "x") + "/status", {**built, "status": {"phase": "Running"}})
    assert updated["status"] == {"phase": "Running", "qosClass": built["status"]["qosClass"]}
