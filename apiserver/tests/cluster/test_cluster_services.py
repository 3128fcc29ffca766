import pytest

from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PODS, Object, PodCluster
from clientgo_apiserver.http.status import ApiFailure

BUDGETS = ("policy", "poddisruptionbudgets")
SERVICES = ("", "services")
SLICES = ("discovery.k8s.io", "endpointslices")


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


def budget(cluster: PodCluster, **spec: object) -> None:
    selected = {"selector": {"matchLabels": {"app": "w"}}, **spec}
    cluster.create(
        BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": selected}
    )


def service(cluster: PodCluster, **spec: object) -> None:
    content = {"selector": {"app": "w"}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    cluster.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w"}, "spec": content})


def endpoints(cluster: PodCluster) -> list[Object]:
    (each,) = cluster.store.list(SLICES)
    listed: list[Object] = each.get("endpoints") or []
    return listed


def evict(cluster: PodCluster, name: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    cluster.internal._send("create", (PODS, "default", name), eviction, subresource="eviction")
    cluster.scheduler.run()


def test_endpoints_follow_the_readiness_of_pods(cluster: PodCluster) -> None:
    service(cluster)
    assert endpoints(cluster) == []
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step()
    assert [each["conditions"]["ready"] for each in endpoints(cluster)] == [True, True]
    unready = cluster.names()[0]
    cluster.annotate(PODS, unready, "pod", "unready")
    cluster.step()
    assert [each["conditions"]["ready"] for each in endpoints(cluster) if each["targetRef"]["name"] == unready] == [
        False
    ]
    (subset,) = cluster.get(("", "endpoints"), "w")["subsets"]
    assert [len(subset[field]) for field in ("addresses", "notReadyAddresses")] == [1, 1]
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]


def test_endpoints_of_a_deleted_service_are_deleted(cluster: PodCluster) -> None:
    service(cluster)
    cluster.delete(SERVICES, "w")
    cluster.step()
    assert [cluster.store.count(key) for key in (SLICES, ("", "endpoints"))] == [0, 0]


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 2}, 2, 2),
        ({"maxUnavailable": 1}, 3, 1),
        ({"minAvailable": "50%"}, 2, 2),
        ({"maxUnavailable": "25%"}, 3, 1),
    ],
)
def test_budget_counts_the_pods(cluster: PodCluster, spec: Object, desired: int, allowed: int) -> None:
    budget(cluster, **spec)
    cluster.workload(DEPLOYMENTS, replicas=4)
    assert cluster.counts(BUDGETS, "currentHealthy", "disruptionsAllowed", name="b") == (0, 0)
    cluster.step()
    counts = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    assert cluster.counts(BUDGETS, *counts, name="b") == (4, 4, desired, allowed)


def test_evictions_are_limited_by_the_budget_until_pods_are_replaced(cluster: PodCluster) -> None:
    budget(cluster, maxUnavailable=1)
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step()
    first, second = cluster.names()
    evict(cluster, first)
    with pytest.raises(ApiFailure) as refused:
        evict(cluster, second)
    assert refused.value.code == 429
    cluster.step(times=2)
    evict(cluster, second)
    cluster.step(times=2)
    assert cluster.counts(DEPLOYMENTS, "availableReplicas") == (2,)
    assert {first, second}.isdisjoint(cluster.names())


def test_each_namespace_has_its_default_account_and_certificate(cluster: PodCluster) -> None:
    cluster.create(("", "namespaces"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}, "")
    assert cluster.get(("", "serviceaccounts"), "default", "n")
    assert "ca.crt" in cluster.get(("", "configmaps"), "kube-root-ca.crt", "n")["data"]
    cluster.delete(("", "serviceaccounts"), "default", "n")
    assert cluster.get(("", "serviceaccounts"), "default", "n")


def test_a_deleted_namespace_ends_with_its_workloads(cluster: PodCluster) -> None:
    cluster.create(("", "namespaces"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}, "")
    obj = {**cluster_deployment(), "metadata": {"name": "w", "namespace": "n"}}
    cluster.create(DEPLOYMENTS, obj, "n")
    cluster.step()
    cluster.delete(("", "namespaces"), "n", "")
    cluster.step(times=3)
    assert cluster.store.get(("", "namespaces"), "", "n") is None
    assert cluster.store.list(PODS, "n") == []


def cluster_deployment() -> Object:
    labels = {"app": "w"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"selector": {"matchLabels": labels}, "template": pods},
    }
