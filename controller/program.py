"""The controller on one cluster, from the connection to the last thread: informers, controller, turns, servers."""

import gc
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from clientgo.cache.identity import InformerName
from clientgo.errors import ConfigError
from clientgo.kubernetes.clientset import Clientset as KubernetesClientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.record import EventBroadcaster, sink_for
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.bodies import show_bodies
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import Requester
from clientgo.serving.stacks import dump_stacks
from controller.component import COMPONENT
from controller.controller import Controller
from controller.exhibits import Exhibits
from controller.options import Options
from controller.preflight import Check, wait_until_ready
from controller.replicas import turn_of
from controller.serving import showing
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory

log = logging.getLogger("sample-controller")


def start(options: Options, stop: threading.Event) -> None:
    """Run on the cluster the flags name, until `stop` is set.

    Raises:
        ConfigError: there is no such cluster, or it is not the user's to use.
        LeadershipLost: another replica may work now.
        StillRunning: workers did not end in time.
    """
    # Cached objects hold no cycles, and walking them all again and again is half the cost of a long list.
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    # Where every thread is, for whoever wonders why nothing happens.
    signal.signal(signal.SIGUSR1, lambda *_: dump_stacks(sys.stderr))
    show_bodies(options.verbosity or 0)
    if options.embedded:
        run_embedded(options, stop)
    else:
        run(load_config(kubeconfig=options.kubeconfig, master=options.master, context=options.context), options, stop)


def run_embedded(options: Options, stop: threading.Event) -> None:
    """Run on an API server of our own."""
    try:
        # Loaded here because a controller on a real cluster needs neither the server nor its libraries.
        from controller.embedded import Embedded  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--embedded needs the bundled API server's libraries ({error.name} is missing): "
            "install them with pip install 'clientgo[embedded]'"
        ) from error

    embedded = Embedded(port=options.embedded_port)
    try:
        config = embedded.start()
        print(embedded.guide(config), flush=True)  # noqa: T201  # for a person, beside the log
        run(config, options, stop)
    finally:
        embedded.stop()


def run(config: Config, options: Options, stop: threading.Event) -> None:
    """Run on a cluster."""
    with (
        showing(options, config, stop) as exhibits,
        closing(RESTClient(replace(config, qps=options.qps, burst=options.burst), stop=stop)) as client,
    ):
        kinds = checks(KubernetesClientset(client), Clientset(client), options.namespaces)
        if wait_until_ready(config.host, kinds, stop):
            control(config, client, options, exhibits, stop)


def checks(kube: KubernetesClientset, foos: Clientset, namespaces: Sequence[str]) -> list[Check]:
    """What must be there before the controller starts: both of its kinds, listable."""
    first = namespaces[0] if namespaces else ""
    return [
        ("foos.samplecontroller.k8s.io", lambda: foos.samplecontroller_v1alpha1.foos(first).list(limit=1)),
        ("deployments.apps", lambda: kube.apps_v1.deployments(first).list(limit=1)),
    ]


def control(config: Config, client: Requester, options: Options, exhibits: Exhibits, stop: threading.Event) -> None:
    """Sync Foos until `stop` is set; then let workers finish, send what events wait, and end every thread.

    Caches are filled before it is this replica's turn, so that a stand-by takes over at once.
    """
    name, resync, spaces = InformerName(COMPONENT), options.resync_period, options.namespaces
    kube_informers = KubernetesInformerFactory(KubernetesClientset(client), resync=resync, namespace=spaces, name=name)
    foo_informers = SharedInformerFactory(Clientset(client), resync=resync, namespace=spaces, name=name)
    broadcaster = EventBroadcaster()
    recorder = broadcaster.new_recorder(component=COMPONENT)
    with turn_of(options, config, recorder) as turn:
        writer = FencedRequester(client, turn.may_write)
        broadcaster.start_recording_to_sink(sink_for(writer))
        deployments, foos = kube_informers.apps.v1.deployments, foo_informers.samplecontroller.v1alpha1.foos
        apps, samplecontroller = KubernetesClientset(writer).apps_v1, Clientset(writer).samplecontroller_v1alpha1
        controller = Controller(apps, samplecontroller, deployments, foos, recorder, turn=turn)
        exhibits.show(controller.queue, deployments.informer, foos.informer, turn=turn)

        def work(over: threading.Event) -> None:
            try:
                controller.run(options.workers, over, grace=options.graceful_shutdown_timeout)
            finally:
                # Here, because events may be sent only as long as the lease is held.
                broadcaster.shutdown()

        kube_informers.start(stop)
        foo_informers.start(stop)
        try:
            turn.run(work, stop)
        finally:
            stop.set()
            broadcaster.shutdown()
            kube_informers.shutdown(timeout=options.graceful_shutdown_timeout)
            foo_informers.shutdown(timeout=options.graceful_shutdown_timeout)
            name.release()
            log.info("stopped")
