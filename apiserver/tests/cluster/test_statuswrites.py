"""Writes of the workload controllers: what goes through the status leaves the generation as it is."""

import pytest

from apiserver.tests.cluster.podcluster import DEPLOYMENTS, REPLICA_SETS, Object, PodCluster, pod_template

REVISION = "deployment.kubernetes.io/revision"
MANAGER = "kube-controller-manager"


def owned(obj: Object, subresource: str) -> Object:
    """Return the fields that the controllers own through a subresource."""
    entries = obj["metadata"]["managedFields"]
    entries_of_controllers = [
        each for each in entries if (each["manager"], each.get("subresource", "")) == (MANAGER, subresource)
    ]
    fields: Object = entries_of_controllers[0]["fieldsV1"] if entries_of_controllers else {}
    return fields


def observed(obj: Object) -> tuple[int, int, str]:
    """Return generation, observed generation and revision of a Deployment."""
    meta = obj["metadata"]
    return meta["generation"], obj["status"]["observedGeneration"], meta["annotations"][REVISION]


def test_generation_of_a_deployment_counts_the_changes_of_its_user_only(cluster: PodCluster) -> None:
    cluster.deployment(replicas=2)
    cluster.step(times=3)
    assert observed(cluster.get(DEPLOYMENTS)) == (1, 1, "1")
    changes: list[Object] = [{"replicas": 3}, *({"template": pod_template("w", image)} for image in ("i2", "i"))]
    for number, change in enumerate(changes, 2):
        cluster.change(DEPLOYMENTS, **change)
        cluster.step(times=9)
        assert observed(cluster.get(DEPLOYMENTS)) == (number, number, ("1", "1", "1", "2", "3")[number])
    assert "f:annotations" in owned(cluster.get(DEPLOYMENTS), "status")["f:metadata"]


def test_new_revision_and_its_condition_are_one_write_before_the_counts(cluster: PodCluster) -> None:
    writes: list[Object] = []
    cluster.store.subscribe(lambda _, key, __, new: writes.append(new) if key == DEPLOYMENTS and new else None)
    cluster.deployment(replicas=2)
    created, recorded, counted = writes[:3]
    assert "annotations" not in created["metadata"]
    assert recorded["metadata"]["annotations"] == {REVISION: "1"}
    assert [each["reason"] for each in recorded["status"]["conditions"]] == ["NewReplicaSetCreated"]
    assert "observedGeneration" not in recorded["status"]
    assert counted["status"]["observedGeneration"] == 1
    assert {each["metadata"]["generation"] for each in writes} == {1}


def test_pause_and_resumption_are_conditions_before_they_are_observed(cluster: PodCluster) -> None:
    cluster.deployment()
    cluster.step(times=3)
    writes: list[Object] = []
    cluster.store.subscribe(lambda _, key, __, new: writes.append(new) if key == DEPLOYMENTS and new else None)
    for paused in (True, None):
        cluster.change(DEPLOYMENTS, paused=paused)
    progress = [
        (each["reason"], obj["status"]["observedGeneration"])
        for obj in writes
        for each in obj["status"]["conditions"]
        if each["type"] == "Progressing"
    ]
    assert progress[1:3] == [("DeploymentPaused", 1), ("DeploymentPaused", 2)]
    assert progress[4] == ("DeploymentResumed", 2)
    assert progress[-1] == ("NewReplicaSetAvailable", 3)


def test_pause_does_not_hide_an_exceeded_deadline(cluster: PodCluster) -> None:
    template = pod_template("w", "i")
    template["spec"]["nodeSelector"] = {"none": "matches"}
    cluster.deployment(progressDeadlineSeconds=5, template=template)
    cluster.step(times=9)
    cluster.change(DEPLOYMENTS, paused=True)
    conditions = {each["type"]: each["reason"] for each in cluster.status(DEPLOYMENTS)["conditions"]}
    assert conditions["Progressing"] == "ProgressDeadlineExceeded"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_controller_revision_has_the_annotations_of_its_workload(cluster: PodCluster, kind: str) -> None:
    spec = {"selector": {"matchLabels": {"app": "w"}}, "template": pod_template("w", "i")}
    meta = {"name": "w", "annotations": {"note": "x"}}
    key = ("apps", f"{kind.lower()}s")
    cluster.create(key, {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec})
    (revision,) = cluster.store.list(("apps", "controllerrevisions"))
    assert revision["metadata"]["annotations"]["note"] == "x"
    assert cluster.get(key)["metadata"]["generation"] == 1


def test_replica_set_is_changed_by_its_main_resource_and_counted_by_its_status(cluster: PodCluster) -> None:
    cluster.deployment(replicas=2)
    cluster.step(times=3)
    (replica_set,) = cluster.store.list(REPLICA_SETS)
    assert "f:status" not in owned(replica_set, "")
    assert owned(replica_set, "status").keys() == {"f:status"}
