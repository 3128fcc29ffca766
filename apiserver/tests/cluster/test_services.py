import pytest

from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PODS, Object, PodCluster

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


def test_endpoints_of_many_pods_follow_their_readiness(cluster: PodCluster) -> None:
    service(cluster)
    cluster.deployment(replicas=130)
    cluster.step(times=2)
    assert sorted(len(each["endpoints"]) for each in cluster.store.list(SLICES)) == [30, 100]
    unready = cluster.names()[0]
    cluster.annotate(PODS, unready, "pod", "unready")
    cluster.step(times=2)
    (subset,) = cluster.get(("", "endpoints"), "w")["subsets"]
    assert [len(subset[field]) for field in ("addresses", "notReadyAddresses")] == [129, 1]
    cluster.change(DEPLOYMENTS, replicas=0)
    cluster.step(times=3)
    assert endpoints(cluster) == []
    assert not cluster.get(("", "endpoints"), "w").get("subsets")


def test_endpoints_have_a_thousand_addresses_and_say_that_there_are_more(cluster: PodCluster) -> None:
    service(cluster)
    cluster.deployment(replicas=1002)
    cluster.step(times=25)
    stored = cluster.get(("", "endpoints"), "w")
    (subset,) = stored["subsets"]
    assert len(subset["addresses"]) == 1000
    assert stored["metadata"]["annotations"] == {"endpoints.kubernetes.io/over-capacity": "truncated"}
    assert sum(len(each["endpoints"]) for each in cluster.store.list(SLICES)) == 1002
    cluster.change(DEPLOYMENTS, replicas=2)
    cluster.step(times=5)
    assert "annotations" not in cluster.get(("", "endpoints"), "w")["metadata"]


def test_service_whose_selector_changes_has_other_endpoints(cluster: PodCluster) -> None:
    service(cluster)
    cluster.deployment(replicas=1)
    cluster.step()
    cluster.patch(SERVICES, "w", {"spec": {"selector": {"app": "other"}}})
    assert endpoints(cluster) == []
    cluster.deployment("other", replicas=1)
    cluster.step()
    assert [each["targetRef"]["name"].partition("-")[0] for each in endpoints(cluster)] == ["other"]


def test_endpoints_of_a_headless_service_have_the_host_names_of_pods(cluster: PodCluster) -> None:
    port = {"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"}
    service(cluster, clusterIP="None", ports=[port])
    assert cluster.store.list(SLICES)[0].get("ports") in (None, [])
    cluster.deployment(replicas=1)
    name = {"name": "w-0", "labels": {"app": "w"}}
    spec = {"hostname": "w-0", "subdomain": "w", "containers": [{"name": "c", "image": "i"}]}
    cluster.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": name, "spec": spec})
    cluster.step()
    assert sorted(each.get("hostname", "") for each in endpoints(cluster)) == ["", "w-0"]
    (subset,) = cluster.get(("", "endpoints"), "w")["subsets"]
    assert "w-0" in [address.get("hostname") for address in subset["addresses"]]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "http"}]
    for each in (cluster.store.list(SLICES)[0], cluster.get(("", "endpoints"), "w")):
        assert each["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_endpoints_have_the_labels_of_their_service(cluster: PodCluster) -> None:
    service(cluster)
    for changes, expected in (({"a": "1", "b": "2"}, {"a": "1", "b": "2"}), ({"a": None, "b": "3"}, {"b": "3"})):
        cluster.patch(SERVICES, "w", {"metadata": {"labels": changes}})
        for each in (cluster.store.list(SLICES)[0], cluster.get(("", "endpoints"), "w")):
            labels = each["metadata"]["labels"]
            assert {name: value for name, value in labels.items() if "/" not in name} == expected
