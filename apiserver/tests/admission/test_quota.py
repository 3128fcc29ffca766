"""Resource quotas: rejections, usage in the status, and sums of quantities."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.costs import calls_of
from apiserver.tests.inprocess import CONFIG_MAPS, FOOS, PODS, Kube, foo
from clientgo.meta.quantities import ParsedQuantity, total

Object = dict[str, Any]

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def limit(kube: Kube, name: str = "q", **hard: str) -> None:
    kube.ok("POST", QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard}})


def limit_all(kube: Kube, hard: dict[str, str], **spec: Any) -> None:
    kube.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})


def pod(name: str, cpu: str = "", memory: str = "") -> Object:
    requested = {resource: amount for resource, amount in (("cpu", cpu), ("memory", memory)) if amount}
    container = {"name": "c", "image": "i", "resources": {"requests": requested} if requested else {}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def test_object_beyond_a_quota_is_rejected(kube: Kube) -> None:
    limit(kube, configmaps="1")
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    status = kube.refused(403, "POST", CONFIG_MAPS, {"metadata": {"name": "b"}})
    assert status["message"] == (
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1,'
        " limited: configmaps=1"
    )
    kube.ok("DELETE", f"{CONFIG_MAPS}/a")
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "b"}})


def test_objects_of_any_kind_can_be_counted(kube: Kube) -> None:
    limit_all(kube, {"count/foos.samplecontroller.k8s.io": "2"})
    for name in "ab":
        kube.ok("POST", FOOS, foo(name))
    message = kube.refused(403, "POST", FOOS, foo("c"))["message"]
    assert "exceeded quota: q, requested: count/foos.samplecontroller.k8s.io=1, used: count/foos" in message
    kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, "application/merge-patch+json")
    kube.ok("POST", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/kube-system/foos", foo("c"))


def test_requests_of_pods_are_summed(kube: Kube) -> None:
    limit_all(kube, {"requests.cpu": "1", "memory": "1Gi"})
    kube.ok("POST", PODS, pod("a", "600m", "512Mi"))
    assert kube.refused(403, "POST", PODS, pod("b", "0.5", "128Mi"))["message"] == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m,'
        " limited: requests.cpu=1"
    )
    assert kube.refused(403, "POST", PODS, pod("b", "100m"))["message"] == (
        'pods "b" is forbidden: failed quota: q: must specify memory for: c'
    )
    kube.ok("POST", PODS, pod("b", "400m", "512Mi"))


def test_quota_status_has_the_usage(kube: Kube) -> None:
    limit_all(kube, {"pods": "5", "requests.cpu": "2", "services.nodeports": "1"})
    kube.ok("POST", PODS, pod("a", "250m"))
    kube.ok("POST", PODS, pod("b", "250m"))
    status = kube.ok("GET", f"{QUOTAS}/q")["status"]
    assert status["hard"] == {"pods": "5", "requests.cpu": "2", "services.nodeports": "1"}
    assert status["used"] == {"pods": "2", "requests.cpu": "500m", "services.nodeports": "0"}
    kube.ok("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, "application/merge-patch+json")
    assert kube.ok("GET", f"{QUOTAS}/q")["status"]["used"]["pods"] == "1"


def test_quota_holds_for_the_pods_of_its_scopes(kube: Kube) -> None:
    limit_all(kube, {"pods": "0"}, scopes=["BestEffort"])
    kube.refused(403, "POST", PODS, pod("a"))
    kube.ok("POST", PODS, pod("a", "1"))


def test_dry_run_is_checked_and_uses_no_quota(kube: Kube) -> None:
    limit(kube, configmaps="1")
    kube.ok("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "a"}})
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    kube.refused(403, "POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "b"}})


@pytest.mark.feature("A-56")
@pytest.mark.parametrize(
    ("pieces", "printed"),
    [
        (["500m", "0.5"], "1"),
        (["1Gi", "512Mi"], "1536Mi"),
        (["1G", "1"], "1000000001"),
        (["163e3", "1"], "163001"),
        (["163e3", "1k"], "164e3"),
        (["0", "163e3"], "163e3"),
        (["0Mi", "1k"], "1k"),
        (["5.Gi"], "5.Gi"),
        (["5.Gi", "1Gi"], "6Gi"),
        (["8Ei", "8Ei"], "18446744073709551614"),
        (["500E", "500E"], "1"),
        (["0"], "0"),
        (["1.5Gi"], "1536Mi"),
        (["100Mi", "1"], "104857601"),
        ([], "0"),
        (["1n", "1u"], "1001n"),
        (["1000000000000000M"], "1"),  # as Kubernetes prints 10^21, for which there is no suffix
    ],
)
def test_quantities_add_up(pieces: list[str], printed: str) -> None:
    assert str(total(ParsedQuantity(part) for part in pieces)) == printed


def claim(storage: str) -> Object:
    resources = {"requests": {"storage": storage}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": resources}
    return {"metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize("name", ["requests.storage", "fast.storageclass.storage.k8s.io/requests.storage"])
def test_storage_of_claims_is_summed(kube: Kube, name: str) -> None:
    limit_all(kube, {name: "2Gi"})
    message = kube.refused(403, "POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim("3Gi"))["message"]
    assert message.endswith(f"exceeded quota: q, requested: {name}=3Gi, used: {name}=0, limited: {name}=2Gi")


def test_service_of_another_type_is_checked(kube: Kube) -> None:
    limit_all(kube, {"services.loadbalancers": "0", "services": "1"})
    services = "/api/v1/namespaces/default/services"
    kube.ok("POST", services, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    change = {"spec": {"type": "LoadBalancer"}}
    message = kube.refused(403, "PATCH", f"{services}/s", change, "application/merge-patch+json")["message"]
    assert "requested: services.loadbalancers=1, used: services.loadbalancers=0" in message
    kube.ok("PATCH", f"{services}/s", {"spec": {"type": "NodePort"}}, "application/merge-patch+json")


def test_quota_of_a_priority_class_counts_only_its_pods(kube: Kube) -> None:
    kube.ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 9})
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    limit_all(kube, {"pods": "0"}, scopeSelector={"matchExpressions": [scope]})
    kube.ok("POST", PODS, pod("a"))
    other = pod("b")
    other["spec"]["priorityClassName"] = "high"
    kube.refused(403, "POST", PODS, other)


@pytest.mark.parametrize(("values", "code"), [(["fast"], 403), (["slow"], 201)])
def test_quota_of_volume_attributes_counts_only_their_claims(kube: Kube, values: list[str], code: int) -> None:
    scope = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": values}
    limit_all(kube, {"persistentvolumeclaims": "0"}, scopeSelector={"matchExpressions": [scope]})
    url, fast = "/api/v1/namespaces/default/persistentvolumeclaims", claim("1Gi")
    fast["spec"]["volumeAttributesClassName"] = "fast"
    assert kube.send("POST", url, fast).status == code


@pytest.mark.parametrize(
    ("request_of_devices", "count"),
    [
        ({"exactly": {"deviceClassName": "gold", "count": 3}}, "3"),
        ({"exactly": {"deviceClassName": "gold", "allocationMode": "All"}}, "32"),
        ({"exactly": {"deviceClassName": "iron"}}, "0"),
        (
            {
                "firstAvailable": [
                    {"name": "a", "deviceClassName": "gold", "count": 2},
                    {"name": "b", "deviceClassName": "gold"},
                    {"name": "c", "deviceClassName": "iron", "count": 9},
                ]
            },
            "2",
        ),
    ],
)
def test_devices_of_a_class_are_summed(kube: Kube, request_of_devices: Object, count: str) -> None:
    limit_all(kube, {"count/resourceclaims.resource.k8s.io": "1", "gold.deviceclass.resource.k8s.io/devices": "40"})
    spec = {"devices": {"requests": [{"name": "r", **request_of_devices}]}}
    url = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    kube.ok("POST", url, {"metadata": {"name": "a"}, "spec": spec})
    used = kube.ok("GET", f"{QUOTAS}/q")["status"]["used"]
    assert list(used.values()) == ["1", count]
    kube.refused(403, "POST", url, {"metadata": {"name": "b"}, "spec": spec})


_POD: Object = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_counted_usage_is_that_of_the_stored_objects(steps: list[tuple[int, bool]]) -> None:
    kube = Kube()
    hard = {"pods": "9", "requests.cpu": "9", "count/configmaps": "99", "configmaps": "99"}
    kube.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    pods = "/api/v1/namespaces/default/pods"
    for number, is_pod in steps:
        url, obj = (pods, {"spec": _POD}) if is_pod else (CONFIG_MAPS, {})
        if kube.send("POST", url, {"metadata": {"name": f"n{number}"}, **obj}).status == 409:
            kube.ok("DELETE", f"{url}/n{number}")
    counts = [len(kube.ok("GET", url)["items"]) for url in (pods, CONFIG_MAPS)]
    used = kube.ok("GET", f"{QUOTAS}/q")["status"]["used"]
    assert [int(used[name]) for name in hard] == [counts[0], counts[0], counts[1], counts[1]]


def test_creation_within_a_quota_costs_the_same_in_a_full_namespace() -> None:
    def create(present: int) -> int:
        kube = Kube()
        kube.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "99999"}}})
        for number in range(present):
            kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": f"c{number}"}})
        return calls_of(lambda: [kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": f"d{n}"}}) for n in range(20)])

    create(10)
    assert create(800) < 1.1 * create(100)
