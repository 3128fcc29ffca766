"""TLS contexts of a configuration: CA bundle and client certificate from data or files, reloaded when a file changes.

Files are checked for every new connection and, because connections are kept alive, once a minute: a replaced client
certificate or CA bundle is used without a restart.
"""

import ssl
from collections.abc import Callable

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.rest.bounds import read_file
from clientgo.rest.clientmetrics import ConnectionMetrics
from clientgo.rest.config import ClientCertificate, Config
from clientgo.tls import client_context, load_key_pair

log = get_logger(__name__)

REREAD_SECONDS = 60.0
"""Seconds between checks of certificate files while connections are kept alive (client-go: five minutes)."""


class UnusableCA(ConfigError):
    """The CA bundle is invalid; `reason` is the value of the metric's label."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Material(msgspec.Struct, frozen=True):
    ca: str
    client: ClientCertificate | None

    def __repr__(self) -> str:
        return "<material>"  # a key is in it


class TLSContexts:
    """Provides the TLS context for new connections; the same one until a certificate changes.

    `delegated` returns the client certificate of a credential plugin, if any; the first connection asks for it. If a
    file becomes unreadable or invalid, its previous content stays in use.

    Raises:
        ConfigError: the initial certificates are invalid; so does `current` for the first one of a plugin.
    """

    def __init__(
        self,
        config: Config,
        delegated: Callable[[], ClientCertificate | None] = lambda: None,
        *,
        metrics: ConnectionMetrics,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._config = config
        self._delegated = delegated
        self._metrics = metrics
        self._clock = clock
        self._look_at = clock.now() + REREAD_SECONDS
        # Without that of a plugin, which the first connection waits for, within the limits of its request.
        self._material = self._read_files()
        self._context = _make(self._material, config)
        if config.insecure:
            log.warning(
                "the server's certificate is not verified: the connection can be intercepted",
                extra={"server": config.host},
            )
        self._uses_plugin = False  # a certificate of the plugin, if it returns one, has been usable
        self.generation = 0
        """Number of the current certificates; it changes with them."""

    def current(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        self._metrics.context(created=self._check())
        return self._context

    def check(self, now: float) -> int:
        """Return the generation of the certificates, checked at most a minute ago; `now` is the clock's time."""
        if now >= self._look_at:
            self._check()
        return self.generation

    def _check(self) -> bool:
        """Read the files, and the certificate of a plugin; return whether they changed."""
        self._look_at = self._clock.now() + REREAD_SECONDS
        try:
            material = self._read()
            if material == self._material:
                self._count("unchanged")
                return False
            # Two threads may both create one; either is correct.
            self._context = _make(material, self._config)
        except ConfigError as error:
            if not self._uses_plugin and self._delegated() is not None:
                raise
            self._count(error.reason if isinstance(error, UnusableCA) else "unchanged")
            log.warning("cannot reload certificates; keeping the previous ones", extra={"err": error})
            return False
        self._count("updated" if material.ca != self._material.ca else "unchanged")
        self._material, self._uses_plugin = material, True
        self.generation += 1
        return True

    def _count(self, reason: str) -> None:
        if self._config.ca_file and not self._config.ca_data:
            self._metrics.authority(reason)

    def _read(self) -> _Material:
        material, delegated = self._read_files(), self._delegated()
        return material if delegated is None else _Material(material.ca, delegated)

    def _read_files(self) -> _Material:
        config = self._config
        ca = config.ca_data or _authority(config.ca_file)
        certificate = config.client_certificate_data or _read_pem(config.client_certificate_file)
        key = config.client_key_data or _read_pem(config.client_key_file)
        return _Material(ca, ClientCertificate(certificate, key) if certificate else None)


def _make(material: _Material, config: Config) -> ssl.SSLContext:
    try:
        context = client_context(material.ca, verify=not config.insecure)
    except ValueError as error:
        message = f"invalid CA bundle for {config.host}: {error}"
        raise UnusableCA(message, "ca_parse_error") from error
    context.set_alpn_protocols(["http/1.1"])
    if material.client is not None:
        _load_client(context, material.client, config.host)
    return context


def _load_client(context: ssl.SSLContext, client: ClientCertificate, host: str) -> None:
    pem = f"{client.key.rstrip()}\n{client.certificate}".encode(errors="replace")
    try:
        load_key_pair(context, pem)
    except ConfigError as error:
        raise ConfigError(f"invalid client certificate for {host}: {error}, or a credential plugin") from error
    except ssl.SSLError as error:
        raise ConfigError(
            f"invalid client certificate for {host}: it does not match its key or is not PEM: {error.reason or error}"
        ) from error
    except OSError as error:  # no file descriptor left, say
        raise ConfigError(f"cannot load the client certificate for {host}: {error}") from error


def _authority(path: str) -> str:
    if not path:
        return ""
    try:
        text = _read_pem(path)
    except ConfigError as error:
        raise UnusableCA(str(error), "read_error") from error.__cause__
    if not text.strip():
        # An empty file must not select the system's CA bundle: a file may be empty for a moment while it is replaced.
        raise UnusableCA(f"the certificate file {path} is empty", "empty")
    return text


def _read_pem(path: str) -> str:
    if not path:
        return ""
    try:
        # Comments in a PEM file may have any encoding; the certificates are ASCII.
        return read_file(path).decode(errors="replace")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the certificate file {path}: {error}") from error
