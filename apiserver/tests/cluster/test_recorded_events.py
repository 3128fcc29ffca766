from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PodCluster, pod_template


def test_replication_controller_has_a_source_of_its_own(cluster: PodCluster) -> None:
    template = pod_template("a", "i")
    cluster.create(("", "replicationcontrollers"), {"metadata": {"name": "a"}, "spec": {"template": template}})
    cluster.step(times=3)
    events = [event for event in cluster.store.list(("", "events")) if event["reason"] == "SuccessfulCreate"]
    assert [event["source"]["component"] for event in events] == ["replication-controller"]


def test_rollout_is_described_by_events(cluster: PodCluster) -> None:
    cluster.deployment(replicas=1)
    cluster.step(times=3)
    cluster.change(DEPLOYMENTS, replicas=0)
    cluster.step(times=3)
    events = cluster.store.list(("", "events"))
    assert {event["reason"]: event["source"]["component"] for event in events} == {
        "ScalingReplicaSet": "deployment-controller",
        "SuccessfulCreate": "replicaset-controller",
        "SuccessfulDelete": "replicaset-controller",
        "Scheduled": "default-scheduler",
        **dict.fromkeys(("Pulled", "Created", "Started", "Killing"), "kubelet"),
    }
