"""Trust and client certificates: PEM text from data or files, made into a TLS context, anew whenever a file changed."""

import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.rest.config import Config

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, repr=False)
class ClientCertificate:
    """A certificate and its key, as PEM text."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True, repr=False)
class _Material:
    ca: str
    client: ClientCertificate | None


class TLSContexts:
    """Gives the context for a new connection; the same one until a certificate changes.

    `delegated` gives the client certificate a credential plugin handed out, if one did. A file that can't be read any
    more leaves what was read before in force.
    """

    def __init__(self, config: Config, delegated: Callable[[], ClientCertificate | None] = lambda: None) -> None:
        self._config = config
        self._delegated = delegated
        self._material = self._read()
        self._context = _make(self._material, config)

    def current(self) -> ssl.SSLContext:
        """The context to open a connection with now."""
        try:
            material = self._read()
            if material != self._material:
                # Two threads may both make one; either serves.
                self._context, self._material = _make(material, self._config), material
        except ConfigError as error:
            log.warning("certificates can't be read anew; the former ones stay in use", extra={"err": error})
        return self._context

    def _read(self) -> _Material:
        config = self._config
        ca = config.ca_data or _text(config.ca_file)
        certificate = config.client_certificate_data or _text(config.client_certificate_file)
        key = config.client_key_data or _text(config.client_key_file)
        return _Material(ca, self._delegated() or (ClientCertificate(certificate, key) if certificate else None))


def _make(material: _Material, config: Config) -> ssl.SSLContext:
    # Not ssl.create_default_context: from Python 3.13 on it refuses authorities without a key identifier, which many
    # clusters have and Go accepts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif material.ca:
        try:
            context.load_verify_locations(cadata=material.ca)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"the certificate authority of {config.host} is not PEM: {error}") from error
    else:
        context.load_default_certs()
    if material.client is not None:
        _load_client(context, material.client, config.host)
    return context


def _load_client(context: ssl.SSLContext, client: ClientCertificate, host: str) -> None:
    pem = f"{client.key.rstrip()}\n{client.certificate}".encode()
    try:
        _load_chain(context, pem)
    except ssl.SSLError as error:
        raise ConfigError(
            f"the client certificate for {host} and its key don't match or are not PEM: {error.reason or error}"
        ) from error


def _load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    # OpenSSL's Python binding takes a key from a file only. One in memory is never on a disk and needs no writable one.
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("client-certificate")
        try:
            os.write(descriptor, pem)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "client.pem"
        path.touch(mode=0o600)
        path.write_bytes(pem)
        context.load_cert_chain(path, password=_no_password)


def _no_password() -> str:
    # Without this, OpenSSL would stop the program and ask on its terminal.
    raise ConfigError("the client key is encrypted: give one without a passphrase, or use a credential plugin")


def _text(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificate file {path} can't be read: {error}") from error
