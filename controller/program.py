"""The controller on one cluster, from the connection to the last thread: informers, workers, coordination, servers."""

import logging
import signal
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from clientgo.cache.metrics import InformerName
from clientgo.coordination import coordination_options, coordinator_for
from clientgo.errors import ConfigError
from clientgo.kubernetes.clientset import Clientset as KubernetesClientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.program import collect_rarely, flag_values
from clientgo.record import EventBroadcaster, sink_for
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.body_log import show_bodies
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import Requester
from clientgo.serving import Diagnostics, keys_not_stuck, serve_diagnostics
from clientgo.serving.stacks import dump_stacks
from clientgo.stop import on_signals
from clientgo.typed.preflight import RequiredResource, wait_until_ready, warn_of_dropped_fields
from controller import COMPONENT
from controller.controller import Controller
from controller.options import Options
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory

STUCK_SECONDS = 1800.0
"""Seconds after which a worker with one Foo hangs, even if the API server rejects its requests.

A sync takes milliseconds. At worst each of its four requests is repeated ten times, with 32 s between, which is the
longest Retry-After of an API server, and the last one is not answered for 75 s: 1,580 s.
"""


def start(options: Options, stop: threading.Event) -> None:
    """Run on the cluster that the flags name, until `stop` is set.

    Raises:
        ConfigError: the configuration is invalid, or the cluster rejects the user.
        LeadershipLost: another replica may work now.
        StillRunning: workers did not end in time.
    """
    collect_rarely()
    on_signals([signal.SIGUSR1], lambda _: dump_stacks(sys.stderr))
    show_bodies(options.verbosity or 0)
    if not options.embedded:
        config = load_config(
            kubeconfig=options.kubeconfig,
            master=options.master,
            context=options.context,
            hint="give --kubeconfig FILE, or run without a cluster: --embedded",
        )
        run(config, options, stop)
        return
    # Loaded here, 17 ms: a controller on a real cluster needs no server.
    try:
        from controller.embedded import embedded_cluster  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError("--embedded needs the package clientgo-apiserver, which `make run` installs") from error
    with embedded_cluster(port=options.embedded_port) as config:
        run(config, options, stop)


def run(config: Config, options: Options, stop: threading.Event) -> None:
    """Run on a cluster, once it serves both kinds."""
    diagnostics = diagnostics_for(options, config)
    with (
        serve_diagnostics(diagnostics, stop),
        closing(RESTClient(replace(config, qps=options.qps, burst=options.burst), stop=stop)) as client,
    ):
        if wait_until_ready(config.host, requirements(client, options), stop):
            warn_of_dropped_fields(KubernetesClientset(client).discovery.version, Path(__file__).parent)
            control(config, client, options, diagnostics, stop)


def diagnostics_for(options: Options, config: Config) -> Diagnostics:
    """Return the checks and pages; metrics count what is created from now on."""
    diagnostics = Diagnostics(options, config, component=COMPONENT, flags=flag_values(options))
    diagnostics.alive["workers"] = keys_not_stuck(diagnostics.queues, seconds=STUCK_SECONDS)
    return diagnostics


def requirements(client: Requester, options: Options) -> list[RequiredResource]:
    """Return the kinds that the cluster must serve."""
    namespace = options.namespaces[0] if options.namespaces else ""
    foos = Clientset(client).samplecontroller_v1alpha1.foos(namespace)
    deployments = KubernetesClientset(client).apps_v1.deployments(namespace)
    install = "install the CRD with kubectl apply -k artifacts/crd"
    grant = "grant it with kubectl apply -k artifacts/rbac, or use --namespace"
    return [
        RequiredResource("foos.samplecontroller.k8s.io", lambda: foos.list(limit=1), install, grant),
        RequiredResource("deployments.apps", lambda: deployments.list(limit=1), grant=grant),
    ]


def control(
    config: Config, client: Requester, options: Options, diagnostics: Diagnostics, stop: threading.Event
) -> None:
    """Sync Foos until `stop` is set; then let workers finish, send the queued events, and end every thread.

    Caches are filled before this replica may work, so that a standby takes over at once.
    """
    name, resync, spaces = InformerName(COMPONENT), options.resync_period, options.namespaces
    kube_informers = KubernetesInformerFactory(KubernetesClientset(client), resync=resync, namespace=spaces, name=name)
    foo_informers = SharedInformerFactory(Clientset(client), resync=resync, namespace=spaces, name=name)
    broadcaster = EventBroadcaster()
    recorder = broadcaster.new_recorder(component=COMPONENT)
    with coordinator_for(coordination_options(options), config, recorder=recorder) as coordinator:
        writer = FencedRequester(client, coordinator.may_write)
        broadcaster.start_recording_to_sink(sink_for(writer))
        deployments, foos = kube_informers.apps.v1.deployments, foo_informers.samplecontroller.v1alpha1.foos
        apps, samplecontroller = KubernetesClientset(writer).apps_v1, Clientset(writer).samplecontroller_v1alpha1
        controller = Controller(apps, samplecontroller, deployments, foos, recorder, coordinator=coordinator)
        diagnostics.add_controller(controller.queue, controller.attempts, foos.informer.indexer.__contains__)
        diagnostics.add_events(broadcaster)
        diagnostics.add_informers(lambda: (deployments.informer, foos.informer))
        diagnostics.alive["leaderElection"] = coordinator.check
        diagnostics.facts["Coordination"] = coordinator.describe

        def work(over: threading.Event) -> None:
            try:
                controller.run(options.workers, over, grace=options.graceful_shutdown_timeout)
            finally:
                # Here, because events may be sent only as long as the lease is held.
                broadcaster.shutdown()

        kube_informers.start(stop)
        foo_informers.start(stop)
        try:
            coordinator.run(work, stop)
        finally:
            stop.set()
            broadcaster.shutdown()
            kube_informers.shutdown(timeout=options.graceful_shutdown_timeout)
            foo_informers.shutdown(timeout=options.graceful_shutdown_timeout)
            name.release()
            logging.getLogger(COMPONENT).info("stopped")
