"""How to reach an API server and as whom: `Config`, and where one is found.

Static credentials and in-cluster configuration are read here, without the official `kubernetes` package, whose import
costs as much as everything else of a small controller together. Credential plugins and auth providers are only carried
along (`Config.delegated`); `clientgo.rest.auth` hands them to that package when they are used.
"""

import base64
import binascii
import logging
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

from clientgo.errors import ConfigError
from clientgo.meta.objects import EMPTY_MAP
from clientgo.rest import kubeconfig as files
from clientgo.rest.incluster import SERVICE_ACCOUNT, in_a_pod, pod_identity

log = logging.getLogger(__name__)

NOTHING_FOUND = (
    "no Kubernetes configuration found: give --kubeconfig FILE, set KUBECONFIG, or run without a cluster: --embedded"
)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as (the Impersonate-* headers); nobody while `user` is empty."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = EMPTY_MAP


@dataclass(frozen=True, slots=True, repr=False)
class Delegated:
    """Credentials that a program or an identity provider hands out: a kubeconfig user's `exec` or `auth-provider`."""

    exec: Mapping[str, Any] = EMPTY_MAP
    auth_provider: Mapping[str, Any] = EMPTY_MAP
    extensions: tuple[Mapping[str, Any], ...] = ()
    folder: str = ""
    context: str = ""

    def __repr__(self) -> str:
        return f"<Delegated {'exec' if self.exec else 'auth-provider'} of context {self.context!r}>"


@dataclass(frozen=True, slots=True, repr=False)
class Config:
    """How to reach an API server and as whom; times are seconds, certificates PEM text. Its repr shows no secret.

    `timeout` is how long a server may be silent during a request; set, it is also sent as the request's own limit.
    Unset, 75 s are allowed: an API server ends ordinary requests after 60. `watch_idle_timeout` is the same for a
    watch, where bookmarks arrive every minute. `qps` 0 means no throttle of our own.
    """

    host: str
    _: KW_ONLY
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    client_certificate_data: str = ""
    client_certificate_file: str = ""
    client_key_data: str = ""
    client_key_file: str = ""
    ca_data: str = ""
    ca_file: str = ""
    insecure: bool = False
    server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    impersonate: Impersonation = field(default_factory=Impersonation)
    delegated: Delegated | None = None
    namespace: str = "default"
    user_agent: str = ""
    qps: float = 0.0
    burst: int = 10
    timeout: float | None = None
    watch_idle_timeout: float = 120.0

    def __post_init__(self) -> None:
        if self.qps > 0 and self.burst < 1:
            raise ValueError("burst must be at least 1 when qps is set")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError("timeout must be positive, or None")

    def __repr__(self) -> str:
        return f"<Config {self.host} with {self._credentials()}, namespace {self.namespace!r}>"

    def _credentials(self) -> str:
        kinds = {
            "a token file": self.token_file,
            "a token": self.token and not self.token_file,
            "a password": self.username,
            "a client certificate": self.client_certificate_data or self.client_certificate_file,
            repr(self.delegated): self.delegated,
        }
        return " and ".join(kind for kind, there in kinds.items() if there) or "no credentials"


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
    """The configuration of the pod this process runs in; raises `ConfigError` outside of one."""
    pod = pod_identity(environ, service_account)
    return Config(pod.host, token_file=pod.token_file, ca_file=pod.ca_file, namespace=pod.namespace)


def _find(explicit: str, context: str, environ: Mapping[str, str], service_account: str) -> Config | None:
    if explicit:
        try:
            return _chosen([files.read(_expanded(explicit, environ))], context)
        except FileNotFoundError:
            raise ConfigError(f"the kubeconfig {explicit} does not exist") from None
    listed = list(dict.fromkeys(path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path))
    if documents := _existing(listed):
        return _chosen(documents, context)
    if listed:
        log.warning("no file that KUBECONFIG names exists", extra={"KUBECONFIG": environ["KUBECONFIG"]})
    if not context and in_a_pod(environ, service_account):
        return in_cluster_config(environ=environ, service_account=service_account)
    # As with kubectl, a KUBECONFIG that leads nowhere doesn't lead to the home directory: that may be another cluster.
    home = [] if listed else _existing([_expanded("~/.kube/config", environ)])
    return _chosen(home, context) if home and not files.is_empty(home[0]) else None


def _expanded(path: str, environ: Mapping[str, str]) -> str:
    if path.startswith("~/") and "HOME" in environ:
        return str(Path(environ["HOME"]) / path[2:])
    return str(Path(path).expanduser())


def _existing(paths: list[str]) -> list[files.Document]:
    documents = []
    for path in paths:
        try:
            documents.append(files.read(path))
        except FileNotFoundError:
            log.debug("kubeconfig does not exist", extra={"path": path})
    return documents


def _chosen(documents: list[files.Document], context: str) -> Config:
    choice = files.choose(documents, context)
    cluster, user, where = choice.cluster, choice.user, choice.source
    for path in (cluster.certificate_authority, user.client_certificate, user.client_key, user.token_file):
        _readable(path, where)
    delegated = None
    if user.exec or user.auth_provider:
        delegated = Delegated(
            exec=user.exec or EMPTY_MAP,
            auth_provider=user.auth_provider or EMPTY_MAP,
            extensions=cluster.extensions,
            folder=choice.folder,
            context=choice.context,
        )
    return Config(
        cluster.server,
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        client_certificate_data=_decoded(user.client_certificate_data, "client-certificate-data", where),
        client_certificate_file=user.client_certificate,
        client_key_data=_decoded(user.client_key_data, "client-key-data", where),
        client_key_file=user.client_key,
        ca_data=_decoded(cluster.certificate_authority_data, "certificate-authority-data", where),
        ca_file=cluster.certificate_authority,
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy_url=cluster.proxy_url,
        disable_compression=cluster.disable_compression,
        impersonate=Impersonation(
            user.impersonate, user.impersonate_uid, user.impersonate_groups, user.impersonate_extra
        ),
        # A token or password beside a plugin wins, as in client-go: the plugin is then not asked.
        delegated=None if user.token or user.token_file or user.username else delegated,
        namespace=choice.namespace,
    )


def _readable(path: str, where: str) -> None:
    if not path:
        return
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        raise ConfigError(
            f"the file {path}, named in the kubeconfig {where}, can't be read: {error.strerror}"
        ) from error


def _decoded(text: str, key: str, where: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"{key} in the kubeconfig {where} is not base64 of PEM text") from error
