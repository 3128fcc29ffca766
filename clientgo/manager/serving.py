"""What a manager serves: probes for the kubelet, metrics, pages for whoever debugs it. Starts first, ends last."""

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.lifecycle import Group
from clientgo.manager.options import Options
from clientgo.rest.config import Config
from clientgo.serving import Check, Server, not_shutting_down, probe_routes
from clientgo.serving.checks import SILENT_SECONDS, Informer, Queue, Unhealthy, informers_synced
from clientgo.serving.listening import address_of

log = logging.getLogger(__name__)

END_SECONDS = 5.0
"""How long answers that are under way may take when the program ends."""


class Exhibits:
    """The checks behind `/healthz` and `/readyz`, and what the debug pages show; all of it may grow."""

    def __init__(self, informers: Callable[[], Iterable[Informer]], *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.informers: Iterable[Informer] = _Current(informers)
        self.queues: list[Queue] = []
        self._clock = clock
        # When each informer was first asked how it stands: one that came late may be silent for as long as any other.
        # By the informer, because those of two clusters have the same names.
        self._met: weakref.WeakKeyDictionary[Informer, float] = weakref.WeakKeyDictionary()
        self.alive: dict[str, Check] = {"watches": self._watches}
        self.ready: dict[str, Check] = {"informers": informers_synced(self.informers), "shutdown": _not_begun}

    def began(self, stop: threading.Event) -> None:
        """The program runs until `stop` is set."""
        self.ready["shutdown"] = not_shutting_down(stop)

    def _watches(self) -> None:
        now, silent = self._clock.now(), []
        for informer in self.informers:
            state, met = informer.state(), self._met.setdefault(informer, now)
            seconds = now - (met if state.last_event is None else state.last_event)
            if seconds > SILENT_SECONDS:
                silent.append(f"{state.name} for {seconds:.0f} s")
        if silent:
            raise Unhealthy(f"nothing heard of the server: {', '.join(silent)}")


def _not_begun() -> None:
    raise Unhealthy("not started yet")


class _Current:
    """The informers there are each time it is asked: they come when they are first needed."""

    def __init__(self, informers: Callable[[], Iterable[Informer]]) -> None:
        self._informers = informers

    def __iter__(self) -> Iterator[Informer]:
        return iter(self._informers())


class Servers:
    """The servers of a manager; `urls` is where each that runs is reached."""

    def __init__(self, options: Options, config: Config | None, exhibits: Exhibits) -> None:
        """Made before anything that counts: with metrics, their provider is set here."""
        self.urls: dict[str, str] = {}
        self._probes = Server(
            options.health_probe_bind_address,
            {**probe_routes(exhibits.alive), **probe_routes(exhibits.ready, path="/readyz")},
            name="probes",
        )
        self._metrics: Callable[[ExitStack], Server] | None = None
        if address_of(options.metrics_bind_address) is not None:
            # Loaded here: metrics cost a tenth of a second and ten megabytes, and many a program serves none.
            from clientgo.manager.metricsserver import metrics_server  # noqa: PLC0415

            self._metrics = metrics_server(options, config, exhibits)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve as long as the block lasts; ConfigError if an address is taken or a certificate can't be used."""
        with ExitStack() as stack:
            # Threads of its own, which the program's stop must not end: that readiness fails has to be seen.
            group = stack.enter_context(Group().ending_within(END_SECONDS))
            if self._metrics is not None:
                log.info("Starting metrics server")
                self._start(self._metrics(stack), group, stack)
            log.info("starting manager")
            if self._probes.address is not None:
                self._start(self._probes, group, stack)
            yield

    def _start(self, server: Server, group: Group, stack: ExitStack) -> None:
        server.start(group)
        stack.callback(server.stop)
        self.urls[server.name] = server.url
        log.info("starting server", extra={"server": server.name, "addr": server.url})
