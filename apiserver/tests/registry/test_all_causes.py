"""Rejections of built-in objects list all causes that a real server lists."""

from typing import Any

import pytest

from apiserver.tests.inprocess import PODS, Kube

Object = dict[str, Any]
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


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


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({"matchLabels": {"a b": "c"}}, "matchLabels"),
        ({"matchLabels": {"a": "c d"}}, "matchLabels"),
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, "matchExpressions[0].operator"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "matchExpressions[0].values"),
    ],
)
def test_selector_of_an_aggregated_role_is_rejected_twice(selector: Object, field: str) -> None:
    body = {"metadata": {"name": "a"}, "aggregationRule": {"clusterRoleSelectors": [selector]}}
    status = Kube().refused(422, "POST", CLUSTER_ROLES, body)
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert [name for name, _ in causes(status)] == [f"{path}.{field}", path]
    assert status["details"]["causes"][1]["message"] == "Invalid value: null: invalid label selector."
