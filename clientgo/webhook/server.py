"""The HTTPS server that an API server calls: webhooks by their paths, behind a certificate that is read again.

    server = WebhookServer(cert_dir="/tmp/k8s-webhook-server/serving-certs")
    webhook_managed_by(server).for_(Home).with_defaulter(HomeDefaulter()).with_validator(HomeValidator()).complete()
    server.start(stop)

It is a runnable: a manager adds it and starts it before its caches. It speaks HTTP/1.1 alone, so the flaws of HTTP/2
that controller-runtime has a flag against are none of its.
"""

import logging
import os
import ssl
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.lifecycle import Group
from clientgo.serving import Check, Handler, Limits, Server, TLSSource, Unhealthy
from clientgo.serving.certificates import CERTIFICATE, KEY, CertificateDirectory
from clientgo.tls import add_authorities
from clientgo.webhook.answering import LARGEST_ADMISSION, admission_route
from clientgo.webhook.conversion import PATH as CONVERSION_PATH
from clientgo.webhook.conversion import conversion_route
from clientgo.webhook.handlers import AdmissionHandler
from clientgo.webhook.hub import Hub

log = logging.getLogger(__name__)

DEFAULT_PORT = 9443

LARGEST_CONVERSION = 64 * 1024 * 1024
"""Bytes of a ConversionReview: a list is converted at once, and may be long. Only a server that converts takes them."""

DEFAULT_LIMITS = Limits(handshake=10.0, request=10.0, crowded=10.0, idle=120.0, body=LARGEST_ADMISSION)
"""What a webhook server allows by default.

An API server sends many reviews at once, and each connection that is reset is a user's write that is denied. So a
client has 10 s for its first request, even in a crowd: as long as Go waits for a handshake, and an API server for a
webhook. An API server closes connections it has not used for 90 s (Go's default). Were this server the first to close,
a request could be on its way just then and would fail: a POST is not sent twice.
"""

TLSOption = Callable[[ssl.SSLContext], object]
"""Sets up a TLS context that is about to be served with: `tls_minimum(...)`, `client_authority(...)`, one's own."""

SHUTDOWN_SECONDS = 30.0


def default_cert_dir() -> Path:
    """Where certificates are looked for (controller-runtime's place, which kubebuilder's manifests mount)."""
    return Path(tempfile.gettempdir()) / "k8s-webhook-server" / "serving-certs"


def webhooks_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    """False if ENABLE_WEBHOOKS is `false`: for running a program outside of a cluster, without certificates."""
    return environ.get("ENABLE_WEBHOOKS", "").strip().lower() != "false"


def tls_minimum(version: ssl.TLSVersion) -> TLSOption:
    """Refuse clients that speak less than this version; without it that is TLS 1.2."""

    def apply(context: ssl.SSLContext) -> None:
        context.minimum_version = version

    return apply


