"""The sample controller's program: flags, configuration, clients, informers, controller."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import FrameType

from clientgo.errors import ClientGoError, ConfigError
from clientgo.kubernetes.clientset import Clientset as KubernetesClientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.log import setup
from clientgo.record import EventBroadcaster, sink_for
from clientgo.rest import Config, RESTClient, load_config
from controller.controller import COMPONENT, Controller
from controller.options import Options, parse
from controller.preflight import Check, wait_until_ready
from generated.clientset import Clientset
from generated.informers import SharedInformerFactory

log = logging.getLogger("sample-controller")

GRACE_SECONDS = 10.0
"""From the first signal to the end, workers' current Foos and waiting events included."""


def main(arguments: Sequence[str]) -> int:
    """Run until a signal; returns the exit code."""
    options = parse(arguments)
    setup(level=options.log_level, style=options.log_format)
    stop = stop_on_signals()
    try:
        if options.embedded:
            return run_embedded(options, stop)
        config = load_config(kubeconfig=options.kubeconfig, master=options.master, context=options.context)
        return run(config, options, stop)
    except (ClientGoError, OSError) as error:
        log.error(str(error))
        return 1


def run_embedded(options: Options, stop: threading.Event) -> int:
    """Run on an API server of our own."""
    try:
        # Imported here because a controller on a real cluster needs neither the server nor its libraries.
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
        return run(config, options, stop)
    finally:
        embedded.stop()


def run(config: Config, options: Options, stop: threading.Event) -> int:
    """Run on a cluster; returns the exit code."""
    client = RESTClient(replace(config, qps=options.qps, burst=options.burst), stop=stop)
    kube, foos = KubernetesClientset(client), Clientset(client)
    try:
        if wait_until_ready(config.host, checks(kube, foos, options.namespaces), stop):
            control(kube, foos, options, stop)
        return 0
    finally:
        client.close()


def checks(kube: KubernetesClientset, foos: Clientset, namespaces: Sequence[str]) -> list[Check]:
    """What must be there before the controller starts: both of its kinds, listable."""
    first = namespaces[0] if namespaces else ""
    return [
        ("foos.samplecontroller.k8s.io", lambda: foos.samplecontroller_v1alpha1.foos(first).list(limit=1)),
        ("deployments.apps", lambda: kube.apps_v1.deployments(first).list(limit=1)),
    ]


def control(kube: KubernetesClientset, foos: Clientset, options: Options, stop: threading.Event) -> None:
    """Sync Foos until `stop` is set; then let workers finish, send what events wait, and end every thread."""
    resync, namespaces = options.resync_period, options.namespaces
    kube_informers = KubernetesInformerFactory(kube, resync=resync, namespace=namespaces)
    foo_informers = SharedInformerFactory(foos, resync=resync, namespace=namespaces)
    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(sink_for(kube))
    controller = Controller(
        kube.apps_v1,
        foos.samplecontroller_v1alpha1,
        kube_informers.apps.v1.deployments,
        foo_informers.samplecontroller.v1alpha1.foos,
        broadcaster.new_recorder(component=COMPONENT),
    )
    kube_informers.start(stop)
    foo_informers.start(stop)
    try:
        controller.run(options.workers, stop)
    finally:
        stop.set()
        broadcaster.shutdown()
        kube_informers.shutdown(timeout=GRACE_SECONDS)
        foo_informers.shutdown(timeout=GRACE_SECONDS)
        log.info("stopped")


def stop_on_signals() -> threading.Event:
    """An event that the first SIGINT or SIGTERM sets; the second ends the program at once, with exit code 1."""
    stop = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            os._exit(1)
        # Set first: the second signal may come while the first is still being told of.
        stop.set()
        log.info("stopping; once more to stop at once", extra={"signal": signal.Signals(number).name})

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return stop


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
