"""Fields of features that are disabled by default: removed from what is stored, but owned by their managers."""

from typing import Any

import pytest

from apiserver.tests.inprocess import PODS, Kube
from clientgo_apiserver.registry.builtin import builtin_resources
from clientgo_apiserver.registry.disabledfields import without_disabled
from clientgo_apiserver.releases.release import release_of

Object = dict[str, Any]

CONTAINER: Object = {"name": "c", "image": "i"}
STOPPED: Object = {**CONTAINER, "lifecycle": {"stopSignal": "SIGTERM"}}
SOURCE: Object = {"configMap": {"name": "x"}}
CERTIFICATE: Object = {"podCertificate": {"signerName": "a.b/c", "keyType": "RSA3072", "credentialBundlePath": "p"}}
BUNDLE: Object = {"clusterTrustBundle": {"name": "x", "path": "p"}}
CLAIM: Object = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1"}},
    "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x", "namespace": "other"},
}


def projected(*sources: Object) -> list[Object]:
    return [{"name": "v", "projected": {"sources": [*sources]}}]


def pod(**spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [CONTAINER], **spec}}


def workload(kind: str, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(**spec)["spec"]}
    selector = {"matchLabels": {"a": "b"}}
    named = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}}
    return {**named, "spec": {"selector": selector, "template": template}}


def stateful(value: Any) -> Object:
    built = workload("StatefulSet")
    built["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": value}}
    return built


APPS = "/apis/apps/v1/namespaces/default"
DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
DRIVER: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "a"},
    "spec": {"preventPodSchedulingIfMissing": True},
}
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
DROPPED = {
    "StatefulSet": (f"{APPS}/statefulsets", stateful(2), "maxUnavailable", True),
    "invalid number": (f"{APPS}/statefulsets", stateful(-1), "maxUnavailable", True),
    "signal": (PODS, pod(containers=[STOPPED]), "stopSignal", True),
    "signal of a template": (f"{APPS}/daemonsets", workload("DaemonSet", containers=[STOPPED]), "stopSignal", True),
    "certificate": (PODS, pod(volumes=projected(CERTIFICATE, SOURCE)), "podCertificate", False),
    "bundle": (f"{APPS}/deployments", workload("Deployment", volumes=projected(BUNDLE)), "clusterTrustBundle", False),
    "group": (PODS, pod(schedulingGroup={"podGroupName": "x"}), "schedulingGroup", True),
    "CSIDriver": (DRIVERS, DRIVER, "preventPodSchedulingIfMissing", True),
    "claim": (
        CLAIMS,
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": CLAIM},
        "dataSourceRef",
        True,
    ),
}


@pytest.mark.parametrize(("path", "obj", "field", "owned"), DROPPED.values(), ids=DROPPED)
def test_field_of_a_disabled_feature_is_dropped_and_stays_owned(
    path: str, obj: Object, field: str, owned: bool
) -> None:
    kube = Kube(version="1.36")
    created = kube.ok("POST", path, obj)
    assert f"'{field}'" not in str(created["spec"])
    assert (f"'f:{field}'" in str(created["metadata"]["managedFields"])) is owned
    meta = {"name": "a", "labels": {"a": "b"}, "resourceVersion": created["metadata"]["resourceVersion"]}
    updated = kube.ok("PUT", f"{path}/a", {**obj, "metadata": meta})
    assert f"'{field}'" not in str(updated["spec"])
    assert updated["metadata"].get("generation") == created["metadata"].get("generation")


def test_volume_whose_source_is_dropped_has_a_warning() -> None:
    sent = Kube(version="1.36").send("POST", PODS, pod(volumes=projected(CERTIFICATE, SOURCE)))
    assert sent.json()["spec"]["volumes"][0]["projected"]["sources"] == [{}, {"configMap": {"name": "x"}}]
    assert ("Warning", r'299 - "volume \"v\" (Projected) has no sources provided"') in sent.headers


def test_lifecycle_with_nothing_else_is_dropped() -> None:
    both = {**CONTAINER, "lifecycle": {"stopSignal": "SIGTERM", "preStop": {"sleep": {"seconds": 1}}}}
    containers = Kube().ok("POST", PODS, pod(containers=[STOPPED, {**both, "name": "d"}]))["spec"]["containers"]
    assert "lifecycle" not in containers[0]
    assert containers[1]["lifecycle"] == {"preStop": {"sleep": {"seconds": 1}}}


def test_object_that_has_such_a_field_keeps_it() -> None:
    release_of("1.36").run(_keeps)


def _keeps() -> None:
    resource = next(each for each in builtin_resources() if each.kind == "StatefulSet")
    old = stateful(2)
    assert without_disabled(resource, old, old) is old
    assert (
        without_disabled(resource, stateful(2), stateful(2))["spec"]["updateStrategy"] == old["spec"]["updateStrategy"]
    )
    plain = workload("StatefulSet")
    assert without_disabled(resource, plain, None) is plain
