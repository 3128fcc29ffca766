"""Credentials from an exec plugin or an identity provider (`auth-provider`: oidc, gcp).

Each provider has its own protocol, which the official `kubernetes` package implements. It is imported when the first
credential of a provider is needed, and never otherwise.
"""

import base64
from typing import Any

import msgspec

from clientgo.clock import Clock
from clientgo.errors import ClientGoError, ConfigError
from clientgo.rest.bounds import read_file
from clientgo.rest.clientmetrics import ConnectionMetrics
from clientgo.rest.config import ClientCertificate, Config, Delegated

REREAD_SECONDS = 60.0
"""Lifetime of a token from a file or an auth provider, in seconds (client-go's transport/token_source)."""

_EXTENSION = "client.authentication.k8s.io/exec"


class Credential(msgspec.Struct, frozen=True):
    """A credential of a plugin or provider; `expires` is on the scale of the clock's time(), None for never."""

    authorization: str = ""
    certificate: ClientCertificate | None = None
    expires: float | None = None

    def __repr__(self) -> str:
        kinds = {"a token": self.authorization, "a certificate": self.certificate}
        return f"<Credential with {' and '.join(kind for kind, present in kinds.items() if present) or 'nothing'}>"


class DelegatedSource:
    """Source of credentials that runs the plugin, or calls the provider through the official `kubernetes` package."""

    def __init__(self, config: Config, delegated: Delegated, clock: Clock) -> None:
        self._config = config
        self._delegated = delegated
        self._clock = clock
        self._metrics = ConnectionMetrics(config.host)
        # The package writes a provider's renewed tokens into what it is given.
        self._provider = msgspec.json.decode(msgspec.json.encode(dict(delegated.auth_provider)))

    def fetch(self) -> Credential:
        """Return a new credential of the plugin or provider."""
        try:
            return self._run_plugin() if self._delegated.exec else self._ask_provider()
        except ClientGoError:
            raise
        except ImportError as error:  # of the package, or of one that it imports
            raise ConfigError(self._message(f"needs clientgo[auth-providers]: {error}")) from error
        except Exception as error:  # the providers' libraries raise errors of any kind
            raise ConfigError(self._message(f"failed: {error}")) from error

    def _run_plugin(self) -> Credential:
        from clientgo.rest.execplugin import PluginFailed, run_plugin  # noqa: PLC0415

        try:
            status = run_plugin(self._delegated.exec, _cluster_info(self._config, self._delegated))
        except PluginFailed as error:
            self._metrics.plugin(error.status, error.code)
            raise
        self._metrics.plugin("no_error", 0)
        certificate = None
        if status.client_key_data:
            certificate = ClientCertificate(status.client_certificate_data or "", status.client_key_data)
        end = status.expiration_timestamp
        expires = end.timestamp() if end and end.year > 1 else None  # the zero time of Go is none
        return Credential(f"Bearer {one_line(status.token)}" if status.token else "", certificate, expires)

    def _ask_provider(self) -> Credential:
        # Imported here because it costs 150-250 ms and 30 MB, and few configurations need it.
        from kubernetes import client, config  # noqa: PLC0415

        into = client.Configuration()
        load: Any = config.load_kube_config_from_dict  # the package is untyped here
        load(_document(self._config, self._provider), client_configuration=into)
        header = into.get_api_key_with_prefix("BearerToken")
        if not header:
            raise ConfigError(self._message("returned no token: supported providers are oidc and gcp"))
        return Credential(one_line(header), None, self._clock.time() + REREAD_SECONDS)

    def _message(self, what: str) -> str:
        delegated = self._delegated
        if not delegated.exec:
            return (
                f"the auth provider {delegated.auth_provider.get('name')!r} of the context {delegated.context!r} {what}"
            )
        hint = str(delegated.exec.get("installHint") or "").strip()
        text = f"the credential plugin {delegated.exec.get('command')!r} of the context {delegated.context!r} {what}"
        return f"{text} ({' '.join(hint.split())})" if hint else text


def _cluster_info(config: Config, delegated: Delegated) -> dict[str, Any]:
    """Return the cluster information for a plugin (ExecCredential's spec.cluster)."""
    info: dict[str, Any] = {"server": config.host}
    if config.ca_data or config.ca_file:
        authority = config.ca_data.encode(errors="replace") or read_file(config.ca_file)
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    optional = {
        "tls-server-name": config.server_name,
        "insecure-skip-tls-verify": config.insecure,
        "proxy-url": config.proxy_url,
        "disable-compression": config.disable_compression,
        "config": next(
            (each.get("extension") for each in delegated.extensions if each.get("name") == _EXTENSION), None
        ),
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
    """Return the token without surrounding white space; raise `ConfigError` if it cannot be a header value."""
    token = token.strip()
    if not token.isascii() or not token.isprintable():
        raise ConfigError("invalid token: expected one line of ASCII text")
    if not token:
        raise ConfigError("invalid token: it is empty")
    return token
