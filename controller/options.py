"""The command line: which cluster, how many workers and replicas, what is served, what is logged."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from clientgo.flags import Address, address, amount, natural, port, positive, seconds
from clientgo.log import FORMATS, LEVELS
from controller.component import COMPONENT


@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """Whether, and by which Lease, replicas elect the one that works; seconds where times are meant."""

    leader_elect: bool
    leader_elect_lease_duration: float
    leader_elect_renew_deadline: float
    leader_elect_retry_period: float
    leader_elect_resource_name: str
    leader_elect_resource_namespace: str


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """What is served to those who watch over the controller; None means that nothing listens."""

    metrics_bind_address: Address | None
    metrics_secure: bool | None
    metrics_cert_dir: str | None
    health_probe_bind_address: Address | None


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags said; seconds where times are meant."""

    kubeconfig: str | None
    master: str | None
    context: str | None
    namespaces: tuple[str, ...]
    embedded: bool
    embedded_port: int
    workers: int
    resync_period: float
    graceful_shutdown_timeout: float
    qps: float
    burst: int
    shard_count: int
    shard_lease_prefix: str
    election: ElectionOptions
    serving: ServingOptions
    log_level: str
    log_format: str
    verbosity: int | None


def parse(arguments: Sequence[str]) -> Options:
    """Read the flags; a wrong one ends the program with its usage, as argparse does."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.leader_elect and given.shard_count:
        parser.error("--leader-elect lets one replica work and --shard-count several: give one of them")
    given.namespaces = tuple(dict.fromkeys(given.namespace or ()))
    given.election = _part(ElectionOptions, given)
    given.serving = _part(ServingOptions, given)
    return _part(Options, given)


def _fields(part: ElectionOptions | ServingOptions) -> dict[str, object]:
    # Not asdict, which would take addresses apart.
    return {field.name: getattr(part, field.name) for field in fields(part)}


def as_flags(options: Options) -> dict[str, object]:
    """The flags by their names, for a person to read."""
    found: dict[str, object] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        part = {field.name: value} if not isinstance(value, ElectionOptions | ServingOptions) else _fields(value)
        found.update({name.replace("_", "-"): "" if given is None else given for name, given in part.items()})
    return found


T = TypeVar("T", ElectionOptions, ServingOptions, Options)


def _part(part: type[T], given: argparse.Namespace) -> T:
    return part(**{field.name: getattr(given, field.name) for field in fields(part)})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="main.py", description="The sample controller: one Deployment for each Foo.", allow_abbrev=False
    )
    _cluster(parser.add_argument_group("which cluster"))
    _work(parser.add_argument_group("how it works"))
    _replicas(parser.add_argument_group("with other replicas"))
    _serving(parser.add_argument_group("what is served", "HOST:PORT, :PORT for every interface, 0 for none"))
    logs = parser.add_argument_group("what is logged")
    logs.add_argument("--log-level", choices=LEVELS, default="info", help="(default: info)")
    logs.add_argument(
        "-v",
        dest="verbosity",
        metavar="N",
        type=natural,
        help="the level as a number, as Kubernetes' programs have it: 4 for debug, 8 and more for requests' bodies too",
    )
    logs.add_argument("--log-format", choices=FORMATS, default="text", help="(default: text)")
    return parser


def _cluster(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig to use (default: $KUBECONFIG, then the cluster this runs in, then ~/.kube/config)",
    )
    group.add_argument("--master", metavar="URL", help="address of the API server, in place of the kubeconfig's")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: its current one)")
    group.add_argument(
        "--namespace", metavar="NAME", action="append", help="namespace to watch; may be repeated (default: all)"
    )
    group.add_argument("--embedded", action="store_true", help="need no cluster: start an API server of our own")
    group.add_argument("--embedded-port", metavar="PORT", type=port, default=0, help="its port (default: any free one)")


def _work(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--workers", metavar="N", type=positive, default=2, help="Foos synced at once (default: 2)")
    group.add_argument(
        "--resync-period",
        metavar="TIME",
        type=seconds,
        default=30.0,
        help="look at every Foo again this often; 0 for never (default: 30s)",
    )
    group.add_argument(
        "--graceful-shutdown-timeout",
        metavar="TIME",
        type=seconds,
        default=30.0,
        help="how long workers may take to finish the Foos they are at (default: 30s)",
    )
    group.add_argument(
        "--qps", metavar="N", type=amount, default=0.0, help="requests a second at most; 0 for no limit (default: 0)"
    )
    group.add_argument("--burst", metavar="N", type=positive, default=10, help="requests beyond --qps at once")


def _replicas(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--leader-elect", action="store_true", help="work only while this replica holds the lease")
    for flag, default, text in (
        ("lease-duration", 15.0, "how long the others wait after the leader's last sign"),
        ("renew-deadline", 10.0, "how long the leader tries to renew the lease before it stops"),
        ("retry-period", 2.0, "how long between tries"),
    ):
        group.add_argument(
            f"--leader-elect-{flag}",
            metavar="TIME",
            type=seconds,
            default=default,
            help=f"{text} (default: {default:.0f}s)",
        )
    group.add_argument(
        "--leader-elect-resource-name", metavar="NAME", default=COMPONENT, help=f"the Lease (default: {COMPONENT})"
    )
    group.add_argument(
        "--leader-elect-resource-namespace", metavar="NAME", default="", help="its namespace (default: our own)"
    )
    group.add_argument(
        "--shard-count",
        metavar="N",
        type=natural,
        default=0,
        help="share the Foos among up to N replicas; 0 for no sharing (default: 0)",
    )
    group.add_argument(
        "--shard-lease-prefix",
        metavar="NAME",
        default=COMPONENT,
        help=f"their Leases are NAME-0, NAME-1, ..., in --leader-elect-resource-namespace (default: {COMPONENT})",
    )


def _serving(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--metrics-bind-address",
        metavar="ADDRESS",
        type=address,
        default=None,
        help="where /metrics and the debug pages are (default: 0)",
    )
    group.add_argument(
        "--metrics-secure",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="serve them by HTTPS, to those the cluster allows (default: beyond loopback)",
    )
    group.add_argument(
        "--metrics-cert-dir", metavar="DIR", help="folder with tls.crt and tls.key (default: a certificate of our own)"
    )
    group.add_argument(
        "--health-probe-bind-address",
        metavar="ADDRESS",
        type=address,
        default=None,
        help="where /healthz and /readyz are (default: 0)",
    )
