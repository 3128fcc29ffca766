"""Programs around a manager: the flags of Kubernetes controllers, logging, signals and the exit code.

    if __name__ == "__main__":
        run(GreetingReconciler)

`python greeter.py --help` lists the flags. `run` also accepts functions of the manager and the flags, which add
webhooks, clusters, checks, and reconcilers with parameters.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from clientgo.coordination import leader_election_options
from clientgo.errors import ConfigError
from clientgo.manager.controllers import check_signature
from clientgo.manager.manager import Manager
from clientgo.manager.options import ClusterOptions, Options
from clientgo.manager.reconciler import Reconciler
from clientgo.manager.sources import KindSource
from clientgo.meta.scheme import api_of
from clientgo.program.commandline import (
    ClientFlags,
    FlagParser,
    LeaderElectionFlags,
    LoggingFlags,
    ServingFlags,
    flag,
    flag_values,
)
from clientgo.program.flags import positive, seconds
from clientgo.program.main import collect_rarely, run_program
from clientgo.rest import Config, load_config
from clientgo.rest.body_log import show_bodies
from clientgo.typed.preflight import RequiredResource, wait_until_ready

CONTROLLERS = "controllers"


@dataclass(frozen=True)
class ManagerFlags(LoggingFlags, ServingFlags, LeaderElectionFlags, ClientFlags):
    """Flags of a program around a manager; times are seconds."""

    workers: int | None = flag(
        None, "objects reconciled concurrently by each controller", group=CONTROLLERS, metavar="N", type=positive
    )
    graceful_shutdown_timeout: float = flag(
        30.0, "time for workers to finish at shutdown (default: 30s)", group=CONTROLLERS, metavar="TIME", type=seconds
    )

    def options(self, cluster: ClusterOptions) -> Options:
        """Return the options of the manager: these flags, and `cluster` for what has no flags."""
        cluster_values = {field.name: getattr(cluster, field.name) for field in fields(ClusterOptions)}
        if self.namespaces:
            cluster_values["cache"] = replace(cluster.cache, namespaces=self.namespaces, namespace_selector="")
        return Options(
            **cluster_values,
            leader_election=leader_election_options(self, cluster.name),
            workers=self.workers,
            metrics_bind_address=self.metrics_bind_address,
            metrics_secure=self.metrics_secure,
            metrics_cert_dir=self.metrics_cert_dir,
            health_probe_bind_address=self.health_probe_bind_address,
            reconcile_history=self.reconcile_history,
            flags=flag_values(self),
            graceful_shutdown_timeout=self.graceful_shutdown_timeout,
        )

    def config(self, hint: str = "") -> Config:
        """Return the connection to the cluster that the flags name; `hint` is another remedy if there is none.

        Raises:
            ConfigError: there is none, or it is invalid.
        """
        hint = f"give --kubeconfig FILE{', or ' if hint else ''}{hint}"
        config = load_config(kubeconfig=self.kubeconfig, master=self.master, context=self.context, hint=hint)
        return replace(config, qps=self.qps, burst=self.burst)


F = TypeVar("F", bound=ManagerFlags)


def run(
    *setups: type[Reconciler[Any]] | Callable[[Manager, F], object],
    name: str = "",
    options: ClusterOptions | None = None,
    flags: F | None = None,
    hint: str = "",
    arguments: Sequence[str] | None = None,
) -> NoReturn:
    """Run reconcilers as a program until SIGINT or SIGTERM, and exit with its exit code. For the main thread.

    A setup is a class, or a function of the manager and the flags, which adds further parts: `add(manager, flags)`.
    `name` identifies the program in the cluster, as field manager and as name of its Lease, and must not change between
    releases; the default is the name of the script. `options` are what has no flags, such as what is cached:
    `ClusterOptions(cache=CacheOptions(...))`. `flags` have the defaults of the flags, and may be of a subclass with
    further flags; `hint` tells how to get a cluster if none is configured; `arguments` are the command line.
    """
    cluster = named_options(options, name, Path(sys.argv[0]).stem)
    parser = FlagParser(
        flags if flags is not None else cast("F", ManagerFlags()),  # no function can expect other flags then
        prog=Path(sys.argv[0]).name,
        description=f"Run the controllers of {cluster.name}.",
    )
    parsed = parser.parse(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run_program(lambda flags, stop: run_manager(setups, flags, flags.config(hint), cluster, stop), parsed))


def named_options(options: ClusterOptions | None, name: str, default: str) -> ClusterOptions:
    """Return the options of the cluster with the name of the program, which either argument may give.

    Raises:
        ConfigError: they give different names, or options that are flags.
    """
    if isinstance(options, Options):
        raise ConfigError("invalid options: expected ClusterOptions(...), as the other options of a manager are flags")
    cluster = options if options is not None else ClusterOptions()
    if name and cluster.name not in ("", name):
        raise ConfigError(f"the program has two names, {name!r} and that of its options, {cluster.name!r}: give one")
    return replace(cluster, name=name or cluster.name or default)


def run_manager(
    setups: Sequence[type[Reconciler[Any]] | Callable[[Manager, F], object]],
    flags: F,
    config: Config,
    options: ClusterOptions,
    stop: threading.Event,
) -> None:
    """Run the parts with one manager until `stop` is set, once the cluster serves the kinds they watch.

    Raises:
        ConfigError: the configuration is invalid, or the cluster rejects the user.
        LeadershipLost: another replica may work now.
        StillRunning: workers did not end in time.
    """
    collect_rarely()
    show_bodies(flags.verbosity or 0)
    with closing(Manager(config, options=flags.options(options))) as manager:
        for part in setups:
            if isinstance(part, type):
                manager.add_reconciler(part)
            else:
                check_signature(part, "manager", "flags")
                part(manager, flags)
        if wait_until_ready(config.host, required_resources(manager), stop):
            manager.run(stop)


def required_resources(manager: Manager) -> list[RequiredResource]:
    """Return the kinds that the manager's controllers watch in its own cluster."""
    sources = [source for controller in manager.controllers for source in controller.sources]
    kinds = [source.kind for source in sources if isinstance(source, KindSource) and source.cache is manager.cache]
    namespaces = manager.options.cache.namespaces
    return [
        RequiredResource(
            api_of(kind).gvr.group_resource,
            partial(
                manager.api_reader.list,
                kind,
                limit=1,
                namespace=namespaces[0] if namespaces and api_of(kind).namespaced else "",
            ),
        )
        for kind in dict.fromkeys(kinds)
    ]
