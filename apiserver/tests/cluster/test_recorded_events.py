from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PodCluster


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
