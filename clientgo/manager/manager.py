"""Manager: owns what the controllers of a program share, and runs them: caches, client, events, lease and servers.

    manager = Manager(load_config(), options=Options(name="foo-manager", health_probe_bind_address=":8081"))
    ControllerBuilder(manager).for_(Foo).owns(Deployment).complete(FooReconciler(manager))
    manager.run(stop_on_signals())

It starts servers, webhooks, caches, the runnables of every replica, the lease, and the runnables of the leader, in this
order; it stops them in the opposite order, within `graceful_shutdown_timeout` seconds.
"""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from clientgo.cache import SharedInformer
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.coordination import Coordinator, coordinator_for
from clientgo.log import get_logger
from clientgo.manager.cluster import Cluster
from clientgo.manager.controllers import Controller, release_name
from clientgo.manager.options import ClusterOptions, Options
from clientgo.manager.reconciler import Reconciler, new_reconciler
from clientgo.manager.runnables import CACHES, LEADER, ORDER, Runnable, RunnableGroup, function_of, stage_of
from clientgo.manager.sources import Channel
from clientgo.meta.scheme import Scheme
from clientgo.record.broadcaster import shut_down
from clientgo.rest.config import Config
from clientgo.rest.limits import Deadline
from clientgo.rest.request import Requester
from clientgo.serving import Check, Diagnostics, serve_diagnostics
from clientgo.stop.lifecycle import StillRunning
from clientgo.stop.stopping import GRACE, StopEvent, scope_of
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)


