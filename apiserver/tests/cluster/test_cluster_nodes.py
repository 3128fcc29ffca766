import pytest

from apiserver.tests.cluster.podcluster import (
    DEPLOYMENTS,
    NODES,
    PODS,
    PodCluster,
    pod_template,
)

LEASES = ("coordination.k8s.io", "leases")


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


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


def test_pods_are_spread_over_the_nodes(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=3)
    assert placed(cluster) == ["node-1", "node-2", "node-3"]


def test_a_pod_that_fits_no_node_says_why_and_is_scheduled_once_it_fits(cluster: PodCluster) -> None:
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


def test_no_pod_is_scheduled_on_a_cordoned_node(cluster: PodCluster) -> None:
    cluster.patch(NODES, "node-1", {"spec": {"unschedulable": True}}, "")
    taints = cluster.get(NODES, "node-1", "")["spec"]["taints"]
    assert [(taint["key"], taint["effect"]) for taint in taints] == [("node.kubernetes.io/unschedulable", "NoSchedule")]
    cluster.workload(DEPLOYMENTS, replicas=4)
    assert placed(cluster) == ["node-2", "node-2", "node-3", "node-3"]
    cluster.patch(NODES, "node-1", {"spec": {"unschedulable": None}}, "")
    assert "taints" not in cluster.get(NODES, "node-1", "")["spec"]


def test_pods_of_a_node_that_is_not_ready_are_evicted_after_five_minutes(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=3)
    cluster.step()
    cluster.annotate(NODES, "node-1", "ready", "false", "")
    cluster.step()
    assert cluster.counts(DEPLOYMENTS, "readyReplicas") == (2,)
    assert placed(cluster) == ["node-1", "node-2", "node-3"]
    cluster.step(300)
    cluster.step(times=3)
    assert cluster.counts(DEPLOYMENTS, "readyReplicas") == (3,)
    assert "node-1" not in placed(cluster)


def test_pods_of_a_node_that_recovers_in_time_stay(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=3)
    cluster.step()
    before = cluster.names()
    cluster.annotate(NODES, "node-1", "ready", "false", "")
    cluster.step(60)
    cluster.annotate(NODES, "node-1", "ready", None, "")
    cluster.step(300)
    cluster.step(times=3)
    assert (cluster.names(), cluster.counts(DEPLOYMENTS, "readyReplicas")) == (before, (3,))


def test_pods_of_a_deleted_node_are_deleted_and_replaced(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=3)
    cluster.step()
    cluster.delete(NODES, "node-1", "")
    cluster.step(times=3)
    assert (cluster.counts(DEPLOYMENTS, "readyReplicas"), "node-1" in placed(cluster)) == ((3,), False)
