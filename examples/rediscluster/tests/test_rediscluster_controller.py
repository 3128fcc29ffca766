from collections.abc import Callable, Iterator
from queue import Queue

import pytest
from clientgo.envtest import Environment
from clientgo.errors import NotFound
from clientgo.kubernetes.types.apps_v1 import StatefulSet
from clientgo.kubernetes.types.core_v1 import ConfigMap, Node, Service
from clientgo.manager import Client, Manager, Result, find_status_condition, is_status_condition_true
from clientgo.meta import ApiObject, ObjectMeta, ObjectName, change, new_controller_ref, object_name
from clientgo.perturb import change as changed
from clientgo.perturb import create, delete
from clientgo.reconcile import retry_on_conflict
from clientgo.typed import Scale

from api.v1.rediscluster_types import RedisCluster, RedisClusterSpec
from controllers.rediscluster_controller import FINALIZER, RedisClusterReconciler
from tests.samples import sample

PARTS: tuple[type[ApiObject], ...] = (ConfigMap, Service, StatefulSet)


class Watched(RedisClusterReconciler):
    """Reconciler that records successful requests, and the number of servers when a cluster is deleted."""

    def __init__(self, manager: Manager, admin: Client) -> None:
        super().__init__(manager.client, manager.recorder)
        self.admin = admin
        self.done: Queue[ObjectName] = Queue()
        self.left: list[int] = []

    def reconcile_request(self, request: ObjectName) -> Result | None:
        result = super().reconcile_request(request)
        self.done.put(request)
        return result

    def finalize(self, cluster: RedisCluster) -> Result | None:
        result = super().finalize(cluster)
        servers = self.client.find(StatefulSet, object_name(cluster))
        if result is None and servers is not None:
            self.left.append(servers.status.replicas)
        return result

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until a condition holds, checking it after each reconciliation."""
        while not until():
            self.done.get(timeout=20)

    def read(self, name: ObjectName) -> RedisCluster:
        return self.admin.get(RedisCluster, name)

    def is_ready(self, name: ObjectName) -> bool:
        """Report whether the cluster is ready for its latest generation."""
        stored = self.read(name)
        current = stored.status.observed_generation == stored.metadata.generation
        return current and is_status_condition_true(stored.status.conditions, "Ready")


@pytest.fixture
def redis(manager: Manager, started: Callable[[], Manager], client: Client) -> Iterator[Watched]:
    """Running controller; deletes all RedisClusters afterwards."""
    if Environment().kind != "bundled server" and not client.list(Node):
        pytest.skip("without nodes no StatefulSet becomes ready")
    reconciler = Watched(manager, client)
    manager.add_reconciler(reconciler)
    started()
    yield reconciler
    client.delete_all_of(RedisCluster, namespace="default")
    reconciler.wait(lambda: not client.list(RedisCluster))


def made(redis: Watched, name: str) -> ObjectName:
    """Create the sample with another name and wait until it is ready."""
    existing = ObjectName("default", name)
    redis.admin.create(sample(RedisCluster, "cache_v1_rediscluster.yaml", **existing._asdict()))
    redis.wait(lambda: redis.is_ready(existing))
    return existing


def versions(redis: Watched, name: ObjectName) -> list[str]:
    """Return the resource versions of the cluster and its owned objects."""
    kinds: tuple[type[ApiObject], ...] = (RedisCluster, *PARTS)
    return [redis.admin.get(kind, name).metadata.resource_version for kind in kinds]


def test_the_sample_becomes_ready_with_all_its_parts(redis: Watched) -> None:
    name = made(redis, "whole")

    cluster = redis.read(name)
    assert (cluster.status.replicas, cluster.status.ready_replicas) == (3, 3)
    assert not is_status_condition_true(cluster.status.conditions, "Progressing")
    assert cluster.metadata.finalizers == (FINALIZER,)
    for kind in PARTS:
        part = redis.admin.get(kind, name)
        assert part.metadata.owner_references == (new_controller_ref(cluster),)
    assert "maxmemory-policy allkeys-lru\n" in redis.admin.get(ConfigMap, name).data["redis.conf"]


def test_unchanged_cluster_is_not_written(redis: Watched) -> None:
    name = made(redis, "settled")
    before = versions(redis, name)

    assert redis.reconcile_request(name) is None

    assert versions(redis, name) == before


@pytest.mark.parametrize("kind", PARTS)
def test_deleted_owned_object_is_recreated(redis: Watched, kind: type[ApiObject]) -> None:
    name = made(redis, f"lost-{kind.__name__.lower()}")
    was = redis.admin.get(kind, name)

    redis.admin.delete(was)

    def is_back() -> bool:
        result = redis.admin.list(kind, namespace="default")
        return any(item.metadata.name == name.name and item.metadata.uid != was.metadata.uid for item in result)

    redis.wait(is_back)


def test_changed_owned_object_is_reverted(redis: Watched) -> None:
    name = made(redis, "changed")
    typed = redis.admin

    redis.admin.patch(typed.get(StatefulSet, name), {"spec": {"replicas": 1}})
    redis.admin.patch(typed.get(ConfigMap, name), {"data": {"redis.conf": "", "more": "x"}})
    redis.admin.patch(typed.get(Service, name), {"spec": {"selector": {"app.kubernetes.io/instance": "other"}}})

    redis.wait(lambda: typed.get(StatefulSet, name).spec.replicas == 3)
    redis.wait(lambda: set(typed.get(ConfigMap, name).data) == {"redis.conf"})
    redis.wait(lambda: typed.get(Service, name).spec.selector["app.kubernetes.io/instance"] == "changed")


def test_scale_subresource_scales_the_cluster(redis: Watched) -> None:
    name = made(redis, "scaled")
    typed = redis.admin.typed(RedisCluster, "default")
    assert typed.get_scale("scaled").status.selector == "app.kubernetes.io/name=redis,app.kubernetes.io/instance=scaled"

    def scale_to_five() -> Scale:
        return typed.update_scale("scaled", change(typed.get_scale("scaled"), lambda s: s.spec.replicas).to(5))

    retry_on_conflict(scale_to_five)  # the controller writes the status meanwhile
    redis.wait(lambda: redis.is_ready(name) and redis.read(name).status.ready_replicas == 5)
    assert typed.get_scale("scaled").status.replicas == 5


def test_deleted_cluster_stops_its_servers_first(redis: Watched) -> None:
    name = made(redis, "ending")

    redis.admin.delete(redis.read(name))

    redis.wait(lambda: not redis.admin.list(RedisCluster))
    assert set(redis.left) == {0}  # finalize may be called once more than needed
    with pytest.raises(NotFound):
        redis.read(name)


def test_name_conflict_is_reported_in_the_status(redis: Watched, created: list[ApiObject]) -> None:
    owner = redis.admin.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace="default")))
    created.append(owner)
    theirs = ObjectMeta(name="taken", namespace="default", owner_references=(new_controller_ref(owner),))
    created.append(redis.admin.create(ConfigMap(metadata=theirs)))
    name = ObjectName("default", "taken")

    redis.admin.create(RedisCluster(ObjectMeta(name="taken", namespace="default"), RedisClusterSpec(replicas=1)))

    def ready() -> str:
        result = find_status_condition(redis.read(name).status.conditions, "Ready")
        return result.reason if result is not None else ""

    redis.wait(lambda: ready() == "NameTaken")


def test_no_perturbation_changes_the_outcome(perturb: Callable[..., None]) -> None:
    cluster = RedisCluster(ObjectMeta(name="redis", namespace="default"), RedisClusterSpec(replicas=3))
    settings = {"spec": {"settings": ["maxmemory-policy allkeys-lru"]}}
    steps = [create(cluster), changed(cluster, {"spec": {"replicas": 5}}), changed(cluster, settings), delete(cluster)]
    perturb(RedisClusterReconciler, steps)
