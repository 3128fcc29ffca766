"""HTTPS server for webhooks, with a certificate that is reloaded when it changes.

    server = WebhookServer(cert_dir="/tmp/k8s-webhook-server/serving-certs")
    webhook_managed_by(server).for_(Home).with_defaulter(HomeDefaulter()).with_validator(HomeValidator()).complete()
    server.start(stop)

It is a runnable: a manager starts it before its caches. It speaks only HTTP/1.1, so it needs no flag against the
vulnerabilities of HTTP/2, as controller-runtime does.
"""

import os
import ssl
import tempfile
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.program.commandline import SERVING, flag
from clientgo.program.flags import Address, port
from clientgo.serving import Check, Handler, Limits, Server, TLSSource, Unhealthy
from clientgo.serving.certificates import CERTIFICATE, KEY, CertificateDirectory, ClientAuthority, TLSOption
from clientgo.stop.lifecycle import Group
from clientgo.webhook.conversion import PATH as CONVERSION_PATH
from clientgo.webhook.conversion import conversion_route
from clientgo.webhook.handlers import AdmissionHandler, AsyncAdmissionHandler
from clientgo.webhook.hub import Hub
from clientgo.webhook.routes import LARGEST_ADMISSION, admission_route

log = get_logger(__name__)

DEFAULT_PORT = 9443

LARGEST_CONVERSION = 64 * 1024 * 1024
"""Bytes of a ConversionReview, which contains a whole list. Only the path of conversions accepts as much."""

DEFAULT_LIMITS = Limits(handshake=10.0, request=10.0, idle=120.0, body=LARGEST_ADMISSION)
"""Default limits of a webhook server.

An API server sends many reviews at once, and each reset connection denies a user's write. So a client has 10 s for its
first request, even when all connections are in use: as long as Go waits for a handshake, and an API server for a
webhook. An API server closes idle connections after 90 s (Go's default). If this server closed one first, a request
just being sent would fail: a POST is not retried.
"""

SHUTDOWN_SECONDS = 30.0
"""Seconds that requests in progress have to finish after a stop."""


def default_cert_dir() -> Path:
    """Return the default directory of certificates (controller-runtime's, which kubebuilder's manifests mount)."""
    return Path(tempfile.gettempdir()) / "k8s-webhook-server" / "serving-certs"


def webhooks_enabled(environ: Mapping[str, str] | None = None) -> bool:
    """Return False if ENABLE_WEBHOOKS is `false`, for running outside of a cluster without certificates."""
    environ = os.environ if environ is None else environ
    return environ.get("ENABLE_WEBHOOKS", "").strip().lower() != "false"


@dataclass(frozen=True)
class WebhookFlags:
    """Flags of the webhook server, with kubebuilder's names."""

    # The variables have a prefix because Kubernetes sets WEBHOOK_PORT in pods beside a Service named webhook.
    webhook_port: int = flag(
        DEFAULT_PORT,
        f"port of the webhook server (default: $CLIENTGO_WEBHOOK_PORT, then {DEFAULT_PORT})",
        group=SERVING,
        variable="CLIENTGO_WEBHOOK_PORT",
        metavar="PORT",
        type=port,
    )
    webhook_cert_path: str | None = flag(
        None,
        "certificate directory (default: $CLIENTGO_WEBHOOK_CERT_PATH, then /tmp/k8s-webhook-server/serving-certs)",
        group=SERVING,
        variable="CLIENTGO_WEBHOOK_CERT_PATH",
        metavar="DIR",
    )
    webhook_cert_name: str = flag(
        CERTIFICATE, f"file name of the certificate (default: {CERTIFICATE})", group=SERVING, metavar="FILE"
    )
    webhook_cert_key: str = flag(KEY, f"file name of the key (default: {KEY})", group=SERVING, metavar="FILE")

    def server(self) -> "WebhookServer":
        """Return the webhook server."""
        return WebhookServer(
            port=self.webhook_port,
            cert_dir=self.webhook_cert_path,
            cert_name=self.webhook_cert_name,
            key_name=self.webhook_cert_key,
        )


def tls_minimum(version: ssl.TLSVersion) -> TLSOption:
    """Reject clients with a TLS version below this one; the default is TLS 1.2."""

    def apply(context: ssl.SSLContext) -> None:
        context.minimum_version = version

    return apply


def client_authority(file: str | Path) -> TLSOption:
    """Reject clients without a certificate of the authority in this file (PEM), to accept only the API server.

    A new file is used as soon as it exists, as those of `cert_dir` are.
    """
    return ClientAuthority(file)


