"""Built-in admission that completes new objects from the cluster's classes."""

from typing import Any

import pytest

from apiserver.tests.inprocess import PODS, Kube, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
EVICTING = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]


def test_pod_without_a_class_has_priority_zero_and_tolerates_lost_nodes(kube: Kube) -> None:
    spec = kube.ok("POST", PODS, pod())["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [item["key"] for item in spec["tolerations"]] == EVICTING


ZONE = {"topology.kubernetes.io/zone": "z"}


@pytest.mark.parametrize(("gates", "added"), [("", ZONE), ("PodTopologyLabelsAdmission=false", {})])
@pytest.mark.parametrize("bound", [True, False])
def test_pod_takes_region_and_zone_of_its_node(gates: str, added: dict[str, str], bound: bool) -> None:
    kube = Kube(gates=gates)
    kube.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": {**ZONE, "other": "x"}}})
    labelled = {"metadata": {"name": "p", "labels": {"a": "b"}}}
    kube.ok("POST", PODS, {**pod(**({} if bound else {"nodeName": "n"})), **labelled})
    if bound:
        kube.ok("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    assert kube.ok("GET", f"{PODS}/p")["metadata"]["labels"] == {"a": "b", **added}


def test_pod_takes_the_priority_of_its_class_or_of_the_default_class(kube: Kube) -> None:
    for name, value, default in (("low", 5, True), ("high", 9, False)):
        kube.ok("POST", CLASSES, {"metadata": {"name": name}, "value": value, "globalDefault": default})
    spec = kube.ok("POST", PODS, pod())["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("low", 5)
    other = {**pod(priorityClassName="high"), "metadata": {"name": "q"}}
    assert kube.ok("POST", PODS, other)["spec"]["priority"] == 9
    kube.refused(403, "POST", CLASSES, {"metadata": {"name": "second"}, "value": 1, "globalDefault": True})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 3}, "the integer value of priority (3) must not be provided in pod spec"),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        ({"overhead": {}}, "pod rejected: Pod Overhead set without corresponding RuntimeClass"),
        ({"overhead": {"cpu": "1"}}, "pod rejected: Pod Overhead set without corresponding RuntimeClass"),
    ],
)
def test_pod_that_contradicts_the_classes_is_forbidden(kube: Kube, spec: dict[str, Any], message: str) -> None:
    assert message in kube.refused(403, "POST", PODS, pod(**spec))["message"]


def test_claim_takes_the_newest_default_storage_class_unless_it_names_one(kube: Kube) -> None:
    marked = {"name": "b", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    kube.ok("POST", "/apis/storage.k8s.io/v1/storageclasses", {"metadata": marked, "provisioner": "x.y/z"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for name, arguments, expected in (("one", {}, "b"), ("two", {"storageClassName": ""}, "")):
        obj = {"metadata": {"name": name}, "spec": {**spec, **arguments}}
        built = kube.ok("POST", "/api/v1/namespaces/default/persistentvolumeclaims", obj)
        assert built["spec"]["storageClassName"] == expected
        assert built["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def test_new_node_is_tainted(kube: Kube) -> None:
    built = kube.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/24"}})
    assert built["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert built["spec"]["podCIDRs"] == ["10.0.0.0/24"]


@pytest.mark.parametrize("name", ["default", "kube-public", "kube-system"])
def test_namespaces_of_every_cluster_cannot_be_deleted(kube: Kube, name: str) -> None:
    message = kube.refused(403, "DELETE", f"/api/v1/namespaces/{name}")["message"]
    assert message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_name_of_a_runtime_class_that_no_path_can_have_is_an_error_of_the_server(kube: Kube) -> None:
    status = kube.refused(500, "POST", PODS, pod(runtimeClassName="a/b"))
    assert status["message"] == "invalid resource name \"a/b\": [may not contain '/']"


def test_pod_keeps_the_quality_of_service_that_it_is_sent_with(kube: Kube) -> None:
    assert kube.ok("POST", PODS, {**pod(), "status": {"qosClass": "Guaranteed"}})["status"]["qosClass"] == "Guaranteed"
