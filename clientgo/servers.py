"""Objects of other distributions, found by entry points and never imported: the API server, and commands.

An image of a controller contains no server, and another distribution can provide one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from clientgo import flags
from clientgo.clock import Clock
from clientgo.commandline import flag
from clientgo.errors import ConfigError
from clientgo.version import KUBERNETES

COMMANDS, SERVERS = "clientgo.commands", "clientgo.servers"
"""Groups of entry points: `Command` and `ServerFactory`."""

INSTALL_BESIDE = "install {} from where clientgo came from: the wheel beside its own, or a folder of its checkout"
"""Advice for a distribution of this project: its name alone would be looked up on a public index, where it is free."""

_SERVER = "clientgo-apiserver"


class NotInstalled(ConfigError):
    """No distribution provides the object, or one that it requires is missing."""


class Command(Protocol):
    """Command of the program `clientgo`."""

    def __call__(self, arguments: Sequence[str], *, prog: str) -> int:
        """Run the command with these arguments; return the exit code."""


class StartableServer(Protocol):
    """Kubernetes API served from this process, between `start` and `stop`."""

    faults: Any  # of the server's own class, as further attributes that tests may use
    token: str
    """Bearer token of the administrator; empty without `secure`."""

    @property
    def url(self) -> str:
        """URL of the server; empty before `start`."""

    @property
    def ca(self) -> bytes | None:
        """Certificate (PEM) of the authority that signs the server's certificate; None without `secure`."""

    def start(self) -> None:
        """Start serving; return when requests are answered."""

    def stop(self) -> None:
        """Stop serving. Idempotent."""

    def advance(self, seconds: float) -> None:
        """Step the server's clock, and do what is due meanwhile; only with a clock that can be stepped."""

    def new_token(self, name: str, *groups: str) -> str:
        """Return a new bearer token of the user `name`, a member of these groups."""


class ServedReply(NamedTuple):
    """Response of a server in memory."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ServedWatch(Protocol):
    """Open watch of a server in memory."""

    @property
    def closed(self) -> bool:
        """True if the server has ended the watch; pending frames may still be taken."""

    def take_lines(self) -> list[bytes]:
        """Return and remove the pending frames, each a line of JSON."""

    def expire(self) -> None:
        """End the watch because its time is over, with a last bookmark if the client has asked for bookmarks."""

    def close(self) -> None:
        """End the watch."""


class ServedSocket(Protocol):
    """Server's side of a connection that has switched to a WebSocket, in memory."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the response, with lower-case names."""

    @property
    def closed(self) -> bool:
        """True if the server has closed the connection; its last bytes may still be taken."""

    def send(self, data: bytes) -> None:
        """Receive bytes of the client."""

    def take(self) -> bytes:
        """Return and remove the bytes for the client."""

    def close(self) -> None:
        """Close the connection. May be called again."""


class ServedChange(NamedTuple):
    """Change of one object: `kind` is ADDED, MODIFIED or DELETED; the objects must not be modified."""

    revision: int
    kind: str
    resource: str
    group: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None


class MemoryServer(Protocol):
    """Kubernetes API without sockets and threads: a request is a method call, and time passes by its clock only.

    For one thread at a time. A target is a path and query.
    """

    @property
    def revision(self) -> int:
        """Revision of the last write."""

    def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> ServedReply:
        """Answer one request, and run the server's controllers until they have nothing more to do."""

    def watch(self, target: str, headers: Mapping[str, str]) -> ServedWatch | ServedReply:
        """Open a watch; an error is a reply."""

    def upgrade(self, target: str, headers: Mapping[str, str]) -> ServedSocket | ServedReply:
        """Switch to a WebSocket, as for a command in a pod; an error is a reply."""

    def serve(self, definition: dict[str, Any]) -> None:
        """Serve the kinds of a CustomResourceDefinition that is not stored; built-in kinds stay as they are."""

    def restore(self, objects: Iterable[dict[str, Any]]) -> None:
        """Store objects as they are, as from a backup, with defaults and what the server sets.

        They replace those of the same name. The server's controllers run once all are stored.

        Raises:
            ValueError: the kind of one is not served, or it cannot be decoded.
        """

    def subscribe(self, listener: Callable[[ServedChange], None]) -> None:
        """Call `listener` after each change; it must return at once and not call the server."""

    def advance(self) -> None:
        """Run what is due by the clock."""

    def next_due(self) -> float | None:
        """Return the clock's time at which the server's controllers act next, or None."""