class WebhookServer:
    """Serves webhooks on `port` from `start` until its event is set; port 0 selects a free port.

    `cert_dir` contains `tls.crt` and `tls.key`, as in a mounted Secret of kubernetes.io/tls; new files are used as soon
    as they exist. `tls` replaces them: the options then configure each of its contexts once. Register webhooks before
    the start.
    """

    # Attributes of a runnable.
    name = "webhook-server"
    stage = "webhooks"
    needs_leader_election = False  # an API server calls any replica

    def __init__(
        self,
        *,
        port: int = DEFAULT_PORT,
        host: str = "",
        cert_dir: str | Path | None = None,
        cert_name: str = CERTIFICATE,
        key_name: str = KEY,
        tls: TLSSource | None = None,
        tls_options: tuple[TLSOption, ...] = (),
        limits: Limits | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.cert_dir = Path(cert_dir) if cert_dir is not None else default_cert_dir()
        self.ready = threading.Event()
        self._files = cert_name, key_name
        self._address = Address(host, port)
        self._tls = tls
        self._options = tls_options
        self._limits = limits if limits is not None else DEFAULT_LIMITS
        self._largest = limits.body if limits is not None else LARGEST_CONVERSION
        self._clock = clock
        self._lock = threading.Lock()
        self._routes: dict[str, Handler] = {}
        self._hubs: dict[tuple[str, str], Hub[Any]] = {}
        self._server: Server | None = None

    def __repr__(self) -> str:
        return f"<WebhookServer {self.url or self._address}: {', '.join(self.paths) or 'no webhooks'}>"

    @property
    def paths(self) -> list[str]:
        """Paths of the webhooks, sorted."""
        return sorted(self._routes)

    @property
    def port(self) -> int:
        """Port of the server."""
        return (self._server.port if self._server is not None else 0) or self._address.port

    @property
    def url(self) -> str:
        """URL for clients on this machine; empty unless started."""
        return self._server.url if self._server is not None else ""

    def register(self, path: str, handler: AdmissionHandler | AsyncAdmissionHandler) -> None:
        """Handle admission requests at `path`.

        Raises:
            ValueError: the path is invalid or already in use.
            RuntimeError: the server has been started.
        """
        self.register_route(path, admission_route(path, handler, clock=self._clock))

    def register_hub(self, hub: Hub[Any]) -> None:
        """Convert a kind's objects at `/convert`.

        Raises:
            ValueError: the kind already has a hub.
            RuntimeError: the server has been started.
        """
        if (hub.group, hub.kind) in self._hubs:
            raise ValueError(f"{hub.kind}.{hub.group} already has a conversion")
        if CONVERSION_PATH not in self._routes:
            route = conversion_route(self._hubs, largest=self._largest, clock=self._clock)
            self.register_route(CONVERSION_PATH, route)
        self._check_not_started("a conversion")
        self._hubs[hub.group, hub.kind] = hub

    def register_route(self, path: str, handler: Handler) -> None:
        """Serve other requests at `path`.

        Raises:
            ValueError: the path is invalid or already in use.
            RuntimeError: the server has been started.
        """
        self._check_not_started(path)
        if not path.startswith("/"):
            raise ValueError(f"invalid path {path!r}: it must start with /")
        if path in self._routes:
            raise ValueError(f"path {path} is already in use: choose another one")
        self._routes[path] = handler

    def start(self, stop: threading.Event) -> None:
        """Serve until `stop` is set; requests in progress then have 30 s to finish.

        Raises:
            ConfigError: the certificate is invalid, or the address is in use.
            StillRunning: a request is still in progress after that time.
        """
        group = Group(stop=stop, clock=self._clock)  # the crash of a thread sets the event and is raised by `join`
        with self._lock:
            if self._server is not None:
                raise RuntimeError("the webhook server has already been started")
            self._server = Server(
                self._address, self._routes, tls=self._source(), name=self.name, limits=self._limits, clock=self._clock
            )
        self._server.start(group)
        self.ready.set()
        try:
            stop.wait()
        finally:
            self.ready.clear()
            self._server.stop()
        group.join(SHUTDOWN_SECONDS)

    def started_checker(self) -> Check:
        """Return a readiness check that fails while webhooks are not served.

        A ready pod is called; without its webhooks, requests would fail.
        """

        def check() -> None:
            if not self.ready.is_set():
                raise Unhealthy("the webhook server is not running")

        return check

    def _source(self) -> TLSSource:
        return self._directory() if self._tls is None else _Prepared(self._tls, self._options)

    def _directory(self) -> CertificateDirectory:
        certificate, key = self._files
        missing = [name for name in self._files if not (self.cert_dir / name).is_file()]
        if missing:
            raise ConfigError(
                f"no certificate for webhooks: {self.cert_dir} has no {' and no '.join(missing)}; "
                "mount one there (cert-manager), or set ENABLE_WEBHOOKS=false to run without webhooks"
            )
        return CertificateDirectory(self.cert_dir, certificate=certificate, key=key, options=self._options)

    def _check_not_started(self, what: str) -> None:
        if self._server is not None:
            raise RuntimeError(f"cannot register {what}: the webhook server has been started")


class _Prepared:
    """TLS source whose contexts are configured by options, each one once."""

    def __init__(self, source: TLSSource, options: tuple[TLSOption, ...]) -> None:
        self._source = source
        self._options = options
        self._lock = threading.Lock()
        self._done: weakref.WeakSet[ssl.SSLContext] = weakref.WeakSet()

    def context(self) -> ssl.SSLContext:
        """Return the source's context, configured."""
        # All under the lock: no connection gets a context that is half configured, or the previous certificate while
        # another thread loads the new one, because clients may already trust only the new one.
        with self._lock:
            context = self._source.context()
            if context not in self._done:
                for option in self._options:
                    option(context)
                self._done.add(context)
        return context
