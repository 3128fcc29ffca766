"""Client configuration (`Config`): address, credentials and limits of an API server's client.

`clientgo.rest.loading` finds one. Credential plugins and auth providers are kept in `Config.delegated` and used by
`clientgo.rest.auth`.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from clientgo.errors import ConfigError
from clientgo.meta.objects import EMPTY_MAP
from clientgo.rest.bounds import MAX_RESPONSE_BYTES


class Impersonation(msgspec.Struct, frozen=True):
    """The impersonated user (the Impersonate-* headers); none if `user` is empty."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = EMPTY_MAP


NO_IMPERSONATION = Impersonation()


class Delegated(msgspec.Struct, frozen=True):
    """An external source of credentials: a kubeconfig user's `exec` plugin or `auth-provider`."""

    exec: Mapping[str, Any] = EMPTY_MAP
    auth_provider: Mapping[str, Any] = EMPTY_MAP
    extensions: tuple[Mapping[str, Any], ...] = ()
    context: str = ""

    def __repr__(self) -> str:
        return f"<Delegated {'exec' if self.exec else 'auth-provider'} of context {self.context!r}>"


class ClientCertificate(msgspec.Struct, frozen=True):
    """A certificate and its key, as PEM text."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "<ClientCertificate>"


@dataclass(frozen=True, slots=True, repr=False)
class Config:
    """Configuration of a client; times are seconds, certificates PEM text. Its repr shows no secrets.

    `timeout` limits each request, including retries, and is sent to the server as well. Without one, the server may be
    silent for 75 s: an API server ends ordinary requests after 60. `watch_idle_timeout` limits the silence of a watch
    after its first bookmark, because from then on a server sends one every minute. `qps` 0 means no client-side rate
    limit.

    `max_response_bytes` limits the body of one response, compressed and decompressed, but not a watch or a streaming
    list. 0 means unlimited, as in client-go. `source` tells people where the configuration is from.
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
    impersonate: Impersonation = NO_IMPERSONATION
    delegated: Delegated | None = None
    namespace: str = "default"
    user_agent: str = ""
    qps: float = 0.0
    burst: int = 10
    timeout: float | None = None
    watch_idle_timeout: float = 85.0
    max_response_bytes: int = MAX_RESPONSE_BYTES
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.qps > 0 and self.burst < 1:
            raise ValueError("burst must be at least 1 when qps is set")
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError("timeout must be positive, or None")
        if self.max_response_bytes < 0:
            raise ValueError("max_response_bytes must be positive, or 0 for unlimited")

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
        return " and ".join(kind for kind, present in kinds.items() if present) or "no credentials"


def server_url(config: Config) -> SplitResult:
    """Return the server's address; the default scheme is https if TLS is configured, else http, as in client-go."""
    host = config.host.strip()
    if "://" not in host:
        tls = (
            config.ca_data or config.ca_file or config.insecure or config.server_name
            or config.client_certificate_data or config.client_certificate_file
        )  # fmt: skip
        host = f"{'https' if tls else 'http'}://{host}"
    try:
        url = urlsplit(host)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable or url.username or not url.geturl().isascii() or " " in host:
        raise ConfigError(f"invalid server address {config.host!r}: expected https://host:port")
    return url._replace(query="", fragment="")  # as in client-go
