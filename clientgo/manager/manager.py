"""Owns what controllers of one program share, and runs them: caches, a client, events, the lease, servers.

    manager = Manager(load_config(), options=Options(name="foo-manager", health_probe_bind_address=":8081"))
    controller(manager).for_(Foo).owns(Deployment).complete(FooReconciler(manager))
    manager.run(stop_on_signals())

It begins in the order servers, webhooks, caches, whatever every replica runs, the lease, whatever only the leader runs;
and ends in the opposite order, within `graceful_shutdown_timeout` seconds.
"""

import logging
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from clientgo.cache import SharedInformer
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.coordination import Coordinator, coordinator_for
from clientgo.lifecycle import StillRunning
from clientgo.manager.cluster import Cluster
from clientgo.manager.controllers import Controller, release_name
from clientgo.manager.options import ClusterOptions, Options
from clientgo.manager.runnables import CACHES, LEADER, ORDER, Runnable, RunnableGroup, function_of, stage_of
from clientgo.meta.scheme import Scheme
from clientgo.rest.config import Config
from clientgo.rest.limits import Deadline
from clientgo.rest.request import Requester
from clientgo.serving import Check, Diagnostics, serve_diagnostics
from clientgo.typed.clientset import BaseClientset

log = logging.getLogger(__name__)