_API, _LISTENER, _STORAGE, _CLUSTER, _AUDIT = "API", "listener", "storage", "cluster", "admission and audit"
"""Groups of the server's flags."""


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """Options that the bundled server and kube-apiserver have."""

    owner_references_permissions: bool = flag(
        False, "enable the admission plugin OwnerReferencesPermissionEnforcement", group=_AUDIT
    )
    audit_log: Path | str | None = flag(
        None, "file to append audit.k8s.io/v1 events of writes to, one per line", group=_AUDIT, metavar="FILE"
    )
    audit_reads: bool = flag(False, "include reads in the audit log", group=_AUDIT)


@dataclass(frozen=True, kw_only=True)
class BundledOptions(CommonOptions):
    """Options of the bundled server, which are the flags of `clientgo apiserver` too.

    `secure` serves TLS with a token for the administrator and RBAC; a `host` other than loopback requires it.
    """

    version: str = flag(
        "",
        "minor version of Kubernetes to serve the API of, such as 1.36 (default: that in the environment variable"
        f" KUBERNETES_VERSION, else {KUBERNETES})",
        "--kubernetes-version",
        group=_API,
        metavar="VERSION",
    )
    feature_gates: str = flag(
        "",
        "comma-separated gates to turn on or off, as NAME=true or NAME=false; AllAlpha and AllBeta stand for many",
        group=_API,
        metavar="GATES",
    )
    port: int = flag(0, "port to listen on (default: a free port)", group=_LISTENER, metavar="N", type=flags.port)
    host: str = flag(
        "127.0.0.1",
        "address to listen on (default: %(default)s)",
        group=_LISTENER,
        metavar="ADDRESS",
        type=flags.ip_address,
    )
    secure: bool = False
    data_dir: Path | str | None = flag(
        None, "directory to store objects, CA and tokens in (default: in memory)", group=_STORAGE, metavar="DIR"
    )
    simulate: bool = flag(True, "run workloads by pods, on simulated nodes (default: %(default)s)", group=_CLUSTER)
    ready_seconds: float = flag(
        0.0,
        "delay until a pod on a node becomes ready (default: %(default)s)",
        group=_CLUSTER,
        metavar="SECONDS",
        type=flags.seconds,
    )
    stages: Sequence[Path | str] = flag(
        (),
        "YAML file or directory of KWOK's Stages, which move objects of any kind through their life; may be repeated",
        group=_CLUSTER,
        metavar="PATH",
    )
    bookmark_interval: float = flag(
        60.0,
        "interval between bookmarks of a watch (default: %(default)s)",
        group=_LISTENER,
        metavar="SECONDS",
        type=flags.seconds,
    )
    enable_faults: bool = flag(False, "serve fault injection at /faults", group=_LISTENER)


class ServerFactory(Protocol):
    """Constructors of a server."""

    def in_memory(self, clock: Clock, *, bare: bool = False, version: str = "") -> MemoryServer:
        """Return a new server without sockets and threads, by this clock; see `BundledOptions` for `version`.

        A `bare` one is an API server alone, without controllers and namespaces; it creates that of each new object.
        """

    def on_port(self, options: BundledOptions, clock: Clock) -> StartableServer:
        """Return a server that has not been started."""


def command(name: str, distribution: str) -> Command:
    """Return a command of another distribution of this project.

    Raises:
        NotInstalled: no distribution provides it.
    """
    return cast(Command, _provided(COMMANDS, name, f"the command {name}", distribution))


@cache  # it looks for distributions
def server_factory() -> ServerFactory:
    """Return the constructors of the bundled server.

    Raises:
        NotInstalled: no distribution provides it.
    """
    return cast(ServerFactory, _provided(SERVERS, "bundled", "the API server", _SERVER))


def _provided(group: str, name: str, what: str, distribution: str) -> Any:
    # Imported here, 10 ms: only programs with a server of their own need it.
    from importlib.metadata import entry_points  # noqa: PLC0415

    try:
        for entry_point in entry_points(group=group, name=name):
            return entry_point.load()
    except ModuleNotFoundError as error:
        raise NotInstalled(f"{what} lacks {error.name}: {INSTALL_BESIDE.format(distribution)}") from error
    raise NotInstalled(f"{what} is not installed: {INSTALL_BESIDE.format(distribution)}")
