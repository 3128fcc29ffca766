"""Rejections of built-in objects list all causes that a real server lists."""

from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, PODS, Kube

Object = dict[str, Any]
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def causes(status: Object) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"].partition(":")[0]) for cause in status["details"]["causes"]]


@pytest.mark.parametrize("before", ["containers", "volumes"])
def test_mounts_of_an_invalid_volume_are_not_found(before: str) -> None:
    mounts = [{"name": "bad", "mountPath": "/a"}, {"name": "good", "mountPath": "/b"}]
    spec: Object = {
        "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}],
        "volumes": [{"name": "bad", "configMap": {}}, {"name": "good", "emptyDir": {}}],
    }
    spec = spec if before == "containers" else dict(reversed(spec.items()))
    assert causes(Kube().refused(422, "POST", PODS, {"metadata": {"name": "a"}, "spec": spec})) == [
        ("spec.volumes[0].configMap.name", "Required value"),
        ("spec.containers[0].volumeMounts[0].name", "Not found"),
    ]


def test_update_of_a_storage_class_is_validated_as_a_whole(kube: Kube) -> None:
    kube.ok("POST", STORAGE_CLASSES, {"metadata": {"name": "a"}, "provisioner": "p"})
    changes = {"reclaimPolicy": "Burn", "volumeBindingMode": "Never"}
    assert causes(kube.refused(422, "PATCH", f"{STORAGE_CLASSES}/a", changes, MERGE)) == [
        ("reclaimPolicy", "Unsupported value"),
        ("volumeBindingMode", "Unsupported value"),
        ("reclaimPolicy", "Invalid value"),
        ("volumeBindingMode", "Invalid value"),
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"version": ""}, [("metadata.name", "Invalid value"), ("spec.version", "Invalid value")]),
        ({"group": ""}, [("metadata.name", "Invalid value"), ("spec.group", "Required value")]),
        ({"caBundle": "AAAA"}, [("spec.caBundle", "Invalid value")]),
        ({"insecureSkipTLSVerify": True}, [("spec.insecureSkipTLSVerify", "Invalid value")]),
        ({"service": {"name": "", "namespace": "n", "port": 0}},
         [("spec.service.name", "Required value"), ("spec.service.port", "Invalid value")]),
        ({"service": {"name": "a", "namespace": "n"}, "insecureSkipTLSVerify": True, "caBundle": "AAAA"},
         [("spec.insecureSkipTLSVerify", "Invalid value")]),
    ],
)  # fmt: skip
def test_invalid_api_service_is_rejected(changes: Object, expected: list[tuple[str, str]]) -> None:
    spec = {"group": "a.b", "version": "v2", "groupPriorityMinimum": 1, "versionPriority": 1, **changes}
    assert causes(Kube().refused(422, "POST", API_SERVICES, {"metadata": {"name": "v2.a.b"}, "spec": spec})) == expected


@pytest.mark.parametrize(
    ("selector", "field", "reason"),
    [
        ({"matchLabels": {"a b": "c"}}, "matchLabels", 'key: Invalid value: "a b": name part must consist of'),
        ({"matchLabels": {"a": "c d"}}, "matchLabels", 'values[0][a]: Invalid value: "c d": a valid label must be'),
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, "matchExpressions[0].operator",
         '"Like" is not a valid label selector operator'),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "matchExpressions[0].values",
         "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
    ],
)  # fmt: skip
def test_selector_of_an_aggregated_role_is_rejected_twice(selector: Object, field: str, reason: str) -> None:
    body = {"metadata": {"name": "a"}, "aggregationRule": {"clusterRoleSelectors": [selector]}}
    status = Kube().refused(422, "POST", CLUSTER_ROLES, body)
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert [name for name, _ in causes(status)] == [f"{path}.{field}", path]
    assert status["details"]["causes"][1]["message"].startswith(f"Invalid value: null: {reason}")
