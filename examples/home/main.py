"""Entry point of home: parses flags and runs the manager until a signal stops it."""

import argparse
import os
import sys
import threading
from collections.abc import Sequence

from clientgo.flags import address, parse_bool
from clientgo.log import FORMATS, LEVELS, setup
from clientgo.manager import CacheOptions, LeaderElectionOptions, Manager, Options, exit_code, stop_on_signals
from clientgo.meta.declarations import rbac
from clientgo.rest import load_config

from controllers.home_controller import HomeReconciler
from webhooks.server import add_webhook_flags, add_webhooks

# +clientgo:scaffold:imports


def parser() -> argparse.ArgumentParser:
    """Define the flags of the manager."""
    made = argparse.ArgumentParser(prog="home", description="Run the controllers of home.")
    add = made.add_argument
    add("--kubeconfig", default="", help="path to a kubeconfig (default: as kubectl, or the pod's service account)")
    add("--health-probe-bind-address", type=address, default=":8081", help="address of /healthz and /readyz (0: none)")
    add("--metrics-bind-address", type=address, default="0", help="address of /metrics (0: none)")
    add("--metrics-secure", type=parse_bool, default=True, metavar="BOOL", help="serve metrics over HTTPS, authorized")
    add("--metrics-cert-path", help="folder with tls.crt and tls.key for the metrics (default: self-signed)")
    add("--leader-elect", action="store_true", help="enable leader election: one active replica at a time")
    add("--log-level", choices=LEVELS, default="info", help="minimum level to log (default: %(default)s)")
    add("--log-format", choices=FORMATS, default="auto", help="log format (default: human on a terminal, else text)")
    add_webhook_flags(made)
    # +clientgo:scaffold:flags
    return made


def namespaces() -> tuple[str, ...]:
    """Return the namespaces to watch: the comma-separated WATCH_NAMESPACE, or () for all namespaces."""
    return tuple(name for name in os.environ.get("WATCH_NAMESPACE", "").split(",") if name)


@rbac(groups="core", resources="events", verbs=("create", "patch"))
def manager_of(options: argparse.Namespace) -> Manager:
    """Create the manager with all controllers, configured by the flags."""
    manager = Manager(
        load_config(kubeconfig=options.kubeconfig, hint="start a cluster: make cluster"),
        options=Options(
            name="home",
            cache=CacheOptions(namespaces=namespaces()),
            leader_election=LeaderElectionOptions(id="4ea14058.my.domain") if options.leader_elect else None,
            health_probe_bind_address=options.health_probe_bind_address,
            metrics_bind_address=options.metrics_bind_address,
            metrics_secure=options.metrics_secure,
            metrics_cert_dir=options.metrics_cert_path,
        ),
    )
    HomeReconciler(manager).setup_with_manager(manager)
    # +clientgo:scaffold:controllers
    add_webhooks(manager, options)
    # +clientgo:scaffold:webhooks
    return manager


def main(arguments: Sequence[str], stop: threading.Event) -> int:
    """Run the manager until `stop` is set, and return the exit code."""
    options = parser().parse_args(arguments)
    setup(level=options.log_level, style=options.log_format)
    return exit_code(lambda: manager_of(options).run(stop))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], stop_on_signals()))
