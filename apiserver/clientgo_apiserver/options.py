"""Options of the server that its users choose, as flags of `clientgo apiserver` and arguments of test environments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clientgo.program import flags
from clientgo.program.commandline import flag
from clientgo.version import KUBERNETES

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
        type=flags.interval,
    )
    enable_faults: bool = flag(False, "serve fault injection at /faults", group=_LISTENER)
