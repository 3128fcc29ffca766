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
    OperationResult,
    Reconciler,
    Result,
    create_or_patch,
    set_controller_reference,
    set_status_condition,
)
from clientgo.meta import is_controlled_by, meta_for, object_name, replace
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
class RedisClusterReconciler(
    Reconciler[RedisCluster], owns=[ConfigMap, Service, StatefulSet], finalizer=FINALIZER, expected=[Conflict]
):
    """Reconciles RedisCluster objects: brings the cluster to the state that their specs describe."""

    def reconcile(self, cluster: RedisCluster) -> Result | None:
        """Reconcile one object; raised exceptions are retried with backoff."""
        try:
            self.keep(cluster, ConfigMap, config_map)
            self.keep(cluster, Service, service)
            servers = self.keep(cluster, StatefulSet, stateful_set)
        except AlreadyOwnedError as error:
            self.report(cluster, refused(cluster, str(error)))
            return Result(requeue_after=RETRY_SECONDS)
        self.report(cluster, status_of(cluster, servers))
        return None

    def keep(self, cluster: RedisCluster, kind: type[P], build: Callable[[RedisCluster, P], P]) -> P:
        """Create or patch an owned object so that it matches `made`."""
        part, outcome = create_or_patch(
            self.client,
            kind(metadata=meta_for(cluster)),
            lambda existing: build(cluster, set_controller_reference(cluster, existing)),
        )
        if outcome is not OperationResult.UNCHANGED:
            log.info("part written", extra={"kind": kind.__name__, "outcome": str(outcome)})
            self.recorder.event(cluster, "Normal", outcome.capitalize(), f"{kind.__name__} {outcome}")
        return part

    def report(self, cluster: RedisCluster, status: RedisClusterStatus) -> None:
        """Write the status if it changed."""
        if status != cluster.status:
            self.client.update_status(replace(cluster, status=status))

    def finalize(self, cluster: RedisCluster) -> Result | None:
        """Scale the servers down one after another, so that each can save its data.

        Deleting a StatefulSet guarantees neither an order nor a grace period for its pods.
        """
        servers = self.client.find(StatefulSet, object_name(cluster))
        if servers is None or not is_controlled_by(servers, cluster) or has_ended(servers):
            return None
        if servers.spec.replicas != 0:
            self.client.patch(servers, {"metadata": {"uid": servers.metadata.uid}, "spec": {"replicas": 0}})
        return Result()  # not yet: the StatefulSet's changes lead here again


def refused(cluster: RedisCluster, reason: str) -> RedisClusterStatus:
    """Return the status of a cluster whose owned object has a conflicting name."""
    condition = Condition(
        type="Ready",
        status="False",
        reason="NameTaken",
        message=reason,
        observed_generation=cluster.metadata.generation,
    )
    return replace(
        cluster.status,
        observed_generation=cluster.metadata.generation,
        conditions=set_status_condition(cluster.status.conditions, condition),
    )
