import pytest

from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PODS, Object, PodCluster

SERVICES = ("", "services")
ADDRESSES = ("networking.k8s.io", "ipaddresses")
SLICES = ("discovery.k8s.io", "endpointslices")


def service(cluster: PodCluster, **spec: object) -> None:
    content = {"selector": {"app": "w"}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    cluster.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w"}, "spec": content})


def endpoints(cluster: PodCluster) -> list[Object]:
    (each,) = cluster.store.list(SLICES)
    listed: list[Object] = each.get("endpoints") or []
    return listed


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
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]
    listed = [each for item in cluster.store.list(SLICES) for each in item["endpoints"]]
    assert [each["targetRef"]["name"] for each in listed if not each["conditions"]["ready"]] == [unready]
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


ENDPOINTS = ("", "endpoints")


def external(cluster: PodCluster) -> None:
    """Create a Service without a selector, and Endpoints of addresses outside of the cluster."""
    spec = {"ports": [{"port": 80}]}
    cluster.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w"}, "spec": spec})
    ready = [{"ip": "1.2.3.4"}, {"ip": "2001:db8::1", "hostname": "h"}]
    subset = {"addresses": ready, "notReadyAddresses": [{"ip": "1.2.3.5"}], "ports": [{"name": "p", "port": 80}]}
    meta = {"name": "w", "labels": {"a": "b"}}
    cluster.create(ENDPOINTS, {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]})


def mirrored(cluster: PodCluster) -> dict[str, list[tuple[str, bool]]]:
    """Return the addresses of the slices, and whether they are ready, by family."""
    return {
        each["addressType"]: [(entry["addresses"][0], entry["conditions"]["ready"]) for entry in each["endpoints"]]
        for each in cluster.store.list(SLICES)
    }


def test_endpoints_of_a_client_are_mirrored_to_slices(cluster: PodCluster) -> None:
    external(cluster)
    assert mirrored(cluster) == {"IPv4": [("1.2.3.4", True), ("1.2.3.5", False)], "IPv6": [("2001:db8::1", True)]}
    for each in cluster.store.list(SLICES):
        assert each["ports"] == [{"name": "p", "port": 80, "protocol": "TCP"}]
        assert each["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
        assert each["metadata"]["labels"] == {
            "a": "b",
            "kubernetes.io/service-name": "w",
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        }


def test_mirrored_slices_follow_their_endpoints(cluster: PodCluster) -> None:
    external(cluster)
    before = {each["metadata"]["uid"] for each in cluster.store.list(SLICES)}
    changed = [{"addresses": [{"ip": "1.2.3.9"}], "ports": [{"name": "p", "port": 80}]}]
    cluster.patch(ENDPOINTS, "w", {"metadata": {"labels": {"a": "c"}}, "subsets": changed})
    assert mirrored(cluster) == {"IPv4": [("1.2.3.9", True)]}
    [slice_left] = cluster.store.list(SLICES)
    assert slice_left["metadata"]["labels"]["a"] == "c"
    assert slice_left["metadata"]["uid"] in before
    cluster.delete(ENDPOINTS, "w")
    assert mirrored(cluster) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
def test_endpoints_that_are_not_to_be_mirrored_have_no_slices(cluster: PodCluster, change: Object) -> None:
    external(cluster)
    cluster.patch(ENDPOINTS, "w", {"metadata": change})
    assert mirrored(cluster) == {}


def test_addresses_of_services_are_objects(cluster: PodCluster) -> None:
    service(cluster, selector=None)
    address = cluster.get(SERVICES, "w")["spec"]["clusterIP"]
    (obj,) = cluster.store.list(ADDRESSES)
    assert (obj["metadata"]["name"], obj["spec"]["parentRef"]["name"]) == (address, "w")
    assert obj["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    cluster.patch(SERVICES, "w", {"spec": {"type": "ExternalName", "externalName": "a.b", "clusterIP": None}})
    assert cluster.store.list(ADDRESSES) == []
