import pytest

from apiserver.tests.cluster.podcluster import PODS, Object, PodCluster

SERVICES = ("", "services")
SLICES = ("discovery.k8s.io", "endpointslices")


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


def service(cluster: PodCluster, **spec: object) -> None:
    content = {"selector": {"app": "w"}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    cluster.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w"}, "spec": content})


def endpoints(cluster: PodCluster) -> list[Object]:
    (each,) = cluster.store.list(SLICES)
    listed: list[Object] = each.get("endpoints") or []
    return listed


def test_endpoints_follow_the_readiness_of_pods(cluster: PodCluster) -> None:
    service(cluster)
    assert endpoints(cluster) == []
    cluster.deployment(replicas=2)
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


def test_each_namespace_has_its_default_account_and_certificate(cluster: PodCluster) -> None:
    cluster.create(("", "namespaces"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}, "")
    assert cluster.get(("", "serviceaccounts"), "default", "n")
    assert "ca.crt" in cluster.get(("", "configmaps"), "kube-root-ca.crt", "n")["data"]
    cluster.delete(("", "serviceaccounts"), "default", "n")
    assert cluster.get(("", "serviceaccounts"), "default", "n")