def client_authority(file: str | Path) -> TLSOption:
    """Refuse clients without a certificate that this authority (PEM) has signed: let in the API server alone."""

    def apply(context: ssl.SSLContext) -> None:
        try:
            add_authorities(context, Path(file).read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"the authority of clients can't be read from {file}: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED

    return apply


class WebhookServer:
    """Serves webhooks on `port` from `start` until its event is set; port 0 takes any.

    `cert_dir` has `tls.crt` and `tls.key`, as a mounted Secret of kubernetes.io/tls has them; new ones are served
    with as soon as they are there. `tls` replaces that altogether. Webhooks are registered before the start.
    """

    # What a manager asks of a runnable.
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
        shutdown_seconds: float = SHUTDOWN_SECONDS,
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
        self._shutdown_seconds = shutdown_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._routes: dict[str, Handler] = {}
        self._hubs: dict[tuple[str, str], Hub[Any]] = {}
        self._server: Server | None = None

    def __repr__(self) -> str:
        return f"<WebhookServer {self.url or self._address}: {', '.join(self.paths) or 'no webhooks'}>"

    @property
    def paths(self) -> list[str]:
        """The paths of the webhooks, sorted."""
        return sorted(self._routes)

    @property
    def port(self) -> int:
        """Where it listens, or is to."""
        return (self._server.port if self._server is not None else 0) or self._address.port

    @property
    def url(self) -> str:
        """How this machine reaches it; empty unless it is started."""
        return self._server.url if self._server is not None else ""

    def register(self, path: str, handler: AdmissionHandler) -> None:
        """Let `handler` judge what is asked at `path`.

        Raises:
            ValueError: the path is taken, or no path.
            RuntimeError: the server has been started.
        """
        self.register_route(path, admission_route(path, handler, clock=self._clock))

    def register_hub(self, hub: Hub[Any]) -> None:
        """Convert a kind's objects at `/convert`.

        Raises:
            ValueError: the kind has a hub already.
            RuntimeError: the server has been started.
        """
        if (hub.group, hub.kind) in self._hubs:
            raise ValueError(f"{hub.kind}.{hub.group} is converted already")
        if CONVERSION_PATH not in self._routes:
            route = conversion_route(self._hubs, largest=self._largest, clock=self._clock)
            self.register_route(CONVERSION_PATH, route)
            self._limits = replace(self._limits, body=self._largest)
        self._refuse_late("a conversion")
        self._hubs[hub.group, hub.kind] = hub

    def register_route(self, path: str, handler: Handler) -> None:
        """Serve anything else at `path`.

        Raises:
            ValueError: the path is taken, or no path.
            RuntimeError: the server has been started.
        """
        self._refuse_late(path)
        if not path.startswith("/"):
            raise ValueError(f"{path!r} is no path: it begins with /")
        if path in self._routes:
            raise ValueError(f"{path} is a webhook already: give this one another path")
        self._routes[path] = handler

    def start(self, stop: threading.Event) -> None:
        """Serve until `stop` is set; requests that are being answered then are, for `shutdown_seconds` at most.

        Raises:
            ConfigError: there is no usable certificate, or the address is taken.
            StillRunning: a request is being answered yet, after that time.
        """
        group = Group(stop=stop, clock=self._clock)  # a thread that dies sets the event, and is raised by `join`
        with self._lock:
            if self._server is not None:
                raise RuntimeError("the webhook server is started once")
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
        group.join(self._shutdown_seconds)

    def started_checker(self) -> Check:
        """Fails until webhooks are served, and once they are no more; for readiness.

        A pod that is ready is called; before its webhooks are there, that would fail.
        """

        def check() -> None:
            if not self.ready.is_set():
                raise Unhealthy("the webhook server has not been started, or has been stopped")

        return check

    def _source(self) -> TLSSource:
        source = self._tls if self._tls is not None else self._directory()
        return _Prepared(source, self._options)

    def _directory(self) -> CertificateDirectory:
        certificate, key = self._files
        missing = [name for name in self._files if not (self.cert_dir / name).is_file()]
        if missing:
            raise ConfigError(
                f"webhooks need a certificate, and {self.cert_dir} has no {' and no '.join(missing)}: "
                "mount one there (cert-manager), or set ENABLE_WEBHOOKS=false to run without webhooks"
            )
        return CertificateDirectory(self.cert_dir, certificate=certificate, key=key)

    def _refuse_late(self, what: str) -> None:
        if self._server is not None:
            raise RuntimeError(f"{what} can't be registered any more: the webhook server has been started")


class _Prepared:
    """A source whose contexts are set up by options, each once; asked by one thread at a time."""

    def __init__(self, source: TLSSource, options: tuple[TLSOption, ...]) -> None:
        self._source = source
        self._options = options
        self._lock = threading.Lock()
        self._done: weakref.WeakSet[ssl.SSLContext] = weakref.WeakSet()

    def context(self) -> ssl.SSLContext:
        """The source's context, set up."""
        # All of it under the lock. Nobody is served with a context that is half set up; and nobody with the former
        # certificate because another thread is just reading the new one: who calls may trust that alone by now.
        with self._lock:
            context = self._source.context()
            if context not in self._done:
                for option in self._options:
                    option(context)
                self._done.add(context)
        return context
