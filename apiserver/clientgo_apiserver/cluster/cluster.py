"""The controllers of a cluster, started together."""

from collections.abc import Iterable

from clientgo_apiserver.cluster.accounttokens import AccountTokenController
from clientgo_apiserver.cluster.addresses import AddressController
from clientgo_apiserver.cluster.aggregation import AggregationController
from clientgo_apiserver.cluster.availability import AvailabilityController
from clientgo_apiserver.cluster.budgets import DisruptionController
from clientgo_apiserver.cluster.cronjobs import CronJobController
from clientgo_apiserver.cluster.daemonsets import DaemonSetController
from clientgo_apiserver.cluster.definitions import DefinitionController
from clientgo_apiserver.cluster.deployments import DeploymentController
from clientgo_apiserver.cluster.endpoints import EndpointsController
from clientgo_apiserver.cluster.endpointsmirror import EndpointsMirror
from clientgo_apiserver.cluster.events import EventExpiry
from clientgo_apiserver.cluster.flowschemas import MANAGER as FLOW_CONTROL
from clientgo_apiserver.cluster.flowschemas import FlowSchemaController
from clientgo_apiserver.cluster.garbagecollector import GarbageCollector
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.jobs import JobController
from clientgo_apiserver.cluster.kubelet import KubeletSimulation
from clientgo_apiserver.cluster.namespaces import NamespaceContents, NamespaceController
from clientgo_apiserver.cluster.nodes import NodeSimulation
from clientgo_apiserver.cluster.owned import Owned
from clientgo_apiserver.cluster.policychecks import MANAGER as POLICY_CHECKS
from clientgo_apiserver.cluster.policychecks import PolicyCheckController
from clientgo_apiserver.cluster.protection import VolumeProtectionSimulation
from clientgo_apiserver.cluster.quotas import QuotaController
from clientgo_apiserver.cluster.replicasets import ReplicaSetController, ReplicationControllerController
from clientgo_apiserver.cluster.scheduler import SchedulerSimulation
from clientgo_apiserver.cluster.stages import Stage, StageController
from clientgo_apiserver.cluster.statefulsets import StatefulSetController
from clientgo_apiserver.cluster.volumes import VolumeBinder
from clientgo_apiserver.handlers.dispatch import Api

NODE_COUNT = 3
"""Nodes of a simulated cluster."""


def start_controllers(api: Api, *, simulate: bool, stages: Iterable[Stage]) -> None:
    """Start the controllers that every server has, and with `simulate` those that make pods exist and live.

    A bare server collects no garbage.
    """
    internal = Internal(api)
    for kind in (
        DefinitionController,
        NamespaceController,
        AggregationController,
        *(() if internal.state.options.bare else (GarbageCollector,)),
        QuotaController,
        EventExpiry,
    ):
        kind(internal).start()
    server = Internal(api, manager="kube-apiserver")
    AvailabilityController(server).start()
    if not internal.state.options.bare:
        AddressController(server).start()
    FlowSchemaController(Internal(api, manager=FLOW_CONTROL)).start()
    if simulate:
        _start_simulation(internal)
        PolicyCheckController(Internal(api, manager=POLICY_CHECKS)).start()
    if simulate or stages:
        StageController(internal, stages).start()


def _start_simulation(internal: Internal) -> None:
    internal.state.simulated = True
    ready_seconds = internal.state.options.ready_seconds
    NamespaceContents(internal).start()
    AccountTokenController(internal).start()
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
    EndpointsMirror(internal).start()
    DisruptionController(internal).start()
    NodeSimulation(internal, count=NODE_COUNT).start()
    VolumeBinder(internal).start()
    VolumeProtectionSimulation(internal).start()
