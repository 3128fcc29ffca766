"""The controllers of a cluster with pods, started together."""

from clientgo_apiserver.cluster.budgets import DisruptionController
from clientgo_apiserver.cluster.cronjobs import CronJobController
from clientgo_apiserver.cluster.daemonsets import DaemonSetController
from clientgo_apiserver.cluster.deployments import DeploymentController
from clientgo_apiserver.cluster.endpoints import EndpointsController
from clientgo_apiserver.cluster.jobs import JobController
from clientgo_apiserver.cluster.kubelet import KubeletSimulation
from clientgo_apiserver.cluster.nodes import NodeSimulation
from clientgo_apiserver.cluster.owned import Owned
from clientgo_apiserver.cluster.replicasets import ReplicaSetController, ReplicationControllerController
from clientgo_apiserver.cluster.scheduler import SchedulerSimulation
from clientgo_apiserver.cluster.statefulsets import StatefulSetController
from clientgo_apiserver.internal import Internal

NODE_COUNT = 3
"""Nodes of a simulated cluster."""


def start_cluster(internal: Internal, *, ready_seconds: float) -> None:
    """Start everything that makes pods exist and live."""
    owned = Owned(internal.state.store)
    for kind in (
        ReplicaSetController,
        ReplicationControllerController,
        DeploymentController,
        StatefulSetController,
        DaemonSetController,
        JobController,
        CronJobController,
    ):
        kind(internal, owned).start()
    SchedulerSimulation(internal).start()
    KubeletSimulation(internal, ready_seconds=ready_seconds).start()
    EndpointsController(internal).start()
    DisruptionController(internal).start()
    NodeSimulation(internal, count=NODE_COUNT).start()
