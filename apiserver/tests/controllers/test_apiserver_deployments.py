from collections.abc import Iterator

import pytest

from apiserver.tests.controllers.clusters import Cluster, image
from clientgo_apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS, DeploymentSimulation


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    result = Cluster()
    result.simulation.start()
    yield result
    result.simulation.stop()


def test_deployment_becomes_available_by_one_write(cluster: Cluster) -> None:
    cluster.create(3)
    status = cluster.status()
    assert (status["observedGeneration"], status["availableReplicas"], status["updatedReplicas"]) == (1, 3, 3)
    assert "unavailableReplicas" not in status
    assert cluster.condition("Available") == ("True", "MinimumReplicasAvailable")
    assert cluster.condition("Progressing") == ("True", "NewReplicaSetAvailable")
    assert cluster.writes == 1


def test_scaling_is_followed_by_one_write(cluster: Cluster) -> None:
    cluster.create(3)
    cluster.change(replicas=0)
    assert cluster.status()["observedGeneration"] == 2
    assert "availableReplicas" not in cluster.status()
    assert cluster.writes == 3


def test_change_of_metadata_writes_no_status(cluster: Cluster) -> None:
    cluster.create()
    cluster.internal.patch(DEPLOYMENTS, "default", "d", {"metadata": {"labels": {"a": "b"}}})
    cluster.scheduler.run()
    assert cluster.writes == 2


def test_simulated_writes_are_not_counted_as_requests(cluster: Cluster) -> None:
    cluster.create()
    assert not cluster.state.calls


def test_nothing_else_is_created(cluster: Cluster) -> None:
    cluster.create()
    assert cluster.internal.state.store.list(REPLICA_SETS) == []
    assert cluster.internal.state.store.list(("", "pods")) == []


def test_replicas_become_ready_after_the_delay() -> None:
    cluster = Cluster(ready_seconds=2.0)
    cluster.simulation.start()
    cluster.create(2)
    assert cluster.status()["unavailableReplicas"] == 2
    assert cluster.condition("Available") == ("False", "MinimumReplicasUnavailable")
    assert cluster.condition("Progressing") == ("True", "ReplicaSetUpdated")
    cluster.step(1.9)
    assert "availableReplicas" not in cluster.status()
    cluster.step(0.1)
    assert cluster.status()["availableReplicas"] == 2
    assert cluster.condition("Progressing") == ("True", "NewReplicaSetAvailable")
    assert cluster.writes == 2


def test_replicas_must_have_been_ready_for_min_ready_seconds(cluster: Cluster) -> None:
    cluster.create(1, minReadySeconds=5)
    assert "availableReplicas" not in cluster.status()
    cluster.step(5)
    assert cluster.status()["availableReplicas"] == 1


def test_new_template_rolls_out_while_the_old_replicas_serve() -> None:
    cluster = Cluster(ready_seconds=2.0)
    cluster.simulation.start()
    cluster.create(4)
    cluster.step(2)
    cluster.change(template=image("j"))
    status = cluster.status()
    assert (status["availableReplicas"], status.get("updatedReplicas", 0)) == (4, 0)
    assert cluster.condition("Progressing") == ("True", "ReplicaSetUpdated")
    cluster.step(2)
    assert cluster.status()["updatedReplicas"] == 4


def test_later_change_replaces_the_current_rollout() -> None:
    cluster = Cluster(ready_seconds=2.0)
    cluster.simulation.start()
    cluster.create(4)
    cluster.step(1)
    cluster.change(replicas=6)
    cluster.step(1)
    assert "availableReplicas" not in cluster.status()
    cluster.step(1)
    assert cluster.status()["availableReplicas"] == 6


def test_paused_deployment_keeps_its_template(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.change(paused=True, template=image("j"))
    assert cluster.condition("Progressing") == ("Unknown", "DeploymentPaused")
    assert "updatedReplicas" not in cluster.status()
    cluster.change(paused=False)
    assert cluster.status()["updatedReplicas"] == 2


def test_deleted_deployment_is_forgotten() -> None:
    cluster = Cluster(ready_seconds=2.0)
    cluster.simulation.start()
    cluster.create()
    cluster.internal.delete(DEPLOYMENTS, "default", "d")
    cluster.step(2)
    assert repr(cluster.simulation) == "<DeploymentSimulation of 0 objects>"


def test_replica_set_becomes_ready(cluster: Cluster) -> None:
    cluster.create(2, key=REPLICA_SETS)
    status = cluster.status(REPLICA_SETS)
    assert (status["replicas"], status["readyReplicas"], status["fullyLabeledReplicas"]) == (2, 2, 2)


def test_restarted_simulation_writes_only_outdated_statuses(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.simulation.stop()
    again = DeploymentSimulation(cluster.internal)
    again.start()
    cluster.scheduler.run()
    assert cluster.writes == 1
    again.stop()
    cluster.change(replicas=3)
    DeploymentSimulation(cluster.internal).start()
    cluster.scheduler.run()
    assert cluster.status()["availableReplicas"] == 3


def test_stopped_simulation_writes_nothing(cluster: Cluster) -> None:
    cluster.simulation.stop()
    cluster.create()
    assert cluster.writes == 0


HELD = "simulation.clientgo.dev/available"


def annotate(cluster: Cluster, value: str | None) -> None:
    cluster.internal.patch(DEPLOYMENTS, "default", "d", {"metadata": {"annotations": {HELD: value}}})
    cluster.scheduler.run()


def test_annotated_deployment_exceeds_its_deadline_while_old_replicas_serve(cluster: Cluster) -> None:
    cluster.create(3, progressDeadlineSeconds=20)
    annotate(cluster, "false")
    cluster.change(template=image("broken"))
    assert cluster.condition("Progressing") == ("True", "ReplicaSetUpdated")
    cluster.step(20)
    assert cluster.condition("Progressing") == ("False", "ProgressDeadlineExceeded")
    assert cluster.condition("Available") == ("True", "MinimumReplicasAvailable")
    assert (cluster.status()["availableReplicas"], cluster.status().get("updatedReplicas", 0)) == (3, 0)


def test_deployment_that_fails_from_the_start_is_never_available(cluster: Cluster) -> None:
    cluster.create(0)
    annotate(cluster, "false")
    cluster.change(replicas=2)
    cluster.step(599)
    assert cluster.condition("Available") == ("False", "MinimumReplicasUnavailable")
    cluster.step(1)
    assert cluster.condition("Progressing") == ("False", "ProgressDeadlineExceeded")
    assert "availableReplicas" not in cluster.status()


def test_deployment_recovers_when_the_annotation_is_removed(cluster: Cluster) -> None:
    cluster.create(1)
    annotate(cluster, "false")
    cluster.change(template=image("broken"))
    cluster.step(600)
    annotate(cluster, None)
    assert cluster.condition("Progressing") == ("True", "NewReplicaSetAvailable")
    assert cluster.status()["updatedReplicas"] == 1


def test_annotated_complete_deployment_stays_available(cluster: Cluster) -> None:
    cluster.create(2)
    annotate(cluster, "false")
    cluster.step(600)
    assert cluster.condition("Progressing") == ("True", "NewReplicaSetAvailable")
    assert cluster.status()["availableReplicas"] == 2
