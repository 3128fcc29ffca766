"""Command lines declared as dataclasses: one field for each flag, and the flags that Kubernetes controllers share.

Groups appear in the help, and flags in their group, as dataclasses order fields: those of the last base class first.

Durations are seconds, addresses `HOST:PORT` or `:PORT`.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Generic, NoReturn, Protocol, TypeVar

from clientgo import log
from clientgo.log.values import one_line
from clientgo.program.flags import Address, address, amount, finite, integer, natural, parse_bool, positive, seconds

_FLAG = "flag"


class Dataclass(Protocol):
    """Any dataclass; fields that are not declared by `flag` have no flag and keep their defaults."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


T = TypeVar("T")
D = TypeVar("D", bound=Dataclass)


def flag(default: T, help_text: str, *names: str, group: str, variable: str = "", **settings: Any) -> T:
    """Declare a flag as a field of a dataclass: its default and the settings of argparse's `add_argument`.

    The names default to the field's, with hyphens. A boolean default makes it a switch: `--on`, `--on=false` as in Go,
    or `--no-on` as in Python. A tuple, other than a named one, makes it a repeatable flag, a number one that takes a
    number. The environment variable `variable`, if it is set, overrides the default: its text is read as the flag's,
    several values of a repeatable flag are comma-separated. `%(default)s` in the help text is the default, also that of
    an instance which is given to the parser.
    """
    if type(default) is tuple:
        settings = {"action": "append", **settings}
    elif settings.keys().isdisjoint(("action", "type")):
        settings = {**_SETTINGS.get(type(default), {}), **settings}
    return field(default=default, metadata={_FLAG: (group, names, variable, {"help": help_text, **settings})})


_SETTINGS: Mapping[type, Mapping[str, Any]] = {
    bool: {"nargs": "?", "const": True, "type": parse_bool, "metavar": "BOOL"},
    int: {"type": integer},
    float: {"type": finite},
}
"""Settings of a flag by the type of its default."""


class _OneLineParser(argparse.ArgumentParser):
    """Parser whose errors are one line, also about arguments of several."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


class FlagParser(Generic[D]):
    """Parser of a command line into a dataclass of flags; invalid flags exit the program with its usage.

    An instance in place of the class changes the defaults; `usage` replaces the usage, `argparse.SUPPRESS` omits it.
    """

    def __init__(
        self,
        options: type[D] | D,
        *,
        prog: str,
        description: str,
        usage: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._defaults = options() if isinstance(options, type) else options
        self._environ = environ
        self._actions: dict[str, argparse.Action] = {}
        self._parser = _OneLineParser(
            prog=prog,
            usage=usage,
            description=description,
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, width=_columns(environ) - 2),
        )
        groups: dict[str, argparse._ArgumentGroup] = {}
        for option in _flags_of(self._defaults):
            group, names, _, settings = option.metadata[_FLAG]
            if group not in groups:
                groups[group] = self._parser.add_argument_group(group)
            names = names or (f"--{_hyphenated(option.name)}",)
            settings = {**settings, "help": _with_default(settings["help"], getattr(self._defaults, option.name))}
            # No default: argparse would append to that of a repeatable flag.
            add = groups[group].add_argument
            self._actions[option.name] = add(*names, dest=option.name, default=argparse.SUPPRESS, **settings)
        self._add_opposites()

    def parse(self, arguments: Sequence[str]) -> D:
        """Return the flags' values; the values of a repeated flag are a tuple without duplicates."""
        values = vars(self._parser.parse_args(arguments))
        for option in _flags_of(self._defaults):
            if option.name not in values:
                values[option.name] = self._default(option)
            if type(option.default) is tuple:
                values[option.name] = tuple(dict.fromkeys(values[option.name]))
        unchanged = {option.name: getattr(self._defaults, option.name) for option in fields(self._defaults)}
        return type(self._defaults)(**{**unchanged, **values})

    def _default(self, option: Field[Any]) -> Any:
        """Return the value of the flag's environment variable, or else its default."""
        variable = option.metadata[_FLAG][2]
        text = self._environ.get(variable)
        if not text:
            return getattr(self._defaults, option.name)
        action = self._actions[option.name]
        try:
            if type(option.default) is tuple:
                return [self._value(action, part.strip()) for part in text.split(",")]
            return self._value(action, text)
        except argparse.ArgumentError as error:
            self._parser.error(f"environment variable {variable}: {error.message}")

    def _value(self, action: argparse.Action, text: str) -> Any:
        # argparse converts defaults by itself, but regardless of the choices and with an error that names the flag.
        value = self._parser._get_value(action, text)
        self._parser._check_value(action, value)
        return value

    def _add_opposites(self) -> None:
        used = {name for action in self._actions.values() for name in action.option_strings}
        for name, action in self._actions.items():
            opposites = {f"--no-{long[2:]}" for long in action.option_strings if long.startswith("--")} - used
            if action.type is parse_bool and opposites:
                self._parser.add_argument(
                    *sorted(opposites),
                    dest=name,
                    action="store_const",
                    const=False,
                    default=argparse.SUPPRESS,
                    help=argparse.SUPPRESS,
                )

    def error(self, message: str) -> NoReturn:
        """Exit the program with its usage and a message."""
        self._parser.error(message)


def _columns(environ: Mapping[str, str]) -> int:
    """Return the terminal's width, as argparse would, but without importing `shutil` and its compressions."""
    try:
        return int(environ.get("COLUMNS", 0)) or os.get_terminal_size(1).columns or 80
    except (ValueError, OSError):
        return 80


