"""Servers that an environment may use, each with its own settings, and webhooks that it calls."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clientgo.rest import Config


@dataclass(frozen=True, kw_only=True)
class StartedServer:
    """Settings of a server that the environment starts.

    `kubeconfig` is the file to which its kubeconfig is written. `owner_references_permissions` enables the admission
    plugin OwnerReferencesPermissionEnforcement. `audit_log` is a file of audit.k8s.io/v1 events of writes, with
    `audit_reads` of all requests.
    """

    kubeconfig: Path | str | None = None
    owner_references_permissions: bool = False
    audit_log: Path | str | None = None
    audit_reads: bool = False


@dataclass(frozen=True, kw_only=True)
class BundledServer(StartedServer):
    """Settings of the bundled server, which `clientgo[embedded]` installs: no programs, in this process.

    `secure` serves TLS with a token for the administrator and RBAC; a `host` other than loopback requires it.
    `data_dir` stores its objects, CA and administrator's token, otherwise in memory. `simulate` makes workloads
    available `ready_seconds` after a change; 0 is before the response to the write, unlike on a real cluster.
    `replica_sets` creates ReplicaSets for Deployments, as `kubectl rollout history` needs; with `pods`, workloads run
    by Pods on simulated Nodes. `stages` are YAML files or directories of KWOK's Stages, which move objects of any kind
    through their life. `bookmark_interval` is the seconds between the bookmarks of a watch. `enable_faults`
    lets clients inject faults; `Environment.server.faults` always can. Events of its audit log have the
    resourceVersion of the write.
    """

    host: str = "127.0.0.1"
    port: int = 0
    secure: bool = False
    data_dir: Path | str | None = None
    simulate: bool = True
    ready_seconds: float = 0.0
    replica_sets: bool = False
    pods: bool = False
    stages: Sequence[Path | str] = ()
    bookmark_interval: float = 60.0
    enable_faults: bool = False


@dataclass(frozen=True, kw_only=True)
class ControlPlane(StartedServer):
    """Settings of an etcd and a kube-apiserver, programs in the folder `assets`; `flags` are added to the latter's.

    `environ` has envtest's variables for time limits and output.
    """

    assets: Path | str
    flags: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, kw_only=True)
class ExistingCluster:
    """Cluster that exists: that of `config`, by default of the current kubeconfig."""

    config: Config | None = None


ServerChoice = BundledServer | ControlPlane | ExistingCluster


@dataclass(frozen=True)
class Webhooks:
    """Webhook configurations to install: YAML files or directories.

    They are installed so that the server calls `host` at `port` (0: a free port); `Environment.webhooks` has the
    address and certificate of the webhook server once the environment runs.
    """

    paths: Sequence[Path | str]
    host: str = "127.0.0.1"
    port: int = 0


def server_from(
    environ: Mapping[str, str] | None = None,
    bundled: BundledServer = BundledServer(),  # immutable
    *,
    flags: Sequence[str] = (),
) -> ServerChoice:
    """Return the server that the environment variables name, as Go's envtest does.

    `USE_EXISTING_CLUSTER=true` is the cluster of the current kubeconfig. `KUBEBUILDER_ASSETS` is a folder with etcd and
    kube-apiserver, which get `flags`, and those settings of `bundled` that they have too. Otherwise it is `bundled`.
    `environ` is the process's environment by default.
    """
    environ = os.environ if environ is None else environ
    if environ.get("USE_EXISTING_CLUSTER", "").lower() == "true":
        return ExistingCluster()
    if assets := environ.get("KUBEBUILDER_ASSETS", ""):
        return ControlPlane(
            assets=assets,
            flags=flags,
            environ=environ,
            kubeconfig=bundled.kubeconfig,
            owner_references_permissions=bundled.owner_references_permissions,
            audit_log=bundled.audit_log,
            audit_reads=bundled.audit_reads,
        )
    return bundled
