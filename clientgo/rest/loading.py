"""Configuration loading: a kubeconfig, the pod's service account or the home directory, as kubectl and client-go look.

Static credentials and in-cluster configuration are read without the official `kubernetes` package, whose import costs
as much as everything else of a small controller together.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.rest.config import Config

log = logging.getLogger(__name__)

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where Kubernetes mounts the service account's files (rest.InClusterConfig)."""

NOT_IN_CLUSTER = (
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)
"""client-go's own words, which people search for."""


NOTHING_FOUND = (
    "no Kubernetes configuration found: give --kubeconfig FILE, set KUBECONFIG, or run without a cluster: --embedded"
)


def load_config(
    *,
    kubeconfig: str | None = None,
    master: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: str = SERVICE_ACCOUNT,
) -> Config:
    """The configuration found first: `kubeconfig` ▸ KUBECONFIG ▸ the pod's own ▸ ~/.kube/config.

    `master` replaces the server's address, and alone makes a configuration without credentials. `context` is looked for
    in kubeconfigs only. An environment and a service account's folder may be given in place of this process' own.

    Raises:
        ConfigError: nothing was found, or what was found is unusable; one sentence says what and where.
    """
    found = _find(kubeconfig or "", context or "", environ, service_account)
    if found is None:
        if not master:
            raise ConfigError(NOTHING_FOUND)
        return Config(master)
    # A certificate's name belongs to the address it was written for (clientcmd overrides).
    return replace(found, host=master, server_name="") if master else found


def in_cluster_config(*, environ: Mapping[str, str] = os.environ, service_account: str = SERVICE_ACCOUNT) -> Config:
    """Return the configuration of the pod this process runs in.

    Raises:
        ConfigError: this is no pod, or it has no readable token.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(NOT_IN_CLUSTER)
    folder = Path(service_account)
    token, ca = folder / "token", folder / "ca.crt"
    try:
        token.read_bytes()
    except OSError as error:
        raise ConfigError(f"the service account's token {token} can't be read: {error.strerror}") from error
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    # Without ca.crt the machine's own authorities decide, as in client-go. The token stays in its file, because the
    # kubelet replaces it there.
    ca_file = str(ca) if ca.is_file() else ""
    return Config(address, token_file=str(token), ca_file=ca_file, namespace=_namespace(environ, folder))


def _namespace(environ: Mapping[str, str], folder: Path) -> str:
    if named := environ.get("POD_NAMESPACE", ""):
        return named
    try:
        return (folder / "namespace").read_text(encoding="utf-8").strip() or "default"
    except (OSError, ValueError):
        return "default"


def _in_a_pod(environ: Mapping[str, str], folder: str) -> bool:
    """Whether this process runs in a pod with a service account (clientcmd's test: the variable and the token file)."""
    return (
        bool(environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"))
        and (Path(folder) / "token").is_file()
    )


def _find(explicit: str, context: str, environ: Mapping[str, str], service_account: str) -> Config | None:
    if explicit:
        if found := _from_files([_expanded(explicit, environ)], context):
            return found
        raise ConfigError(f"the kubeconfig {explicit} does not exist")
    listed = list(dict.fromkeys(path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path))
    if listed:
        if found := _from_files(listed, context):
            return found
        log.warning("no file that KUBECONFIG names exists", extra={"KUBECONFIG": environ["KUBECONFIG"]})
    if not context and _in_a_pod(environ, service_account):
        return in_cluster_config(environ=environ, service_account=service_account)
    # As with kubectl, a KUBECONFIG that leads nowhere doesn't lead to the home directory: that may be another cluster.
    return None if listed else _from_files([_expanded("~/.kube/config", environ)], context, ignore_empty=True)


def _from_files(paths: list[str], context: str, *, ignore_empty: bool = False) -> Config | None:
    # Imported here because it loads yaml, 12 ms: a pod has no kubeconfig, and neither has a program that is imported.
    from clientgo.rest.kubeconfig import config_from  # noqa: PLC0415

    return config_from(paths, context, ignore_empty=ignore_empty)


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    if path.startswith("~/") and "HOME" in environ:
        return str(Path(environ["HOME"]) / path[2:])
    return str(Path(path).expanduser())
