"""Command line of the sample controller."""

from collections.abc import Sequence
from dataclasses import dataclass

from clientgo.program import (
    CLUSTER,
    LEASES,
    ClientFlags,
    FlagParser,
    LoggingFlags,
    ServingFlags,
    ShardingFlags,
    flag,
    port,
    positive,
    seconds,
)
from controller import COMPONENT

CONTROLLER = "controller"


@dataclass(frozen=True)
class Options(LoggingFlags, ServingFlags, ShardingFlags, ClientFlags):
    """Flags of the controller; all times are seconds."""

    embedded: bool = flag(False, "start the bundled API server instead of connecting to a cluster", group=CLUSTER)
    embedded_port: int = flag(0, "its port (default: a free one)", group=CLUSTER, metavar="PORT", type=port)
    leader_elect_resource_name: str = flag(
        COMPONENT, f"name of the Lease (default: {COMPONENT})", group=LEASES, metavar="NAME"
    )
    shard_lease_prefix: str = flag(
        COMPONENT, f"prefix of the shards' Leases (default: {COMPONENT})", group=LEASES, metavar="PREFIX"
    )
    workers: int = flag(2, "Foos synced concurrently (default: 2)", group=CONTROLLER, metavar="N", type=positive)
    resync_period: float = flag(
        30.0,
        "time between syncs of every Foo; 0 for never (default: 30s)",
        group=CONTROLLER,
        metavar="TIME",
        type=seconds,
    )
    graceful_shutdown_timeout: float = flag(
        30.0, "time for workers to finish at shutdown (default: 30s)", group=CONTROLLER, metavar="TIME", type=seconds
    )


def parse(arguments: Sequence[str]) -> Options:
    """Return the options; invalid flags exit the program with its usage."""
    parser = FlagParser(Options, prog="main.py", description="The sample controller: one Deployment for each Foo.")
    options = parser.parse(arguments)
    if options.leader_elect and options.shard_count:
        parser.error("--leader-elect lets one replica work and --shard-count several: give one of them")
    return options
