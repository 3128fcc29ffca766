"""The sample controller as a program to perturb, wired as in `controller.program`, and its scenario."""

import threading

from clientgo.clock import Clock
from clientgo.kubernetes.clientset import Clientset as KubernetesClientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.meta import ObjectMeta
from clientgo.perturb import Scenario, Standalone, change, create, delete
from clientgo.record import EventBroadcaster, sink_for
from clientgo.rest.request import Requester
from controller import COMPONENT
from controller.api.v1alpha1 import Foo, FooSpec
from controller.controller import Controller
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory

FOO = Foo(metadata=ObjectMeta(name="a", namespace="default"), spec=FooSpec(deployment_name="a", replicas=1))
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}


def run_sample(requester: Requester, clock: Clock, stop: threading.Event) -> None:
    """Run the controller with two workers until `stop` is set."""
    kube, foos = KubernetesClientset(requester), Clientset(requester)
    kube_informers = KubernetesInformerFactory(kube, clock=clock)
    foo_informers = SharedInformerFactory(foos, clock=clock)
    broadcaster = EventBroadcaster(clock=clock)
    recorder = broadcaster.new_recorder(component=COMPONENT)
    broadcaster.start_recording_to_sink(sink_for(requester))
    controller = Controller(
        kube.apps_v1,
        foos.samplecontroller_v1alpha1,
        kube_informers.apps.v1.deployments,
        foo_informers.samplecontroller.v1alpha1.foos,
        recorder,
        clock=clock,
    )
    kube_informers.start(stop)
    foo_informers.start(stop)
    try:
        controller.run(2, stop)
    finally:
        broadcaster.shutdown()


SAMPLE = Scenario(
    Standalone(run_sample),
    [
        create(FOO),
        change(FOO, {"spec": {"replicas": 3}}),
        delete(DEPLOYMENT),
        change(FOO, {"spec": {"deploymentName": "b"}}),
        delete(FOO),
        create(FOO),
        delete(FOO),
    ],
    name="sample",
    crds=["artifacts/crd"],
)