class Manager:
    """Runs controllers and other runnables, once.

    `config` describes the cluster; a clientset or requester, including fakes, may stand in for one. `client` reads from
    the cache and writes while this replica may; `api_reader` reads from the server; `requester` sends any request, even
    in a standby. `recorder` records events, `event_recorder(controller)` returns a recorder with another name.
    With metrics, create everything that is to be counted after the manager.
    """

    def __init__(
        self, config: Config | Requester | BaseClientset, *, options: Options | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.options = options = options if options is not None else Options()
        self.clock = clock
        self._resources = ExitStack()
        self._diagnostics = Diagnostics(
            options,
            config if isinstance(config, Config) else None,
            component=options.name,
            flags=options.flags,
            clock=clock,
        )
        self._diagnostics.add_informers(self._informers)
        self.elected = threading.Event()
        """Event that is set once this replica works: it leads or is the only one, and its caches have synced."""
        # Stops the program; the first failure sets it.
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._begun = False
        # Set with `_stop`, which is not known yet: requests of any thread end then, but for those of the caches.
        self._ending = StopEvent()
        # Set once the leader's work has ended or timed out: threads that are still running may not write any more.
        self._closed = False
        self._late: list[str] = []  # threads that did not end within the grace period
        self._controllers: list[Controller] = []
        self._stages = {name: RunnableGroup(name, self._fail, grace=options.grace, clock=clock) for name in ORDER}
        # Guarded by _lock, like _recording.
        self._clusters: list[Cluster] = []
        self._recording = False
        self.cluster = self.add_cluster(config, options)
        self.requester, self.api_reader = self.cluster.requester, self.cluster.api_reader
        self.cache, self.client = self.cluster.cache, self.cluster.client
        self.recorder, self.event_recorder = self.cluster.recorder, self.cluster.event_recorder
        self._coordinator: Coordinator = self._resources.enter_context(
            coordinator_for(
                options.leader_election, self.cluster.config or self.requester, recorder=self.recorder, clock=clock
            )
        )
        self._diagnostics.alive["leaderElection"] = self._coordinator.check
        self._diagnostics.facts["Coordination"] = self._coordinator.describe

    def __repr__(self) -> str:
        names = ", ".join(controller.name for controller in self._controllers)
        return f"<Manager {self.options.name} of {names or 'nothing'}>"

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """Controllers added so far."""
        return tuple(self._controllers)

    @property
    def scheme(self) -> Scheme:
        """Kinds in use, each with its class."""
        return self.cluster.scheme

    @property
    def urls(self) -> dict[str, str]:
        """Addresses of the running servers, `probes` and `metrics`, and of the `dashboard`."""
        return dict(self._diagnostics.urls)

    @property
    def is_leader(self) -> bool:
        """True while this replica may write."""
        return self._may_write()

    def add(self, runnable: Runnable) -> None:
        """Run a function of a stop event, or an object with `start(stop)`, together with the manager.

        Only the leader runs it, unless its attribute `needs_leader_election` is False; see `Startable`.

        Raises:
            TypeError: it is neither.
            ValueError: its stage does not exist.
        """
        function_of(runnable)
        self._stages[stage_of(runnable)].add(runnable)

    def add_reconciler(self, reconciler: Reconciler[Any] | type[Reconciler[Any]]) -> Controller:
        """Run a reconciler, or one of this class with the manager's client and recorder; return its controller.

        Raises:
            ConfigError: it declares no kind, needs other arguments, cannot be called with an object, or its name is
                in use.
        """
        if isinstance(reconciler, type):
            reconciler = new_reconciler(reconciler, self.client, self.recorder)
        return reconciler.setup_with_manager(self)

    def add_controller(self, controller: Controller) -> None:
        """Run a controller; called by builders."""
        if self.options.workers is not None:
            controller.options = replace(controller.options, workers=self.options.workers)
        with self._lock:
            self._controllers.append(controller)
            begun = self._begun
        self._diagnostics.add_controller(controller.queue, controller.attempts, controller.is_cached)
        if begun and controller.options.warm_up:
            controller.warm_up(self._stages[LEADER].stop_event)
        self.add(controller)

    def add_cluster(self, config: Config | Requester | BaseClientset, options: ClusterOptions) -> Cluster:
        """Add another cluster: this manager runs its caches and fences its writes as it does for its own cluster.

        Controllers may have sources of its cache: `KindSource(cluster.cache, Secret, to_requests)`. They start once the
        caches of all clusters have synced.
        """
        cluster = Cluster(config, options, may_write=self._may_write, ending=self._ending, clock=self.clock)
        self._resources.callback(cluster.close)
        self._diagnostics.add_events(cluster.events)
        with self._lock:
            self._clusters.append(cluster)
            recording = self._recording
        if recording:
            cluster.send_events()
        self.add(cluster)
        return cluster

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Add a check to `/healthz`: the kubelet restarts the program if it fails."""
        self._diagnostics.alive[name] = check

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Add a check to `/readyz`: the program receives no requests while it fails."""
        self._diagnostics.ready[name] = check

    def close(self) -> None:
        """Release connections and names of a manager that will not run; `run` does this at its end."""
        for controller in self._controllers:
            release_name(controller)
        self._resources.close()

    def run(self, stop: threading.Event) -> None:
        """Run everything until `stop` is set, then shut down in order; `stop` is always set when this returns.

        Raises:
            LeadershipLost: another replica may lead now.
            StillRunning: a runnable did not end within `graceful_shutdown_timeout`; the message names it.
            ConfigError: an address is in use, or a certificate is invalid.
            RuntimeError: the manager has run before.
            BaseException: the first error of a runnable.
        """
        with self._lock:
            if self._begun:
                raise RuntimeError("a manager runs only once: create another one")
            self._begun, self._stop = True, stop
        deadline = Deadline(self.options.grace, self.clock)
        scope_of(stop).add(self, self._ending.set)
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
                return  # stopped, or a runnable failed
            for controller in self._controllers.copy():
                if controller.needs_leader_election and controller.options.warm_up:
                    controller.warm_up(self._stages[LEADER].stop_event)
            self._coordinator.run(lambda over: self._lead(over, deadline), stop)
        except BaseException as error:  # noqa: BLE001  # raised by `run` at its end
            self._fail(error)
        finally:
            stop.set()
            self._end_events()
            for name in reversed(ORDER):
                self._end(name, deadline)
            self._closed = True

    def _begin(self, stop: threading.Event) -> bool:
        # Start the groups of every replica; return whether the leader's may follow.
        for name in ORDER[: ORDER.index(LEADER)]:
            if stop.is_set():
                return False
            if name == CACHES:
                self._open_caches()
            self._stages[name].begin(stop)
        return not stop.is_set()

    def _lead(self, over: threading.Event, deadline: Deadline) -> None:
        stage = self._stages[LEADER]
        stage.begin(over)
        self.elected.set()
        over.wait()
        self._end(LEADER, deadline)
        # Now, because events may be sent only while the lease is held.
        self._end_events()
        self._closed = True

    def _end(self, name: str, deadline: Deadline) -> None:
        deadline.start()
        self._late += self._stages[name].end(max(0.0, deadline.remaining()))

    def _open_caches(self) -> None:
        # Before their group starts, because its other runnables may read, and then wait for the sync.
        with self._lock:
            clusters = self._clusters.copy()
        for cluster in clusters:
            cluster.cache.start(self._stages[CACHES].stop_event)

    def _start_events(self) -> None:
        with self._lock:
            self._recording, clusters = True, self._clusters.copy()
        for cluster in clusters:
            cluster.send_events()

    def _end_events(self) -> None:
        with self._lock:
            self._recording, clusters = False, self._clusters.copy()
        shut_down([cluster.events for cluster in clusters], timeout=GRACE, clock=self.clock)

    def _informers(self) -> list[SharedInformer[Any] | Channel[Any]]:
        with self._lock:
            clusters, controllers = self._clusters.copy(), self._controllers.copy()
        informers = [informer for cluster in clusters for informer in cluster.cache.informers()]
        sources = {id(source): source for controller in controllers for source in controller.sources}
        channels = [source for source in sources.values() if isinstance(source, Channel) and source.state().failing]
        return [*informers, *channels]

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
