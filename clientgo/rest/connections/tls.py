"""Trust and client certificates: PEM text from data or files, made into a TLS context, anew whenever a file changed.

Files are looked at for every new connection and, because connections are kept for as long as they are used, every
minute besides: a client certificate that was replaced in place is shown, and an authority trusted, without a restart.
"""

import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.rest.clientmetrics import ConnectionMetrics
from clientgo.rest.config import ClientCertificate, Config
from clientgo.tls import client_context, load_key_pair

log = logging.getLogger(__name__)

REREAD_SECONDS = 60.0
"""How old what is known of a certificate file may be while connections are used (client-go: five minutes)."""


class UnusableCA(ConfigError):
    """The certificate authority can't be used; `reason` is the word its metric has for why."""

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class _Material(NamedTuple):
    ca: str
    client: ClientCertificate | None

    def __repr__(self) -> str:
        return "<material>"  # a key is in it


class TLSContexts:
    """Gives the context for a new connection; the same one until a certificate changes.

    `delegated` gives the client certificate a credential plugin handed out, if one did. A file that can't be read any
    more, or has nothing in it that can be used, leaves what was read before in force.

    Raises:
        ConfigError: what there is at first is unusable.
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
        self._material = self._read()
        self._context = _make(self._material, config)
        if config.insecure:
            log.warning(
                "the server's certificate is not checked: whoever is on the way can read and change everything",
                extra={"server": config.host},
            )
        self.generation = 0
        """Which certificates these are; another number means others."""

    def current(self) -> ssl.SSLContext:
        """The context to open a connection with now."""
        self._metrics.context(made=self._look())
        return self._context

    def look(self, now: float) -> int:
        """The generation of what the files hold now, at most a minute old; `now` is the clock's."""
        if now >= self._look_at:
            self._look()
        return self.generation

    def _look(self) -> bool:
        """Read the files; return whether they hold something new."""
        self._look_at = self._clock.now() + REREAD_SECONDS
        try:
            material = self._read()
            if material == self._material:
                self._count("unchanged")
                return False
            # Two threads may both make one; either serves.
            self._context = _make(material, self._config)
        except ConfigError as error:
            self._count(error.reason if isinstance(error, UnusableCA) else "unchanged")
            log.warning("certificates can't be read anew; the former ones stay in use", extra={"err": error})
            return False
        self._count("updated" if material.ca != self._material.ca else "unchanged")
        self._material = material
        self.generation += 1
        return True

    def _count(self, reason: str) -> None:
        if self._config.ca_file and not self._config.ca_data:
            self._metrics.authority(reason)

    def _read(self) -> _Material:
        config = self._config
        ca = config.ca_data or _authority(config.ca_file)
        certificate = config.client_certificate_data or _text(config.client_certificate_file)
        key = config.client_key_data or _text(config.client_key_file)
        return _Material(ca, self._delegated() or (ClientCertificate(certificate, key) if certificate else None))


def _make(material: _Material, config: Config) -> ssl.SSLContext:
    try:
        context = client_context("" if config.insecure else material.ca)
    except ValueError as error:
        sentence = f"the certificate authority of {config.host} is not PEM: {error}"
        raise UnusableCA(sentence, "ca_parse_error") from error
    context.set_alpn_protocols(["http/1.1"])
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if material.client is not None:
        _load_client(context, material.client, config.host)
    return context


def _load_client(context: ssl.SSLContext, client: ClientCertificate, host: str) -> None:
    pem = f"{client.key.rstrip()}\n{client.certificate}".encode(errors="replace")
    try:
        load_key_pair(context, pem)
    except ConfigError as error:
        raise ConfigError(f"the client certificate for {host}: {error}, or a credential plugin") from error
    except ssl.SSLError as error:
        raise ConfigError(
            f"the client certificate for {host} and its key don't match or are not PEM: {error.reason or error}"
        ) from error
    except OSError as error:  # no file descriptor left, say
        raise ConfigError(f"the client certificate for {host} can't be loaded: {error}") from error


def _authority(path: str) -> str:
    if not path:
        return ""
    try:
        text = _text(path)
    except ConfigError as error:
        raise UnusableCA(str(error), "read_error") from error.__cause__
    if not text.strip():
        # Nothing to trust must not come to mean the machine's own authorities: a file may be empty for a moment.
        raise UnusableCA(f"the certificate file {path} is empty", "empty")
    return text


def _text(path: str) -> str:
    if not path:
        return ""
    try:
        # Comments of a PEM file may be in any encoding; what counts in it is ASCII.
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificate file {path} can't be read: {error}") from error
