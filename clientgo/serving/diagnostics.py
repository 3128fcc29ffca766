"""Health checks, metrics and debug pages of a program, and the servers that answer for them.

    diagnostics = Diagnostics(options, config, component="foo-controller")
    with serve_diagnostics(diagnostics, stop):
        diagnostics.add_controller(queue, attempts)
        diagnostics.add_informers(lambda: [informer])

Servers start first and stop last: probes answer while the program waits for the API server, and readiness fails
visibly while workers finish.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import get_logger
from clientgo.program.flags import Address
from clientgo.reconcile.attempts import Attempts
from clientgo.reconcile.history import History
from clientgo.rest.config import Config
from clientgo.serving.addresses import address_of
from clientgo.serving.checks import (
    Check,
    Informer,
    Queue,
    Unhealthy,
    informers_alive,
    informers_synced,
    not_shutting_down,
)
from clientgo.stop.lifecycle import Group, StillRunning
from clientgo.stop.stopping import ends_with

if TYPE_CHECKING:
    from clientgo.serving.dashboard import Dashboard, IsCached, RecordedEvents
    from clientgo.serving.server import Server
    from clientgo.workqueue import WorkQueue

log = get_logger(__name__)

END_SECONDS = 0.5
"""Seconds that responses in progress may take when the program ends."""


class ServingOptions(Protocol):
    """Addresses and certificates of the servers."""

    @property
    def health_probe_bind_address(self) -> Address | str | None:
        """Address of `/healthz` and `/readyz`: `HOST:PORT` or `:PORT`; None for no server."""

    @property
    def metrics_bind_address(self) -> Address | str | None:
        """Address of `/metrics` and the debug pages; None for no server."""

    @property
    def metrics_secure(self) -> bool | None:
        """Serve metrics over HTTPS with authentication and authorization; None for: yes unless bound to loopback."""

    @property
    def metrics_cert_dir(self) -> str | None:
        """Directory of tls.crt and tls.key; None for a self-signed certificate."""

    @property
    def reconcile_history(self) -> int:
        """Number of recent reconciliations that the dashboard shows for each controller; 0 to record none."""


class Diagnostics:
    """Checks behind `/healthz` (`alive`) and `/readyz` (`ready`), and content of the debug pages; all may be extended.

    Create it before queues and informers: with a metrics address, it sets the metrics provider that counts them.
    `component` is the program's name on the pages, which show `facts` and `flags`. `urls` has the address of each
    running server, `probes` and `metrics`, and of the `dashboard`.

    Raises:
        ConfigError: metrics are to be served over HTTPS, and there is no `config` of a cluster that authorizes access.
    """

    def __init__(
        self,
        options: ServingOptions,
        config: Config | None = None,
        *,
        component: str,
        flags: Mapping[str, object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.component, self.flags = component, flags or {}
        self.facts: dict[str, Callable[[], object]] = {}
        self.urls: dict[str, str] = {}
        self.queues: list[Queue] = []
        self._sources: list[Callable[[], Iterable[Informer]]] = []
        self.informers: Iterable[Informer] = _Informers(self._sources)
        self.alive: dict[str, Check] = {"informers": informers_alive(self.informers, clock=clock)}
        self.ready: dict[str, Check] = {"shutdown": _not_started, "informers": self._informers_synced}
        self.probe_address = address_of(options.health_probe_bind_address)
        self.dashboard: Dashboard | None = None
        self._history = options.reconcile_history
        self.metrics_server: Callable[[ExitStack], Server] | None = None
        if (address := address_of(options.metrics_bind_address)) is not None:
            # Loaded here: metrics take 100 ms and 10 MB, which a program that serves none need not spend.
            from clientgo.serving import dashboard, metricsserver  # noqa: PLC0415

            self.dashboard = dashboard.Dashboard(component, facts=self.facts, informers=self.informers, clock=clock)
            pages = partial(metricsserver.debug_routes, self.dashboard, flags=self.flags, queues=self.queues)
            self.metrics_server = metricsserver.metrics_server(
                address, config, pages, secure=options.metrics_secure, cert_dir=options.metrics_cert_dir
            )

    def add_informers(self, informers: Callable[[], Iterable[Informer]]) -> None:
        """Include the informers that `informers` returns each time a check or a page needs them.

        Readiness fails until this is called.
        """
        self._sources.append(informers)

    def add_controller(self, queue: "WorkQueue[Any]", attempts: Attempts, is_cached: "IsCached | None" = None) -> None:
        """Show a controller on the pages, and record its reconciliations if they are served.

        `is_cached` returns whether an object of its kind is in the cache.
        """
        self.queues.append(queue)
        if self.dashboard is not None:
            if self._history > 0:
                attempts.history = History(self._history)
            self.dashboard.add_controller(queue, attempts, is_cached)

    def add_events(self, events: "RecordedEvents") -> None:
        """Show recent events on the pages, if they are served."""
        if self.dashboard is not None:
            events.keep_recent()
            self.dashboard.add_events(events)

    def _informers_synced(self) -> None:
        if not self._sources:
            _not_started()
        informers_synced(self.informers)()


@contextmanager
def serve_diagnostics(diagnostics: Diagnostics, stop: threading.Event) -> Iterator[None]:
    """Serve until the block ends; readiness fails as soon as `stop` is set.

    Raises:
        ConfigError: an address is in use, or a certificate is invalid.
    """
    diagnostics.ready["shutdown"] = not_shutting_down(stop)
    with ExitStack() as stack:
        # Threads that the program's stop does not end, so that clients see readiness fail.
        group = stack.enter_context(_ending(Group()))
        servers = []
        if diagnostics.probe_address is not None:
            # Loaded here: a program that serves nothing need not spend a twentieth of its start.
            from clientgo.serving import probes  # noqa: PLC0415

            servers.append(probes.probe_server(diagnostics.probe_address, diagnostics.alive, diagnostics.ready))
        if diagnostics.metrics_server is not None:
            with ends_with(stop):  # a credential plugin may run
                servers.append(diagnostics.metrics_server(stack))
        for server in servers:
            server.start(group)
            stack.callback(server.stop)
            diagnostics.urls[server.name] = server.url
        if diagnostics.dashboard is not None:
            group.start(diagnostics.dashboard.run, group.stop_event, name="dashboard-samples")
            diagnostics.urls["dashboard"] = url = diagnostics.urls["metrics"] + diagnostics.dashboard.path
            log.info("serving the dashboard", extra={"url": url})
        yield


@contextmanager
def _ending(group: Group) -> Iterator[Group]:
    """End the group after the block; a check of the program that blocks neither delays nor fails the program's end."""
    try:
        yield group
    finally:
        group.stop()
        try:
            group.join(END_SECONDS)
        except StillRunning as error:
            log.warning("a check or page has not returned; not waiting for it", extra={"err": error})
            group.raise_crash()


def _not_started() -> None:
    raise Unhealthy("not started yet")


class _Informers:
    """Informers of all sources, evaluated at each iteration because informers start when they are first needed."""

    def __init__(self, sources: Iterable[Callable[[], Iterable[Informer]]]) -> None:
        self._sources = sources

    def __iter__(self) -> Iterator[Informer]:
        return (informer for source in self._sources for informer in source())
