from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.tests.controllers.clusters import Cluster, image
from clientgo_apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS
from clientgo_apiserver.controllers.garbagecollector import GarbageCollector
from clientgo_apiserver.controllers.replicasets import HASH_LABEL, REVISION, ReplicaSetSimulation


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    result = Cluster()
    result.simulation.start()
    ReplicaSetSimulation(result.internal).start()
    GarbageCollector(result.internal).start()
    yield result
    result.simulation.stop()


def sets(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """Return revision and replicas of every ReplicaSet, by image."""
    return {
        item["spec"]["template"]["spec"]["containers"][0]["image"]: (
            item["metadata"]["annotations"][REVISION],
            item["spec"]["replicas"],
        )
        for item in cluster.internal.state.store.list(REPLICA_SETS)
    }


def deployment(cluster: Cluster) -> dict[str, Any]:
    stored = cluster.internal.state.store.get(DEPLOYMENTS, "default", "d")
    assert stored is not None
    return stored


def test_deployment_gets_a_replica_set_that_becomes_ready(cluster: Cluster) -> None:
    cluster.create(3)
    (built,) = cluster.internal.state.store.list(REPLICA_SETS)
    owner = built["metadata"]["ownerReferences"][0]
    assert (owner["uid"], owner["controller"]) == (deployment(cluster)["metadata"]["uid"], True)
    digest = built["metadata"]["labels"][HASH_LABEL]
    assert built["metadata"]["name"] == f"d-{digest}"
    assert built["spec"]["selector"]["matchLabels"] == {"app": "d", HASH_LABEL: digest}
    assert built["spec"]["template"]["metadata"]["labels"] == {"app": "d", HASH_LABEL: digest}
    assert (built["status"]["replicas"], built["status"]["readyReplicas"]) == (3, 3)
    assert deployment(cluster)["metadata"]["annotations"][REVISION] == "1"


def test_a_new_template_is_a_new_revision_and_an_old_one_becomes_the_newest(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.change(template=image("j"))
    assert sets(cluster) == {"i": ("1", 0), "j": ("2", 2)}
    cluster.change(template=image("i"))  # what `kubectl rollout undo` does
    assert sets(cluster) == {"i": ("3", 2), "j": ("2", 0)}
    assert deployment(cluster)["metadata"]["annotations"][REVISION] == "3"
    assert deployment(cluster)["metadata"]["generation"] == 3, "of one creation and two changes"


def test_scaling_creates_no_revision(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.change(replicas=5)
    assert sets(cluster) == {"i": ("1", 5)}


def test_a_paused_deployment_keeps_its_replica_set(cluster: Cluster) -> None:
    cluster.create(2)
    cluster.change(paused=True, template=image("j"))
    assert sets(cluster) == {"i": ("1", 2)}
    cluster.change(paused=False)
    assert sets(cluster) == {"i": ("1", 0), "j": ("2", 2)}


def test_revision_history_limit_is_respected(cluster: Cluster) -> None:
    cluster.create(1, revisionHistoryLimit=1)
    for name in ("j", "k"):
        cluster.change(template=image(name))
    assert sets(cluster) == {"j": ("2", 0), "k": ("3", 1)}


def test_deleted_replica_set_is_recreated_until_its_deployment_is_deleted(cluster: Cluster) -> None:
    cluster.create(1)
    (first,) = cluster.internal.state.store.list(REPLICA_SETS)
    cluster.internal.delete(REPLICA_SETS, "default", first["metadata"]["name"])
    cluster.scheduler.run()
    (second,) = cluster.internal.state.store.list(REPLICA_SETS)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    cluster.internal.delete(DEPLOYMENTS, "default", "d")
    cluster.scheduler.run()
    assert cluster.internal.state.store.list(REPLICA_SETS) == []
