import pytest

from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PODS, REPLICA_SETS, PodCluster, image_change, pod_template

COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


def sizes(cluster: PodCluster) -> dict[str, int]:
    """Return the replicas of the ReplicaSets by image."""
    sets = cluster.store.list(REPLICA_SETS)
    return {each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"] for each in sets}


def test_deployment_has_pods_that_become_ready(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=3)
    assert cluster.phases() == ["Pending"] * 3
    assert cluster.counts(DEPLOYMENTS, *COUNTS) == (3, 3, 0, 0, 3)
    cluster.step()
    assert cluster.phases() == ["Running"] * 3
    assert cluster.counts(DEPLOYMENTS, *COUNTS) == (3, 3, 3, 3, 0)
    assert cluster.condition(DEPLOYMENTS, "Progressing") == ("True", "NewReplicaSetAvailable")


def test_rolling_update_never_has_less_than_the_minimum_nor_more_than_the_maximum(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    cluster.step()
    cluster.change(DEPLOYMENTS, template=image_change("j"))
    for _ in range(10):
        assert cluster.counts(DEPLOYMENTS, "availableReplicas")[0] >= 3
        assert sum(sizes(cluster).values()) <= 5
        cluster.step()
    assert sizes(cluster) == {"i": 0, "j": 4}
    assert cluster.images() == ["j"] * 4


def test_recreate_ends_all_pods_before_it_creates_new_ones(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=2, strategy={"type": "Recreate", "rollingUpdate": None})
    cluster.step()
    cluster.change(DEPLOYMENTS, template=image_change("j"))
    assert (cluster.images(), sizes(cluster)) == (["i", "i"], {"i": 0})
    cluster.step()
    assert (cluster.images(), sizes(cluster)) == (["j", "j"], {"i": 0, "j": 2})


def test_an_image_that_cannot_be_pulled_exceeds_the_deadline_and_an_undo_heals_it(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=2, progressDeadlineSeconds=60)
    cluster.step()
    bad = {**image_change("bad"), "metadata": {"annotations": {"simulation.clientgo.dev/pod": "pending"}}}
    cluster.change(DEPLOYMENTS, template=bad)
    cluster.step(times=70)
    assert cluster.condition(DEPLOYMENTS, "Progressing") == ("False", "ProgressDeadlineExceeded")
    assert cluster.condition(DEPLOYMENTS, "Available") == ("True", "MinimumReplicasAvailable")
    good = {**image_change("i"), "metadata": {"annotations": None}}
    cluster.change(DEPLOYMENTS, template=good)
    cluster.step(times=3)
    assert cluster.condition(DEPLOYMENTS, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert cluster.get(DEPLOYMENTS)["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


def test_scaling_during_a_rollout_is_distributed_in_proportion(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    cluster.step()
    stuck = {**image_change("j"), "metadata": {"annotations": {"simulation.clientgo.dev/pod": "pending"}}}
    cluster.change(DEPLOYMENTS, template=stuck)
    cluster.step(times=3)
    assert sizes(cluster) == {"i": 8, "j": 5}
    cluster.change(DEPLOYMENTS, replicas=15)
    assert sizes(cluster) == {"i": 11, "j": 7}  # the example in Kubernetes' documentation


def test_paused_deployment_is_scaled_and_not_rolled_out(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step()
    cluster.change(DEPLOYMENTS, paused=True, replicas=3, template=image_change("j"))
    cluster.step(times=2)
    assert (sizes(cluster), cluster.images()) == ({"i": 3}, ["i"] * 3)
    assert cluster.condition(DEPLOYMENTS, "Progressing") == ("Unknown", "DeploymentPaused")
    cluster.change(DEPLOYMENTS, paused=False)
    cluster.step(times=5)
    assert cluster.images() == ["j"] * 3


def test_earlier_replica_sets_beyond_the_history_limit_are_deleted(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=1, revisionHistoryLimit=1)
    for image in "jkl":
        cluster.step(times=4)
        cluster.change(DEPLOYMENTS, template=image_change(image))
    cluster.step(times=4)
    assert sizes(cluster) == {"k": 0, "l": 1}


def test_a_deleted_pod_is_replaced(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step()
    before = cluster.names()
    cluster.delete(PODS, before[0])
    cluster.step(times=2)
    assert len(cluster.names()) == 2
    assert before[0] not in cluster.names()
    assert before[1] in cluster.names()


def test_a_pod_whose_labels_change_is_released_and_replaced(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=1)
    name = cluster.names()[0]
    cluster.patch(PODS, name, {"metadata": {"labels": {"app": "other"}}})
    assert "ownerReferences" not in cluster.get(PODS, name)["metadata"]
    assert len(cluster.names()) == 2
    assert cluster.counts(DEPLOYMENTS, "replicas") == (1,)


def test_a_replica_set_adopts_pods_that_it_selects(cluster: PodCluster) -> None:
    cluster.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            **pod_template("w", "i"),
            "metadata": {"name": "p", "labels": {"app": "w"}},
        },
    )
    cluster.workload(REPLICA_SETS, replicas=1)
    assert cluster.names() == ["p"]
    assert cluster.get(PODS, "p")["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deletion_removes_replica_sets_and_pods(cluster: PodCluster, propagation: str) -> None:
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step()
    cluster.delete(DEPLOYMENTS, "w", propagation=propagation)
    cluster.step(times=3)
    assert [cluster.store.count(key) for key in (DEPLOYMENTS, REPLICA_SETS, PODS)] == [0, 0, 0]


def test_orphaned_replica_sets_keep_their_pods_and_are_adopted_again(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step()
    before = cluster.names()
    cluster.delete(DEPLOYMENTS, "w", propagation="Orphan")
    cluster.step(times=2)
    assert (cluster.store.count(DEPLOYMENTS), cluster.names()) == (0, before)
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step(times=2)
    assert cluster.names() == before
    assert cluster.store.count(REPLICA_SETS) == 1


def test_a_quota_that_is_exceeded_is_a_condition_and_pods_follow_once_it_is_raised(cluster: PodCluster) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    cluster.create(("", "resourcequotas"), quota)
    cluster.workload(DEPLOYMENTS, replicas=2)
    cluster.step(times=2)
    assert len(cluster.names()) == 1
    assert cluster.condition(DEPLOYMENTS, "ReplicaFailure") == ("True", "FailedCreate")
    cluster.patch(("", "resourcequotas"), "q", {"spec": {"hard": {"pods": "5"}}})
    cluster.step(times=70)
    assert cluster.counts(DEPLOYMENTS, "availableReplicas") == (2,)
    assert cluster.condition(DEPLOYMENTS, "ReplicaFailure") == ("", "")


def test_pods_count_as_available_after_min_ready_seconds(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=1, minReadySeconds=10)
    cluster.step(times=5)
    assert cluster.counts(DEPLOYMENTS, "readyReplicas", "availableReplicas") == (1, 0)
    cluster.step(times=10)
    assert cluster.counts(DEPLOYMENTS, "readyReplicas", "availableReplicas") == (1, 1)


def test_scale_down_deletes_pods_that_are_not_ready_first(cluster: PodCluster) -> None:
    cluster.workload(REPLICA_SETS, replicas=3)
    cluster.step()
    unready = cluster.names()[1]
    cluster.annotate(PODS, unready, "pod", "unready")
    cluster.step()
    cluster.change(REPLICA_SETS, replicas=2)
    cluster.step(times=2)
    assert len(cluster.names()) == 2
    assert unready not in cluster.names()


def test_a_rollout_is_described_by_events(cluster: PodCluster) -> None:
    cluster.workload(DEPLOYMENTS, replicas=1)
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
