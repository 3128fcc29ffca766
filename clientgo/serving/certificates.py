"""Serving certificates: from files that are reloaded when they change, or self-signed.

The files are checked for each new connection, which costs a fiftieth of its handshake; open connections keep the
certificate they started with. If files cannot be loaded (half written, key and certificate of different versions, no
file descriptor left), that is logged once, the previous ones stay in use, and the next connection tries again.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.metrics import safe_provider
from clientgo.serving.server import TLSSource
from clientgo.tls import add_authorities, server_context

log = get_logger(__name__)

CERTIFICATE, KEY = "tls.crt", "tls.key"
"""File names in a Secret of type kubernetes.io/tls."""

_LIFETIME = timedelta(days=365)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def serving_certificate(directory: str | Path | None = None, *, hosts: Iterable[str] = ()) -> TLSSource:
    """Return the certificate in `directory`, or a self-signed one for `hosts` and this machine's names.

    Raises:
        ConfigError: the files are invalid, or there are none and the library to create certificates is missing.
    """
    if directory is not None:
        return CertificateDirectory(directory)
    return SelfSigned(hosts)


TLSOption = Callable[[ssl.SSLContext], object]
"""Configures a TLS context before use: `tls_minimum(...)`, `client_authority(...)` or your own function."""


class ClientAuthority:
    """TLS option that rejects clients without a certificate of the authority in a file (PEM)."""

    def __init__(self, file: str | Path) -> None:
        self._file = Path(file)

    def __repr__(self) -> str:
        return f"<ClientAuthority {self._file}>"

    def __call__(self, context: ssl.SSLContext) -> None:
        """Configure a context."""
        try:
            add_authorities(context, self.content().decode(errors="replace"))
        except ValueError as error:
            raise self._unreadable(error) from error
        context.verify_mode = ssl.CERT_REQUIRED

    def content(self) -> bytes:
        """Return the content of the file.

        Raises:
            ConfigError: it cannot be read.
        """
        try:
            return self._file.read_bytes()
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ConfigError:
        return ConfigError(f"cannot read the client certificate authority from {self._file}: {error}")


class CertificateMetrics:
    """Metrics of certificates in files, with controller-runtime's names."""

    def __init__(self) -> None:
        registry = safe_provider()
        self.read = registry.counter("certwatcher_read_certificate_total", "Serving certificates read from files", {})
        self.errors = registry.counter(
            "certwatcher_read_certificate_errors_total", "Serving certificates in files that could not be used", {}
        )


class CertificateDirectory:
    """TLS source for the current `tls.crt` and `tls.key` of a directory, configured by options.

    A new context follows a change of the pair, and of the file of a `ClientAuthority` among the options.

    Raises:
        ConfigError: a file is missing or invalid at the start.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        certificate: str = CERTIFICATE,
        key: str = KEY,
        options: Iterable[TLSOption] = (),
    ) -> None:
        self._directory = Path(directory)
        self._paths = self._directory / certificate, self._directory / key
        self._options = tuple(options)
        self._lock = threading.Lock()
        self._metrics = CertificateMetrics()
        # The contents that the context was made of, and the last error since then.
        self._loaded = self._contents()
        self._context = self._load(self._loaded)
        self._failure = ""

    def __repr__(self) -> str:
        return f"<CertificateDirectory {self._directory}>"

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        # Read and loaded under the lock: connections during a reload must not get the previous pair, and a thread that
        # read the files earlier must not restore it.
        with self._lock:
            outcome, context = self._reload(), self._context
        if isinstance(outcome, ConfigError):
            self._metrics.errors.inc()
            log.error("cannot reload the serving certificate; keeping the previous one", extra={"err": outcome})
        elif outcome:
            log.info("serving certificate changed", extra={"directory": str(self._directory)})
        return context

    def _reload(self) -> ConfigError | bool:
        """Load the files if they have changed; return whether they have, or an error other than the last one."""
        try:
            contents = self._contents()
            is_new = contents != self._loaded
            if is_new:
                # Recorded once it is loaded, so that each connection tries again.
                self._context, self._loaded = self._load(contents), contents
            self._failure = ""
        except ConfigError as error:
            is_known, self._failure = str(error) == self._failure, str(error)
            return False if is_known else error
        return is_new

    def _contents(self) -> tuple[bytes, ...]:
        """Return the certificate, the key, and the authorities of clients."""
        authorities = [option.content() for option in self._options if isinstance(option, ClientAuthority)]
        try:
            return *(path.read_bytes() for path in self._paths), *authorities
        except OSError as error:
            raise ConfigError(f"cannot read the serving certificate: {error}") from error

    def _load(self, contents: tuple[bytes, ...]) -> ssl.SSLContext:
        try:
            context = serving_context(b"\n".join(contents[:2]))
        except ssl.SSLError as error:
            raise ConfigError(
                f"{self._paths[0]} and {self._paths[1].name} are not a certificate and its key: {error.reason or error}"
            ) from error
        except ConfigError as error:
            raise ConfigError(f"{self._paths[1]}: {error}") from error
        except OSError as error:  # for example out of file descriptors
            raise ConfigError(f"cannot load the serving certificate: {error}") from error
        for option in self._options:
            option(context)
        self._metrics.read.inc()
        return context


class SelfSigned:
    """TLS source with a self-signed certificate for `hosts` and this machine's names, renewed every half year.

    It encrypts, and authenticates nothing: clients must skip verification. controller-runtime does the same if no
    certificate is given.

    Raises:
        ConfigError: the library to create certificates is missing.
    """

    def __init__(self, hosts: Iterable[str] = (), *, clock: Clock = SYSTEM_CLOCK) -> None:
        try:
            # Loaded here: it takes 30 ms, 8 MB and an optional dependency, which a given certificate does not need.
            from clientgo.pki import self_signed  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"no serving certificate was given, and creating one requires {error.name}, which is missing: "
                f"specify a directory with tls.crt and tls.key, or pip install {error.name}"
            ) from error
        self._create = self_signed
        self._hosts = tuple(dict.fromkeys((*hosts, *_LOCAL_HOSTS, socket.gethostname())))
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._renew_at = 0.0

    def __repr__(self) -> str:
        return f"<SelfSigned {', '.join(self._hosts)}>"

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        # Generated under the lock: it takes a few milliseconds twice a year, and one thread must do it.
        with self._lock:
            if self._context is None or self._clock.time() >= self._renew_at:
                pem = self._create("clientgo-self-signed", self._hosts, _LIFETIME, clock=self._clock)
                self._context = serving_context(pem)
                self._renew_at = self._clock.time() + _LIFETIME.total_seconds() / 2
            return self._context


def serving_context(pem: bytes) -> ssl.SSLContext:
    """Return a `server_context` that speaks only HTTP/1.1 and lets no client renegotiate.

    Raises:
        ssl.SSLError: `pem` is not a certificate chain and its key.
        ConfigError: the key is encrypted.
    """
    context = server_context(pem)
    # Repeated renegotiation by a client would keep the server computing.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context
