"""Limit ranges: defaults of containers, and rejection of pods out of range."""

from typing import Any

import pytest

from apiserver.tests.inprocess import PODS, Kube
from clientgo_apiserver.admission.limitranges import ANNOTATION

Object = dict[str, Any]

RANGES = "/api/v1/namespaces/default/limitranges"


def limit(kube: Kube, kind: str = "Container", **item: Any) -> Object:
    built: Object = kube.ok("POST", RANGES, {"metadata": {"name": "r"}, "spec": {"limits": [{"type": kind, **item}]}})
    return built


def pod(*resources: Object) -> Object:
    containers = [{"name": f"c{index}", "image": "i", "resources": item} for index, item in enumerate(resources)]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers}}


def test_containers_get_default_requests_and_limits(kube: Kube) -> None:
    built = limit(kube, default={"cpu": "1"}, defaultRequest={"memory": "64Mi"}, max={"memory": "1Gi"})
    assert built["spec"]["limits"][0]["default"] == {"cpu": "1", "memory": "1Gi"}
    got = kube.ok("POST", PODS, pod({"requests": {"cpu": "100m"}}))
    assert got["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "64Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    assert got["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: memory request for container c0; cpu, memory limit for container c0"
    )
    assert got["status"]["qosClass"] == "Burstable"


def test_resize_out_of_range_is_rejected(kube: Kube) -> None:
    limit(kube, max={"cpu": "1"})
    kube.ok("POST", PODS, pod({"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}))
    patch = {"spec": {"containers": [{"name": "c0", "resources": {"limits": {"cpu": "2"}}}]}}
    status = kube.refused(403, "PATCH", f"{PODS}/p/resize", patch, "application/strategic-merge-patch+json")
    assert "maximum cpu usage per Container is 1, but limit is 2" in status["message"]


def test_explicit_resources_are_unchanged(kube: Kube) -> None:
    limit(kube, default={"cpu": "1"})
    got = kube.ok("POST", PODS, pod({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}))
    assert "annotations" not in got["metadata"]


@pytest.mark.parametrize(
    ("kind", "item", "resources", "reason"),
    [
        ("Container", {"max": {"cpu": "1"}}, [{"limits": {"cpu": "2"}}],
         "maximum cpu usage per Container is 1, but limit is 2"),
        ("Container", {"min": {"cpu": "200m"}}, [{"requests": {"cpu": "0.1"}}],
         "minimum cpu usage per Container is 200m, but request is 100m"),
        ("Container", {"maxLimitRequestRatio": {"cpu": "2"}}, [{"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}],
         "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
        ("Pod", {"max": {"memory": "1Gi"}}, [{"limits": {"memory": "600Mi"}}, {"limits": {"memory": "600Mi"}}],
         "maximum memory usage per Pod is 1Gi, but limit is 1200Mi"),
        ("Pod", {"max": {"cpu": "1"}}, [{}], "maximum cpu usage per Pod is 1.  No limit is specified"),
        (
            "Pod",
            {"min": {"cpu": "1", "memory": "1Gi"}},
            [{}],
            "[minimum cpu usage per Pod is 1.  No request is specified,"
            " minimum memory usage per Pod is 1Gi.  No request is specified]",
        ),
    ],
)  # fmt: skip
def test_pod_out_of_range_is_rejected(
    kube: Kube, kind: str, item: Object, resources: list[Object], reason: str
) -> None:
    limit(kube, kind, **item)
    assert kube.refused(403, "POST", PODS, pod(*resources))["message"] == f'pods "p" is forbidden: {reason}'


def test_existing_pods_can_be_updated(kube: Kube) -> None:
    kube.ok("POST", PODS, pod({"limits": {"cpu": "2"}}))
    limit(kube, max={"cpu": "1"})
    kube.ok("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")


def test_claim_outside_its_range_is_rejected(kube: Kube) -> None:
    item = {"type": "PersistentVolumeClaim", "min": {"storage": "1Mi"}}
    ranges = "/api/v1/namespaces/default/limitranges"
    kube.ok("POST", ranges, {"metadata": {"name": "r"}, "spec": {"limits": [item]}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ki"}}}
    obj = {"metadata": {"name": "c"}, "spec": spec}
    message = kube.refused(403, "POST", "/api/v1/namespaces/default/persistentvolumeclaims", obj)["message"]
    assert message.endswith("minimum storage usage per PersistentVolumeClaim is 1Mi, but request is 1Ki")
