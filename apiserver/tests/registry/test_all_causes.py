"""Rejections of built-in objects list all causes that a real server lists."""

from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, PODS, Kube, definition

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


APPS, HANDLER = "/apis/apps/v1/namespaces/default", "spec.containers[0].startupProbe"
UNMATCHABLE: Object = {"matchLabels": {"b": "c", "a": "b c"}}
VOLUMES: Object = {"scaleIO": {"gateway": "g", "system": "s"}, "cephfs": {"monitors": []}}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (f"{APPS}/replicasets", {"spec": {"selector": UNMATCHABLE, "template": {}}},
         ["spec.selector.matchLabels", "spec.selector"]),
        (f"{APPS}/statefulsets",
         {"spec": {"selector": UNMATCHABLE, "template": {}, "volumeClaimTemplates": [{"metadata": {}}]}},
         ["spec.volumeClaimTemplates[0].spec.accessModes", "spec.volumeClaimTemplates[0].spec.resources[storage]",
          "spec.selector.matchLabels", "spec.selector"]),
        ("/api/v1/persistentvolumes",
         {"spec": {"capacity": {"storage": "1"}, "accessModes": ["ReadWriteOnce"], **VOLUMES}},
         ["spec.cephfs.monitors", "spec.scaleIO"]),
        ("/apis/storage.k8s.io/v1/volumeattachments",
         {"spec": {"attacher": "a", "nodeName": "n", "source": {"inlineVolumeSpec": VOLUMES}}},
         [*(f"spec.source.inlineVolumeSpec.{name}" for name in ("csi", "accessModes", "cephfs.monitors", "scaleIO"))]),
        (PODS,
         {"spec": {"containers": [{"name": "c", "image": "i", "startupProbe": {
             "httpGet": {"port": -1}, "tcpSocket": {"port": -1}}}]}},
         [f"{HANDLER}.httpGet.port", f"{HANDLER}.tcpSocket"]),
        (f"{APPS.replace('apps/v1', 'autoscaling/v2')}/horizontalpodautoscalers",
         {"spec": {"maxReplicas": 1, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                   "metrics": [{"type": "External", "external": {}, "pods": {}}]}},
         [*(f"spec.metrics[0].external.{name}"
            for name in ("metric.name", "target.type", "target.type", "target.averageValue")),
          "spec.metrics[0].pods"]),
        ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"roleRef": {"name": "a", "apiGroup": "b"}},
         ["roleRef.apiGroup", "roleRef.kind"]),
        ("/api/v1/namespaces/default/endpoints",
         {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"name": "a"}, {"port": 1}]}]},
         ["subsets[0].ports[0].port", "subsets[0].ports[1].name"]),
        ("/api/v1/namespaces/default/resourcequotas", {"spec": {"hard": {"a": 0}, "scopes": ["Terminating"]}},
         ["spec.hard[a]", "spec.hard[a]"]),
        ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
         {"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "a", "except": ["b"]}}]}]}},
         ["spec.ingress[0].from[0].ipBlock.cidr"]),
    ],
    ids=["replica set", "stateful set", "volume", "inline volume", "probe", "metric", "role", "endpoints", "quota",
         "network policy"],
)  # fmt: skip
def test_causes_are_those_of_the_checks_that_a_real_server_makes(path: str, body: Object, expected: list[str]) -> None:
    status = Kube().refused(422, "POST", path, {"metadata": {"name": "a"}, **body})
    assert [name for name, _ in causes(status)] == expected


def test_selector_in_a_cause_has_its_keys_in_the_order_of_its_type() -> None:
    selector = {"matchExpressions": [{"operator": "Like", "key": "a"}], **UNMATCHABLE}
    body = {"metadata": {"name": "a"}, "spec": {"selector": selector, "template": {}}}
    status = Kube().refused(422, "POST", f"{APPS}/replicasets", body)
    labels, expressions = '"matchLabels":{"a":"b c","b":"c"}', '"matchExpressions":[{"key":"a","operator":"Like"}]'
    expected = f"Invalid value: {{{labels},{expressions}}}: invalid label selector"
    assert status["details"]["causes"][-1]["message"] == expected


@pytest.mark.parametrize(
    ("plural", "content", "number"),
    [
        ("/api/v1/namespaces/default/configmaps", {}, 4),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}, 3),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {}, 3),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {}, 2),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {}, 3),
    ],
    ids=["default", "of an update", "group without rules of finalizers", "none", "definition"],
)
def test_metadata_of_an_update_is_checked_as_often_as_by_a_real_server(
    plural: str, content: Object, number: int
) -> None:
    kube = Kube()
    name = "a"
    if plural.endswith("definitions"):
        name = kube.ok("POST", plural, definition("bars", "Bar", "example.com", {"type": "object"}))["metadata"]["name"]
    else:
        kube.ok("POST", plural, {"metadata": {"name": name}, **content})
    status = kube.refused(422, "PATCH", f"{plural}/{name}", {"metadata": {"labels": {"a": "b c"}}}, MERGE)
    assert causes(status) == [("metadata.labels", "Invalid value")] * number


def test_number_of_changes_of_a_daemon_set_is_not_owned_by_who_changes_its_template() -> None:
    kube, pod = Kube(), {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": pod}
    kube.ok("POST", f"{APPS}/daemonsets?fieldManager=m", {"metadata": {"name": "a"}, "spec": spec})
    annotations = {"metadata": {"annotations": {"x": "y"}}}
    changed = kube.ok("PATCH", f"{APPS}/daemonsets/a?fieldManager=n", {"spec": {"template": annotations}}, MERGE)
    assert changed["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}
    owned = {entry["manager"]: entry["fieldsV1"].get("f:metadata") for entry in changed["metadata"]["managedFields"]}
    assert owned == {"m": {"f:annotations": {".": {}, "f:deprecated.daemonset.template.generation": {}}}, "n": None}
