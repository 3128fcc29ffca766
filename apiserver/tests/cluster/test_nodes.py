from apiserver.tests.cluster.podcluster import (
    NODES,
    PODS,
    PodCluster,
    pod_template,
)

LEASES = ("coordination.k8s.io", "leases")


def placed(cluster: PodCluster) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in cluster.pods())


def pod(cluster: PodCluster, name: str, **spec: object) -> None:
    template = pod_template(name, "i")
    metadata = {"name": name, **template["metadata"]}
    cluster.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], **spec}}
    )


def test_nodes_are_ready_and_renew_their_leases(cluster: PodCluster) -> None:
    names = ["node-1", "node-2", "node-3"]
    assert [node["metadata"]["name"] for node in cluster.store.list(NODES)] == names
    for node in cluster.store.list(NODES):
        ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        assert (ready["status"], node["spec"].get("taints")) == ("True", None)
    before = cluster.get(LEASES, "node-1", "kube-node-lease")["spec"]["renewTime"]
    cluster.step(15)
    assert cluster.get(LEASES, "node-1", "kube-node-lease")["spec"]["renewTime"] > before


def test_pod_that_fits_no_node_says_why_and_is_scheduled_once_it_fits(cluster: PodCluster) -> None:
    pod(cluster, "p", nodeSelector={"disk": "ssd"})
    condition = cluster.status(PODS, "p")["conditions"][0]
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"] == "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
    cluster.patch(NODES, "node-2", {"metadata": {"labels": {"disk": "ssd"}}}, "")
    assert placed(cluster) == ["node-2"]


def test_resources_that_no_node_has_left_keep_a_pod_pending(cluster: PodCluster) -> None:
    big = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}]}
    for name in "abcd":
        pod(cluster, name, **big)
    assert placed(cluster) == ["", "node-1", "node-2", "node-3"]
    assert cluster.status(PODS, "d")["conditions"][0]["message"] == "0/3 nodes are available: 3 Insufficient cpu."
    cluster.delete(PODS, "a")
    cluster.step(times=2)
    assert placed(cluster) == ["node-1", "node-2", "node-3"]
