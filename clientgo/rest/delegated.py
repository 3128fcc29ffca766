"""Credentials that a program or an identity provider hands out, through the official `kubernetes` package.

Plugins (`exec`) and providers (`auth-provider`: oidc, gcp) have rules of their own that change with their makers; the
official package follows them. It is imported when the first credential is asked for, and never otherwise.
"""

import base64
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from clientgo.clock import Clock
from clientgo.errors import ClientGoError, ConfigError
from clientgo.rest.config import ClientCertificate, Config, Delegated
from clientgo.rest.connectionmetrics import ConnectionMetrics

REREAD_SECONDS = 60.0
"""How long a token read from a file, or had from an auth provider, is good for (client-go's transport/token_source)."""


class Credential(msgspec.Struct, frozen=True):
    """What a plugin or a provider handed out; `expires` is on the clock's time() scale, None for never."""

    authorization: str = ""
    certificate: ClientCertificate | None = None
    expires: float | None = None


class _Node(dict[str, Any]):
    """A mapping as the official package's plugin runner wants one."""

    @property
    def value(self) -> dict[str, Any]:
        return self

    def safe_get(self, key: str) -> Any:
        return self.get(key)


class KubernetesPackage:
    """Asks the official `kubernetes` package to run the plugin or to talk to the provider."""

    def __init__(self, config: Config, delegated: Delegated, clock: Clock) -> None:
        self._config = config
        self._delegated = delegated
        self._clock = clock
        self._metrics = ConnectionMetrics(config.host)
        # The package writes a provider's renewed tokens into what it is given.
        self._provider = msgspec.json.decode(msgspec.json.encode(dict(delegated.auth_provider)))

    def fetch(self) -> Credential:
        """What the plugin or the provider hands out now."""
        try:
            return self._run_plugin() if self._delegated.exec else self._ask_provider()
        except ClientGoError:
            raise
        except Exception as error:  # whatever a plugin's runner or a provider's library raises
            raise ConfigError(self._sentence(f"failed: {error}")) from error

    def _run_plugin(self) -> Credential:
        # Imported here because it costs 150-250 ms and 30 MB, and most configurations have static credentials.
        from kubernetes.config import exec_provider  # noqa: PLC0415

        cluster = _Node(_cluster_info(self._config, self._delegated))
        runner: Any = exec_provider.ExecProvider  # the package is untyped here
        try:
            status = runner(_Node(self._delegated.exec), self._delegated.folder, cluster).run()
        except Exception as error:
            self._metrics.plugin(*_plugin_failure(error))
            raise
        self._metrics.plugin("no_error", 0)
        return self._credential(msgspec.convert(status, _ExecStatus))

    def _credential(self, status: "_ExecStatus") -> Credential:
        certificate = None
        if status.client_certificate_data and status.client_key_data:
            certificate = ClientCertificate(status.client_certificate_data, status.client_key_data)
        if not status.token and certificate is None:
            raise ConfigError(self._sentence("gave neither a token nor a client certificate with its key"))
        expires = status.expiration_timestamp.timestamp() if status.expiration_timestamp else None
        return Credential(f"Bearer {one_line(status.token)}" if status.token else "", certificate, expires)

    def _ask_provider(self) -> Credential:
        # Imported here for the same reason.
        from kubernetes import client, config  # noqa: PLC0415

        into = client.Configuration()
        load: Any = config.load_kube_config_from_dict  # the package is untyped here
        load(_document(self._config, self._provider), client_configuration=into)
        header = into.get_api_key_with_prefix("BearerToken")
        if not header:
            raise ConfigError(self._sentence("gave no token: is the provider one that is still supported (oidc, gcp)?"))
        return Credential(one_line(header), None, self._clock.time() + REREAD_SECONDS)

    def _sentence(self, what: str) -> str:
        given = self._delegated
        if not given.exec:
            return f"the auth provider {given.auth_provider.get('name')!r} of the context {given.context!r} {what}"
        hint = str(given.exec.get("installHint") or "").strip()
        text = f"the credential plugin {given.exec.get('command')!r} of the context {given.context!r} {what}"
        return f"{text} ({' '.join(hint.split())})" if hint else text


class _ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


def _plugin_failure(error: Exception) -> tuple[str, int]:
    """What client-go's metric calls the failure, and the exit code, which is 1 where there was none."""
    if isinstance(error, FileNotFoundError):
        return "plugin_not_found_error", 1
    exited = re.search(r"process returned (-?\d+)", str(error))
    return ("plugin_execution_error", int(exited[1])) if exited else ("client_internal_error", 1)


def _cluster_info(config: Config, delegated: Delegated) -> dict[str, Any]:
    """What a plugin may learn of the cluster (ExecCredential's spec.cluster)."""
    info: dict[str, Any] = {"server": config.host}
    if config.ca_data or config.ca_file:
        authority = config.ca_data or Path(config.ca_file).read_text(encoding="utf-8")
        info["certificate-authority-data"] = base64.b64encode(authority.encode()).decode()
    optional = {
        "tls-server-name": config.server_name,
        "insecure-skip-tls-verify": config.insecure,
        "proxy-url": config.proxy_url,
        "disable-compression": config.disable_compression,
        "extensions": [dict(extension) for extension in delegated.extensions],
    }
    return info | {key: value for key, value in optional.items() if value}


def _document(config: Config, provider: Any) -> dict[str, Any]:
    return {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": config.host}}],
        "users": [{"name": "it", "user": {"auth-provider": provider}}],
    }


def one_line(token: str) -> str:
    """The token without the white space around it; raises `ConfigError` if it can't be a header's value."""
    token = token.strip()
    if not token.isascii() or not token.isprintable():
        raise ConfigError("the token is not one line of ASCII text")
    if not token:
        raise ConfigError("the token is empty")
    return token
