"""The manager of ippool: flags, then its controllers, until a signal ends it."""

import argparse
import os
import sys
import threading
from collections.abc import Sequence

from clientgo.flags import address
from clientgo.log import FORMATS, LEVELS, setup
from clientgo.manager import CacheOptions, LeaderElectionOptions, Manager, Options, exit_code, stop_on_signals
from clientgo.meta.declarations import rbac
from clientgo.rest import load_config

from controllers.ippool_controller import IPPoolReconciler

# +clientgo:scaffold:imports


def parser() -> argparse.ArgumentParser:
    """The flags that the manager has."""
    made = argparse.ArgumentParser(prog="ippool", description="Run the controllers of ippool.")
    add = made.add_argument
    add("--kubeconfig", default="", help="how to reach the cluster; by default as kubectl does, or from within a pod")
    add("--health-probe-bind-address", type=address, default=":8081", help="where /healthz and /readyz are; 0: nowhere")
    add("--metrics-bind-address", type=address, default="0", help="where /metrics is; 0: nowhere")
    add("--metrics-secure", type=truth, default=True, metavar="BOOL", help="metrics by HTTPS, to whom the cluster says")
    add("--metrics-cert-path", help="folder with tls.crt and tls.key for the metrics; by default one is made")
    add("--leader-elect", action="store_true", help="let one replica work at a time")
    add("--log-level", choices=LEVELS, default="info", help="what is logged at least (default: %(default)s)")
    add("--log-format", choices=FORMATS, default="text", help="how it is logged (default: %(default)s)")
    # +clientgo:scaffold:flags
    return made


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def namespaces() -> tuple[str, ...]:
    """The namespaces to watch: those in WATCH_NAMESPACE, parted by commas; none for all of them."""
    return tuple(name for name in os.environ.get("WATCH_NAMESPACE", "").split(",") if name)


@rbac(groups="core", resources="events", verbs=("create", "patch"))
def manager_of(options: argparse.Namespace) -> Manager:
    """The manager that the flags ask for, with every controller."""
    manager = Manager(
        load_config(kubeconfig=options.kubeconfig),
        options=Options(
            name="ippool",
            cache=CacheOptions(namespaces=namespaces()),
            leader_election=LeaderElectionOptions(id="825129ac.tiduyun.com") if options.leader_elect else None,
            health_probe_bind_address=options.health_probe_bind_address,
            metrics_bind_address=options.metrics_bind_address,
            metrics_secure=options.metrics_secure,
            metrics_cert_dir=options.metrics_cert_path,
        ),
    )
    IPPoolReconciler(manager).setup_with_manager(manager)
    # +clientgo:scaffold:controllers
    # +clientgo:scaffold:webhooks
    return manager


def main(arguments: Sequence[str], stop: threading.Event) -> int:
    """Run until `stop` is set; returns the exit code."""
    options = parser().parse_args(arguments)
    setup(level=options.log_level, style=options.log_format)
    return exit_code(lambda: manager_of(options).run(stop))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], stop_on_signals()))