def flag_values(options: Dataclass) -> dict[str, object]:
    """Return the value of each flag by its name, for a page or a log; None is an empty text."""
    values = {option.name: getattr(options, option.name) for option in _flags_of(options)}
    return {_hyphenated(name): "" if value is None else value for name, value in values.items()}


def _flags_of(options: Dataclass) -> list[Field[Any]]:
    return [option for option in fields(options) if _FLAG in option.metadata]


def _with_default(help_text: str, default: object) -> str:
    text = str(default).lower() if isinstance(default, bool) else str(default)
    return help_text.replace("%(default)s", text)


def _hyphenated(name: str) -> str:
    return name.replace("_", "-")


CLUSTER, LEASES, SERVING, LOGGING = "cluster", "replicas", "servers", "logging"
"""Groups of the shared flags; a program may add flags of its own to them."""


@dataclass(frozen=True)
class ClientFlags:
    """Flags of the connection to the API server."""

    kubeconfig: str | None = flag(
        None,
        "kubeconfig to use (default: $KUBECONFIG, then the cluster this runs in, then ~/.kube/config)",
        group=CLUSTER,
        metavar="FILE",
    )
    master: str | None = flag(
        None, "address of the API server; overrides the kubeconfig's", group=CLUSTER, metavar="URL"
    )
    context: str | None = flag(
        None, "context of the kubeconfig (default: its current one)", group=CLUSTER, metavar="NAME"
    )
    namespaces: tuple[str, ...] = flag(
        (),
        "namespace to watch; may be repeated (default: all)",
        "-n",
        "--namespace",
        group=CLUSTER,
        metavar="NAME",
    )
    qps: float = flag(
        0.0, "maximum requests per second; 0 for no limit (default: 0)", group=CLUSTER, metavar="N", type=amount
    )
    burst: int = flag(
        10, "requests that may exceed --qps at once (default: 10)", group=CLUSTER, metavar="N", type=positive
    )


@dataclass(frozen=True)
class LeaderElectionFlags:
    """Flags of leader election, named as in Kubernetes' own components."""

    leader_elect: bool = flag(False, "work only while this replica holds the lease", group=LEASES)
    leader_elect_lease_duration: float = flag(
        15.0,
        "how long other replicas wait after the last renewal (default: 15s)",
        group=LEASES,
        metavar="TIME",
        type=seconds,
    )
    leader_elect_renew_deadline: float = flag(
        10.0,
        "how long the leader retries to renew the lease before it stops (default: 10s)",
        group=LEASES,
        metavar="TIME",
        type=seconds,
    )
    leader_elect_retry_period: float = flag(
        2.0, "time between attempts (default: 2s)", group=LEASES, metavar="TIME", type=seconds
    )
    leader_elect_resource_name: str = flag("", "name of the Lease", group=LEASES, metavar="NAME")
    leader_elect_resource_namespace: str = flag(
        "", "namespace of the Leases (default: the program's own)", group=LEASES, metavar="NAME"
    )


@dataclass(frozen=True)
class ShardingFlags(LeaderElectionFlags):
    """Flags of sharding, which takes its times and the namespace from those of leader election."""

    shard_count: int = flag(
        0,
        "number of shards, and of active replicas; 0 for no sharding (default: 0)",
        group=LEASES,
        metavar="N",
        type=natural,
    )
    shard_lease_prefix: str = flag("", "prefix of the shards' Leases", group=LEASES, metavar="PREFIX")


@dataclass(frozen=True)
class ServingFlags:
    """Flags of the servers of metrics and probes (`clientgo.serving.ServingOptions`); None means no server."""

    metrics_bind_address: Address | None = flag(
        None,
        "address of /metrics, dashboard and debug pages: HOST:PORT, :PORT for every interface, 0 for none (default: 0)",
        group=SERVING,
        metavar="ADDRESS",
        type=address,
    )
    metrics_secure: bool | None = flag(
        None,
        "serve metrics over HTTPS with authentication and authorization (default: unless bound to loopback)",
        group=SERVING,
        metavar="BOOL",
        nargs="?",
        const=True,
        type=parse_bool,
    )
    metrics_cert_dir: str | None = flag(
        None,
        "directory of tls.crt and tls.key (default: a self-signed certificate)",
        "--metrics-cert-dir",
        "--metrics-cert-path",
        group=SERVING,
        metavar="DIR",
    )
    reconcile_history: int = flag(
        200,
        "recent reconciliations of each controller on the dashboard; 0 to record none (default: 200)",
        group=SERVING,
        metavar="N",
        type=natural,
    )
    health_probe_bind_address: Address | None = flag(
        None, "address of /healthz and /readyz (default: 0)", group=SERVING, metavar="ADDRESS", type=address
    )


@dataclass(frozen=True)
class LoggingFlags:
    """Flags of the log (`clientgo.log.setup`)."""

    log_level: str = flag("info", "minimum level (default: info)", group=LOGGING, choices=log.LEVELS)
    verbosity: int | None = flag(
        None,
        "level as in Kubernetes' programs: 4 for debug, 8 and more for request bodies too",
        "-v",
        group=LOGGING,
        metavar="N",
        type=natural,
    )
    log_format: str = flag(
        "auto",
        "format of the lines (default: auto, which is human on a terminal and otherwise text)",
        group=LOGGING,
        choices=log.FORMATS,
    )


def setup_logging(flags: LoggingFlags) -> None:
    """Configure the log of the program; call it once."""
    log.setup(level=flags.log_level, style=flags.log_format)
    if flags.verbosity is not None:
        log.set_level(flags.verbosity)
