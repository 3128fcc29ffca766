"""Reconciler of RedisCluster: a StatefulSet of servers, a headless Service, and a ConfigMap."""

import logging
from collections.abc import Callable
from typing import TypeVar

from clientgo.errors import Conflict
from clientgo.kubernetes.types.apps_v1 import StatefulSet
from clientgo.kubernetes.types.core_v1 import ConfigMap, Service
from clientgo.manager import (
    AlreadyOwnedError,
    Condition,
    Controller,
    ControllerBuilder,
    Finalizer,
    Manager,
    OperationResult,
    Result,
    create_or_patch,
    set_controller_reference,
    set_status_condition,
)
from clientgo.meta import ObjectMeta, ObjectName, is_controlled_by, object_name, replace
from clientgo.meta.declarations import rbac

from api.v1.rediscluster_types import RedisCluster, RedisClusterStatus
from controllers.rediscluster_parts import config_map, has_ended, service, stateful_set, status_of

GROUP = "cache.example.com"
FINALIZER = f"{GROUP}/servers"
OWN_VERBS = ("create", "get", "list", "patch", "watch")

RETRY_SECONDS = 60.0
"""Seconds between retries while another owner's object has the name: the controller does not watch that object."""

log = logging.getLogger(__name__)

P = TypeVar("P", ConfigMap, Service, StatefulSet)


@rbac(groups="core", resources=("configmaps", "services"), verbs=OWN_VERBS)
@rbac(groups="apps", resources="statefulsets", verbs=OWN_VERBS)
@rbac(
    groups=GROUP,
    resources="redisclusters",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
@rbac(groups=GROUP, resources="redisclusters/status", verbs=("get", "patch", "update"))
@rbac(groups=GROUP, resources="redisclusters/finalizers", verbs="update")
class RedisClusterReconciler:
    """Reconciles RedisCluster objects: brings the cluster to the state that their specs describe."""

    def __init__(self, manager: Manager) -> None:
        self.client, self.recorder = manager.client, manager.recorder
        self.finalizer = Finalizer(manager.client, FINALIZER)

    def reconcile(self, request: ObjectName) -> Result | None:
        """Reconcile one object, which may have been deleted; raised exceptions are retried with backoff."""
        cluster = self.client.find(RedisCluster, request)
        if cluster is None:
            return None
        if cluster.metadata.deletion_timestamp is not None:
            self.wind_down(cluster)
            return None
        cluster = self.finalizer.ensure(cluster)
        try:
            self.keep(cluster, ConfigMap, config_map)
            self.keep(cluster, Service, service)
            servers = self.keep(cluster, StatefulSet, stateful_set)
        except AlreadyOwnedError as error:
            self.report(cluster, refused(cluster, str(error)))
            return Result(requeue_after=RETRY_SECONDS)
        self.report(cluster, status_of(cluster, servers))
        return None

    def keep(self, cluster: RedisCluster, kind: type[P], made: Callable[[RedisCluster, P], P]) -> P:
        """Create or patch an owned object so that it matches `made`."""
        name = ObjectMeta(name=cluster.metadata.name, namespace=cluster.metadata.namespace)
        part, outcome = create_or_patch(
            self.client, kind(metadata=name), lambda found: made(cluster, set_controller_reference(cluster, found))
        )
        if outcome is not OperationResult.UNCHANGED:
            log.info("part written", extra={"kind": kind.__name__, "outcome": str(outcome)})
            self.recorder.event(cluster, "Normal", outcome.capitalize(), f"{kind.__name__} {outcome}")
        return part

    def report(self, cluster: RedisCluster, status: RedisClusterStatus) -> None:
        """Write the status if it changed."""
        if status != cluster.status:
            self.client.update_status(replace(cluster, status=status))

    def wind_down(self, cluster: RedisCluster) -> None:
        """Scale the servers down one after another, so that each can save its data, then remove the finalizer.

        Deleting a StatefulSet guarantees neither an order nor a grace period for its pods.
        """
        if not self.finalizer.is_on(cluster):
            return
        servers = self.client.find(StatefulSet, object_name(cluster))
        if servers is None or not is_controlled_by(servers, cluster) or has_ended(servers):
            self.finalizer.remove(cluster)
        elif servers.spec.replicas != 0:
            self.client.patch(servers, {"spec": {"replicas": 0}})

    def setup_with_manager(self, manager: Manager) -> Controller:
        """Register the controller with the manager."""
        building = ControllerBuilder(manager).for_(RedisCluster).owns(ConfigMap).owns(Service).owns(StatefulSet)
        return building.expecting(Conflict).complete(self)


def refused(cluster: RedisCluster, why: str) -> RedisClusterStatus:
    """Return the status of a cluster whose owned object has a conflicting name."""
    condition = Condition(
        type="Ready", status="False", reason="NameTaken", message=why, observed_generation=cluster.metadata.generation
    )
    return replace(
        cluster.status,
        observed_generation=cluster.metadata.generation,
        conditions=set_status_condition(cluster.status.conditions, condition),
    )
