"""Servers that an environment may use, each with its own settings, and webhooks that it calls."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from clientgo.rest import Config
from clientgo_apiserver.options import BundledOptions, CommonOptions


@dataclass(frozen=True, kw_only=True)
class StartedServer(CommonOptions):
    """Options of a server that the environment starts: `kubeconfig` is the file to which its kubeconfig is written."""

    kubeconfig: Path | str | None = None


@dataclass(frozen=True, kw_only=True)
class BundledServer(StartedServer, BundledOptions):
    """The bundled server with its `BundledOptions`: no programs, in this process.

    `Environment.server.faults` injects faults without `enable_faults` too.
    """


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
        shared = {option.name: getattr(bundled, option.name) for option in fields(StartedServer)}
        return ControlPlane(assets=assets, flags=flags, environ=environ, **shared)
    return bundled
