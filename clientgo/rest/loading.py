"""Configuration loading: kubeconfig files and in-cluster configuration, in the order of kubectl and client-go.

Both are read without the official `kubernetes` package, whose import costs as much as the rest of a small controller.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.rest.bounds import read_file
from clientgo.rest.config import Config, server_url

log = get_logger(__name__)

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""The folder of the service account's files in a pod (rest.InClusterConfig)."""

NOT_IN_CLUSTER = (
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)
"""client-go's message, which users search for."""

NOTHING_FOUND = "no Kubernetes configuration found: set KUBECONFIG or create ~/.kube/config"


def load_config(
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    master: str | None = None,
    context: str | None = None,
    hint: str = "",
    environ: Mapping[str, str] | None = None,
    service_account: str = SERVICE_ACCOUNT,
) -> Config:
    """Return the first configuration of: `kubeconfig`, KUBECONFIG, the pod's service account, ~/.kube/config.

    `master` overrides the server's address; without any configuration it is used without credentials. `context` selects
    a context of the kubeconfigs. `hint` tells the user of this program another remedy for a missing configuration.
    `environ` and `service_account` default to those of this process.

    As in kubectl, a configuration of a plain http server has no tokens, passwords and plugins: everyone on the way
    could read what they send.

    Raises:
        ConfigError: no configuration was found, or it is invalid.
    """
    environ = os.environ if environ is None else environ
    config = _find(os.fspath(kubeconfig or ""), context or "", environ, service_account)
    if config is None:
        if not master:
            raise ConfigError(f"{NOTHING_FOUND}, or {hint}" if hint else NOTHING_FOUND)
        return Config(master)
    # The TLS server name belongs to the overridden address (clientcmd's overrides).
    return _without_secrets_for_http(replace(config, host=master, server_name="") if master else config)


def in_cluster_config(*, environ: Mapping[str, str] | None = None, service_account: str = SERVICE_ACCOUNT) -> Config:
    """Return the configuration of the pod this process runs in.

    Raises:
        ConfigError: the process is not in a pod, or the token is unreadable.
    """
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(NOT_IN_CLUSTER)
    folder = Path(service_account)
    token, ca = folder / "token", folder / "ca.crt"
    try:
        read_file(token)
    except OSError as error:
        raise ConfigError(f"cannot read the service account's token {token}: {error.strerror}") from error
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    # Without ca.crt the system's CA bundle applies, as in client-go. The token stays in its file, because the
    # kubelet replaces it there.
    ca_file = str(ca) if ca.is_file() else ""
    return Config(
        address,
        token_file=str(token),
        ca_file=ca_file,
        namespace=_namespace(environ, folder),
        source="service account of the pod",
    )


def _without_secrets_for_http(config: Config) -> Config:
    # clientcmd's rule (rest.IsConfigTransportTLS); the impersonated user is not a secret.
    if server_url(config).scheme != "http":
        return config
    public = replace(config, token="", token_file="", username="", password="", delegated=None)  # nosec B106  # none
    if public != config:
        log.warning("no credentials are sent, because the server has no TLS", extra={"server": config.host})
    return public


def _namespace(environ: Mapping[str, str], folder: Path) -> str:
    if named := environ.get("POD_NAMESPACE", ""):
        return named
    try:
        return read_file(folder / "namespace").decode().strip() or "default"
    except (OSError, ValueError):
        return "default"


def _in_a_pod(environ: Mapping[str, str], folder: str) -> bool:
    """Report whether this process runs in a pod with a service account, by clientcmd's rule."""
    return (
        bool(environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"))
        and (Path(folder) / "token").is_file()
    )


def _find(explicit: str, context: str, environ: Mapping[str, str], service_account: str) -> Config | None:
    if explicit:
        if config := _from_files([_expanded(explicit, environ)], context):
            return config
        raise ConfigError(f"the kubeconfig {explicit} does not exist")
    listed = list(dict.fromkeys(path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path))
    if listed:
        if config := _from_files(listed, context):
            return config
        log.warning("none of the files in KUBECONFIG exists", extra={"KUBECONFIG": environ["KUBECONFIG"]})
    if not context and _in_a_pod(environ, service_account):
        return in_cluster_config(environ=environ, service_account=service_account)
    # As in kubectl, if no file in KUBECONFIG exists, the home directory is not used: it may name another cluster.
    return None if listed else _from_files([_expanded("~/.kube/config", environ)], context, ignore_empty=True)


def _from_files(paths: list[str], context: str, *, ignore_empty: bool = False) -> Config | None:
    # Imported here because it loads yaml, 12 ms, and a pod has no kubeconfig.
    from clientgo.rest.kubeconfig import config_from  # noqa: PLC0415

    return config_from(paths, context, ignore_empty=ignore_empty)


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    if path.startswith("~/") and "HOME" in environ:
        return str(Path(environ["HOME"]) / path[2:])
    return str(Path(path).expanduser())
