from apiserver.tests.cluster.podcluster import DEPLOYMENTS, REPLICA_SETS, PodCluster, pod_template


def progress(cluster: PodCluster) -> str:
    conditions = {each["type"]: each["reason"] for each in cluster.status(DEPLOYMENTS)["conditions"]}
    return str(conditions["Progressing"])


def test_deployment_that_must_not_become_available_keeps_its_old_pods_until_it_may(cluster: PodCluster) -> None:
    cluster.deployment(replicas=2, progressDeadlineSeconds=20)
    cluster.step(times=3)
    cluster.annotate(DEPLOYMENTS, "w", "available", "false")
    cluster.change(DEPLOYMENTS, template=pod_template("w", "broken"))
    cluster.step(times=30)
    assert progress(cluster) == "ProgressDeadlineExceeded"
    assert cluster.status(DEPLOYMENTS)["availableReplicas"] == 2
    cluster.annotate(DEPLOYMENTS, "w", "available", None)
    cluster.step(times=10)
    assert progress(cluster) == "NewReplicaSetAvailable"
    assert [pod["spec"]["containers"][0]["image"] for pod in cluster.pods()] == ["broken", "broken"]


def test_replica_set_that_is_created_again_makes_progress(cluster: PodCluster) -> None:
    cluster.deployment(replicas=2)
    [replica_set] = cluster.store.list(REPLICA_SETS)
    cluster.delete(REPLICA_SETS, replica_set["metadata"]["name"])
    assert progress(cluster) == "ReplicaSetUpdated"