class Manager:
    """Runs controllers and whatever else is added, once.

    `config` says which cluster; a clientset or requester, fakes included, stands in for one. `client` reads from the
    cache and writes as long as this replica may; `api_reader` reads from the server; `requester` does what it is told
    even in a replica that stands by. `recorder` records events as core/v1 has them, `event_recorder(controller)` makes
    recorders of events.k8s.io/v1. With metrics, whatever is to be counted must be made after the manager.
    """

    def __init__(
        self, config: Config | Requester | BaseClientset, *, options: Options | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.options = options = options if options is not None else Options()
        self.clock = clock
        self._own = ExitStack()
        self._diagnostics = Diagnostics(options, config if isinstance(config, Config) else None, clock=clock)
        self._diagnostics.add_informers(self._informers)
        self.elected = threading.Event()
        """Set once this replica works: it leads, or is alone, and caches can be read."""
        # What ends the program, and why: set by whoever fails first.
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._begun = False
        # Set when ending begins: no request waits then for its turn, or for a server that asks to come again later.
        self._ending = threading.Event()
        # Set once the leader's work has ended, or was given up: whatever goes on all the same may write no more.
        self._closed = False
        self._late: list[str] = []  # threads that did not end within the grace period
        self._controllers: list[Controller] = []
        self._stages = {name: RunnableGroup(name, self._fail, clock=clock) for name in ORDER}
        # Guarded by _lock, like whether events are sent.
        self._clusters: list[Cluster] = []
        self._recording = False
        self.cluster = self.add_cluster(config, options)
        self.requester, self.api_reader = self.cluster.requester, self.cluster.api_reader
        self.cache, self.client = self.cluster.cache, self.cluster.client
        self.recorder, self.event_recorder = self.cluster.recorder, self.cluster.event_recorder
        self._coordinator: Coordinator = self._own.enter_context(
            coordinator_for(
                options.leader_election, self.cluster.config or self.requester, recorder=self.recorder, clock=clock
            )
        )
        self._diagnostics.alive["leaderElection"] = self._coordinator.check

    def __repr__(self) -> str:
        return f"<Manager {self.options.name} of {', '.join(one.name for one in self._controllers) or 'nothing'}>"

    @property
    def scheme(self) -> Scheme:
        """The kinds in use, each by one class."""
        return self.cluster.scheme

    @property
    def urls(self) -> dict[str, str]:
        """Where its servers are reached while it runs: `probes` and `metrics`."""
        return dict(self._diagnostics.urls)

    @property
    def is_leader(self) -> bool:
        """Whether this replica may write."""
        return self._may_write()

    def add(self, runnable: Runnable) -> None:
        """Run it with the manager, or from now on: a function of a stop event, or something with `start(stop)`.

        Only the leader runs it, unless it has an attribute `needs_leader_election` that is False; see `Startable`.

        Raises:
            TypeError: it is neither.
            ValueError: it names a stage that there is not.
        """
        function_of(runnable)
        self._stages[stage_of(runnable)].add(runnable)

    def add_controller(self, controller: Controller) -> None:
        """Run a controller; for builders, which call it."""
        with self._lock:
            self._controllers.append(controller)
            begun = self._begun
        self._diagnostics.queues.append(controller.queue)
        if begun and controller.options.warm_up:
            controller.warm_up(self._stages[LEADER].stop_event)
        self.add(controller)

    def add_cluster(self, config: Config | Requester | BaseClientset, options: ClusterOptions) -> Cluster:
        """One more cluster: its caches are this manager's to run, its writes are fenced as this cluster's are.

        Sources of any controller may be of its cache: `KindSource(cluster.cache, Secret, to_requests)`. The manager
        does not begin its work before that cluster's caches are filled.
        """
        made = Cluster(config, options, may_write=self._may_write, ending=self._ending, clock=self.clock)
        self._own.callback(made.close)
        with self._lock:
            self._clusters.append(made)
            recording = self._recording
        if recording:
            made.events.start()
        self.add(made)
        return made

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Ask `check` when `/healthz` is asked: a kubelet restarts the program when it raises."""
        self._diagnostics.alive[name] = check

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Ask `check` when `/readyz` is asked: as long as it raises, no requests are sent here."""
        self._diagnostics.ready[name] = check

    def close(self) -> None:
        """Let go of connections and names; for a manager that is not to be run, as `run` ends with this."""
        for one in self._controllers:
            release_name(one)
        self._own.close()

    def run(self, stop: threading.Event) -> None:
        """Run everything until `stop` is set, and end it in good order; `stop` is set in any case when this returns.

        Raises:
            LeadershipLost: another replica may lead now.
            StillRunning: something did not end within `graceful_shutdown_timeout`; the message names it.
            ConfigError: an address is taken, or a certificate can't be used.
            RuntimeError: it has run before.
            BaseException: the first error of what it ran.
        """
        with self._lock:
            if self._begun:
                raise RuntimeError("a manager runs once: make another")
            self._begun, self._stop = True, stop
        deadline = Deadline(self.options.grace, self.clock)
        try:
            with serve_diagnostics(self._diagnostics, stop):
                _log_servers(self.urls)
                self._run(stop, deadline)
        finally:
            stop.set()
            self.close()
        if self._failure is not None:
            raise self._failure
        if self._late and self.options.grace:  # with no time allowed, this is expected
            late = ", ".join(dict.fromkeys(self._late))
            raise StillRunning(f"still running {self.options.grace:g} s after the stop: {late}")
        log.info("stopped")

    def _run(self, stop: threading.Event, deadline: Deadline) -> None:
        try:
            self._start_events()
            if not self._begin(stop):
                return  # told to end, or something can't work
            for one in self._controllers.copy():
                if one.needs_leader_election and one.options.warm_up:
                    one.warm_up(self._stages[LEADER].stop_event)
            self._coordinator.run(lambda over: self._lead(over, deadline), stop)
        except BaseException as error:  # noqa: BLE001  # raised by `run`, once all has ended
            self._fail(error)
        finally:
            stop.set()
            self._end_events()
            for name in reversed(ORDER):
                self._end(name, deadline)
            self._closed = True

    def _begin(self, stop: threading.Event) -> bool:
        # What every replica runs; whether there is anything to begin after it.
        for name in ORDER[: ORDER.index(LEADER)]:
            if stop.is_set():
                return False
            if name == CACHES:
                self._let_caches_be_read()
            self._stages[name].begin(stop)
        return not stop.is_set()

    def _lead(self, over: threading.Event, deadline: Deadline) -> None:
        stage = self._stages[LEADER]
        stage.begin(over)
        self.elected.set()
        over.wait()
        self._end(LEADER, deadline)
        # Here, because events may be sent only as long as the lease is held.
        self._end_events()
        self._closed = True

    def _end(self, name: str, deadline: Deadline) -> None:
        self._ending.set()
        deadline.start()
        self._late += self._stages[name].end(max(0.0, deadline.left()))

    def _let_caches_be_read(self) -> None:
        # Before their stage, and not by its threads: whatever else is in that stage may read, and then waits.
        with self._lock:
            clusters = self._clusters.copy()
        for one in clusters:
            one.cache.start(self._stages[CACHES].stop_event)

    def _start_events(self) -> None:
        with self._lock:
            self._recording, clusters = True, self._clusters.copy()
        for one in clusters:
            one.events.start()

    def _end_events(self) -> None:
        with self._lock:
            self._recording, clusters = False, self._clusters.copy()
        for one in clusters:
            one.events.end()

    def _informers(self) -> list[SharedInformer[Any]]:
        with self._lock:
            clusters = self._clusters.copy()
        return [informer for one in clusters for informer in one.cache.informers()]

    def _may_write(self) -> bool:
        return not self._closed and self._coordinator.may_write()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._failure is None:
                self._failure = error
        self._stop.set()


def _log_servers(urls: Mapping[str, str]) -> None:
    # The lines and their order are controller-runtime's.
    if "metrics" in urls:
        log.info("Starting metrics server")
        log.info("starting server", extra={"server": "metrics", "addr": urls["metrics"]})
    log.info("starting manager")
    if "probes" in urls:
        log.info("starting server", extra={"server": "probes", "addr": urls["probes"]})
