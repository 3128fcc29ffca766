import pytest

from apiserver.tests.cluster.podcluster import PODS, STATEFUL_SETS, PodCluster, image_change

CLAIMS = ("", "persistentvolumeclaims")
COUNTS = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas")


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


def images(cluster: PodCluster) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in cluster.pods()}


def test_pods_are_created_in_order_each_once_those_before_are_ready(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=3, serviceName="s")
    for expected in (["w-0"], ["w-0", "w-1"], ["w-0", "w-1", "w-2"]):
        assert cluster.names() == expected
        cluster.step()
    assert cluster.counts(STATEFUL_SETS, *COUNTS) == (3, 3, 3, 3)
    pod = cluster.get(PODS, "w-1")
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("w-1", "s")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"


def test_parallel_pods_are_created_at_once(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=3, podManagementPolicy="Parallel", ordinals={"start": 5})
    assert cluster.names() == ["w-5", "w-6", "w-7"]


def test_scale_down_removes_the_highest_ordinals_one_at_a_time(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=3)
    cluster.step(times=4)
    cluster.change(STATEFUL_SETS, replicas=1)
    assert [pod["metadata"]["name"] for pod in cluster.pods() if "deletionTimestamp" in pod["metadata"]] == ["w-2"]
    cluster.step()
    assert cluster.names() == ["w-0", "w-1"]
    cluster.step()
    assert cluster.names() == ["w-0"]


def test_rolling_update_replaces_pods_from_the_highest_ordinal(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=2)
    cluster.step(times=3)
    before = cluster.status(STATEFUL_SETS)["currentRevision"]
    cluster.change(STATEFUL_SETS, template=image_change("j"))
    cluster.step()
    assert images(cluster) == {"w-0": "i", "w-1": "j"}
    assert cluster.counts(STATEFUL_SETS, *COUNTS) == (2, 1, 1, 1)
    cluster.step(times=5)
    assert images(cluster) == {"w-0": "j", "w-1": "j"}
    assert cluster.counts(STATEFUL_SETS, *COUNTS) == (2, 2, 2, 2)
    assert cluster.status(STATEFUL_SETS)["currentRevision"] != before
    assert len(cluster.store.list(("apps", "controllerrevisions"))) == 2


def test_pods_below_the_partition_keep_their_template_even_when_recreated(cluster: PodCluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    cluster.workload(STATEFUL_SETS, replicas=2, updateStrategy=strategy)
    cluster.step(times=3)
    cluster.change(STATEFUL_SETS, template=image_change("j"))
    cluster.step(times=5)
    assert images(cluster) == {"w-0": "i", "w-1": "j"}
    cluster.delete(PODS, "w-0")
    cluster.step(times=3)
    assert images(cluster) == {"w-0": "i", "w-1": "j"}
    assert cluster.counts(STATEFUL_SETS, *COUNTS) == (2, 2, 1, 1)


def test_on_delete_updates_only_the_pods_that_are_deleted(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=2, updateStrategy={"type": "OnDelete"})
    cluster.step(times=3)
    cluster.change(STATEFUL_SETS, template=image_change("j"))
    cluster.step(times=5)
    assert images(cluster) == {"w-0": "i", "w-1": "i"}
    cluster.delete(PODS, "w-0")
    cluster.step(times=3)
    assert images(cluster) == {"w-0": "j", "w-1": "i"}


def test_a_failed_pod_is_created_again_under_its_name(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=1)
    cluster.step(times=2)
    before = cluster.get(PODS, "w-0")["metadata"]["uid"]
    cluster.delete(PODS, "w-0")
    cluster.step(times=3)
    assert cluster.get(PODS, "w-0")["metadata"]["uid"] != before
    assert cluster.counts(STATEFUL_SETS, "readyReplicas") == (1,)


def test_claims_are_created_and_stay_when_the_set_is_scaled_down(cluster: PodCluster) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.workload(STATEFUL_SETS, replicas=2, volumeClaimTemplates=[claim])
    cluster.step(times=3)
    cluster.change(STATEFUL_SETS, replicas=1)
    cluster.step(times=3)
    assert [each["metadata"]["name"] for each in cluster.store.list(CLAIMS)] == ["data-w-0", "data-w-1"]
    volumes = cluster.get(PODS, "w-0")["spec"]["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-w-0"}} in volumes


def test_a_set_whose_first_pod_is_unready_creates_no_second_one(cluster: PodCluster) -> None:
    cluster.workload(STATEFUL_SETS, replicas=2, annotations={"simulation.clientgo.dev/available": "false"})
    cluster.step(times=3)
    assert (cluster.names(), cluster.phases()) == (["w-0"], ["Pending"])
    cluster.annotate(STATEFUL_SETS, "w", "available", None)
    cluster.step(times=4)
    assert cluster.counts(STATEFUL_SETS, "readyReplicas") == (2,)
