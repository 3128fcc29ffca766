"""What a server proves itself with: a certificate from files, read again whenever they change, or one of its own.

The files are looked at for each new connection, which costs a fiftieth of its handshake; connections that are open go
on under the certificate they began with. A pair that can't be used (half written, key and certificate of two issues)
is told of once, and the former stays in use until the files change again.
"""

import logging
import ssl
import threading
from collections.abc import Iterable
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.metrics import provider
from clientgo.serving.server import TLSSource
from clientgo.tls import server_context

log = logging.getLogger(__name__)

CERTIFICATE, KEY = "tls.crt", "tls.key"
"""The names a Secret of type kubernetes.io/tls has them under."""

_UNREAD = b"", b""


def serving_certificate(directory: str | Path | None = None, *, hosts: Iterable[str] = ()) -> TLSSource:
    """The certificate in `directory`, or a self-signed one in memory, for `hosts` and for this machine's names.

    Raises:
        ConfigError: the files can't be used, or there are none and the library that makes certificates is missing.
    """
    if directory is not None:
        return CertificateDirectory(directory)
    try:
        # Loaded here: it costs 30 ms, 8 MB and an extra, and who has a certificate needs none of them.
        from clientgo.serving.selfsigned import SelfSigned  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"no serving certificate was given, and {error.name} is missing to make one: "
            "name a directory with tls.crt and tls.key, or pip install 'clientgo[secure-serving]'"
        ) from error
    return SelfSigned(hosts)


class CertificateDirectory:
    """Serves with `tls.crt` and `tls.key` of a directory as they are now.

    Raises:
        ConfigError: they can't be used at the start.
    """

    def __init__(self, directory: str | Path, *, certificate: str = CERTIFICATE, key: str = KEY) -> None:
        self._directory = Path(directory)
        self._paths = self._directory / certificate, self._directory / key
        self._lock = threading.Lock()
        self._read = provider().counter(
            "certwatcher_read_certificate_total", "Serving certificates read from files", {}
        )
        self._errors = provider().counter(
            "certwatcher_read_certificate_errors_total", "Serving certificates in files that could not be used", {}
        )
        # What was looked at last, usable or not.
        self._seen = self._pair()
        self._context = self._load(self._seen)

    def __repr__(self) -> str:
        return f"<CertificateDirectory {self._directory}>"

    def context(self) -> ssl.SSLContext:
        """The context to serve a new connection with."""
        # Read and loaded under the lock: whoever comes while another loads a new pair must not be served with the
        # former, nor may one that read the files earlier bring the former back.
        with self._lock:
            self._look()
            return self._context

    def _look(self) -> None:
        try:
            pair = self._pair()
        except ConfigError as error:
            if self._is_news(_UNREAD):
                self._refuse(error)
            return
        if self._is_news(pair):
            try:
                self._context = self._load(pair)
                log.info("serving certificate changed", extra={"directory": str(self._directory)})
            except ConfigError as error:
                self._refuse(error)

    def _is_news(self, pair: tuple[bytes, bytes]) -> bool:
        news, self._seen = pair != self._seen, pair
        return news

    def _pair(self) -> tuple[bytes, bytes]:
        certificate, key = self._paths
        try:
            return certificate.read_bytes(), key.read_bytes()
        except OSError as error:
            raise ConfigError(f"the serving certificate can't be read: {error}") from error

    def _load(self, pair: tuple[bytes, bytes]) -> ssl.SSLContext:
        try:
            context = serving_context(b"\n".join(pair))
        except ssl.SSLError as error:
            raise ConfigError(
                f"{self._paths[0]} and {self._paths[1].name} are no certificate and its key: {error.reason or error}"
            ) from error
        except ConfigError as error:
            raise ConfigError(f"{self._paths[1]}: {error}") from error
        self._read.inc()
        return context

    def _refuse(self, error: ConfigError) -> None:
        self._errors.inc()
        log.error("the serving certificate can't be read anew; the former one stays in use", extra={"err": error})


def serving_context(pem: bytes) -> ssl.SSLContext:
    """Return a `server_context` that speaks HTTP/1.1 only and lets no client renegotiate.

    Raises:
        ssl.SSLError: `pem` is not a certificate chain and its key.
        ConfigError: the key is encrypted.
    """
    context = server_context(pem)
    # A client that asks for new keys again and again would keep us computing.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context
