"""The sample controller as a program to perturb, wired as in `controller.program`, and its scenario."""

import threading
from functools import partial

from clientgo.clock import Clock
from clientgo.coordination import Coordinator, LeaderElectionOptions, ShardingOptions, coordinator_for
from clientgo.kubernetes.clientset import Clientset as KubernetesClientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.meta import ObjectMeta
from clientgo.perturb import Scenario, Standalone, change, create, delete
from clientgo.record import EventBroadcaster, sink_for
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import Requester
from controller import COMPONENT
from controller.api.v1alpha1 import Foo, FooSpec
from controller.controller import Controller
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory

FOO = Foo(metadata=ObjectMeta(name="a", namespace="default"), spec=FooSpec(deployment_name="a", replicas=1))
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}


# Seldom renewed, because each renewal costs a run time; shorter than the settle time, so that a lease expires in it.
SHARDS = ShardingOptions(count=2, lease_prefix=COMPONENT, lease_duration=30.0, renew_deadline=20.0, retry_period=10.0)
LEADER = LeaderElectionOptions(id=COMPONENT, lease_duration=30.0, renew_deadline=20.0, retry_period=10.0)


def run_sample(
    requester: Requester,
    clock: Clock,
    stop: threading.Event,
    options: ShardingOptions | LeaderElectionOptions | None = None,
) -> None:
    """Run the controller with two workers until `stop` is set, as one of several replicas if `options` say so."""
    with coordinator_for(options, requester, clock=clock) as coordinator:
        writer = FencedRequester(requester, coordinator.may_write)
        coordinator.run(lambda over: run_controller(requester, writer, clock, over, coordinator), stop)


def run_controller(
    requester: Requester, writer: Requester, clock: Clock, stop: threading.Event, coordinator: Coordinator
) -> None:
    """Run informers, workers and the event recorder until `stop` is set."""
    kube, foos = KubernetesClientset(requester), Clientset(requester)
    kube_informers = KubernetesInformerFactory(kube, clock=clock)
    foo_informers = SharedInformerFactory(foos, clock=clock)
    broadcaster = EventBroadcaster(clock=clock)
    recorder = broadcaster.new_recorder(component=COMPONENT)
    broadcaster.start_recording_to_sink(sink_for(writer))
    controller = Controller(
        KubernetesClientset(writer).apps_v1,
        Clientset(writer).samplecontroller_v1alpha1,
        kube_informers.apps.v1.deployments,
        foo_informers.samplecontroller.v1alpha1.foos,
        recorder,
        coordinator=coordinator,
        clock=clock,
    )
    kube_informers.start(stop)
    foo_informers.start(stop)
    try:
        controller.run(2, stop)
    finally:
        broadcaster.shutdown()


STEPS = [
    create(FOO),
    change(FOO, {"spec": {"replicas": 3}}),
    delete(DEPLOYMENT),
    change(FOO, {"spec": {"deploymentName": "b"}}),
    delete(FOO),
    create(FOO),
    delete(FOO),
]
SAMPLE, SHARDED, ELECTED = (
    Scenario(Standalone(partial(run_sample, options=options)), STEPS, name=name, crds=["artifacts/crd"])
    for name, options in (("sample", None), ("sharded", SHARDS), ("elected", LEADER))
)
