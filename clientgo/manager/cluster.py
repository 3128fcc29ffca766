"""Connection of a manager to one cluster: shared informers, a client and event recorders.

The manager's attributes are those of its own cluster. Others are added to it:

    east = manager.add_cluster(load_config(context="east"), ClusterOptions(name="foo-east"))
    ControllerBuilder(manager).for_(Foo).watches_source(KindSource(east.cache, Secret, foos_with)).complete(reconciler)
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing

from clientgo.cache.metrics import InformerName
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.manager.cache import Cache
from clientgo.manager.client import Client
from clientgo.manager.kinds import ApiReader, Kinds
from clientgo.manager.options import ClusterOptions
from clientgo.manager.requesters import LimitedRequester
from clientgo.manager.runnables import CACHES
from clientgo.meta.scheme import Scheme
from clientgo.record import EventBroadcaster, EventRecorder, sink_for
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import Requester, checked_requester
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)


class Cluster:
    """One cluster; the manager runs it among its caches and continues once it has synced.

    `client` reads from the cache and writes while `may_write` returns True; `api_reader` reads from the server;
    `requester` sends any request. `config` may be a clientset or requester, including fakes.
    """

    stage = CACHES

    def __init__(
        self,
        config: Config | Requester | BaseClientset,
        options: ClusterOptions,
        *,
        may_write: Callable[[], bool],
        ending: threading.Event | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Once `ending` is set, requests end; those of the caches go on until they are stopped themselves."""
        if not options.name:
            raise ConfigError("the name of the cluster options must not be empty: writes, events and metrics use it")
        self.options = options
        self.name = f"caches-{options.name}"
        self.ready = threading.Event()
        """Event that is set once all informers that were requested before the start have synced."""
        self.config = config if isinstance(config, Config) else None
        self._resources = ExitStack()
        caching = self._connect(config)
        self.requester = caching
        if ending is not None and isinstance(caching, RESTClient):
            self.requester = caching.with_stop(ending)
        self._kinds = Kinds(options.scheme)
        limited = LimitedRequester(self.requester)
        self._writer = FencedRequester(limited, may_write)
        self.events = EventBroadcaster(clock=clock)
        self.recorder = self.event_recorder()
        self.cache = Cache(caching, self._kinds, options.cache, name=self._informer_name(), clock=clock)
        self.client = Client(
            self.cache,
            self._writer,
            self._kinds,
            field_manager=options.name,
            field_validation=options.field_validation,
            cache_unstructured=options.cache_unstructured,
        )
        self.api_reader = ApiReader(limited, self._kinds)

    def __repr__(self) -> str:
        return f"<Cluster {self.options.name} {self.cache!r}>"

    @property
    def scheme(self) -> Scheme:
        """Kinds in use, each with its class."""
        return self._kinds.scheme

    def event_recorder(self, controller: str = "") -> EventRecorder:
        """Return a recorder of events reported by `controller` (default: the cluster's name)."""
        return self.events.new_recorder(component=controller or self.options.name)

    def send_events(self) -> None:
        """Send all events recorded from now on; earlier ones are dropped."""
        self.events.start_recording_to_sink(sink_for(self._writer))

    def start(self, stop: threading.Event) -> None:
        """Sync the caches and keep them until `stop` is set; raise `CacheNotSynced` or the crash of an informer."""
        self.cache.start(stop)
        try:
            self.cache.wait_for(stop, self.cache.informers(), what="the cache")
            self.ready.set()
            stop.wait()
        finally:
            # Raises the crash of an informer, which sets `stop` too.
            self.cache.shutdown()

    def close(self) -> None:
        """Release connections and names."""
        self._resources.close()

    def _informer_name(self) -> InformerName | None:
        try:
            name = InformerName(self.options.name)
        except ValueError:
            # Used by another cluster of this process; metrics of two clusters under one name would be useless.
            log.info("informers have no metrics: their name is in use", extra={"informers": self.options.name})
            return None
        self._resources.callback(name.release)
        return name

    def _connect(self, config: Config | Requester | BaseClientset) -> Requester:
        if isinstance(config, BaseClientset):
            return config.requester
        if not isinstance(config, Config):
            return checked_requester(config)
        return self._resources.enter_context(closing(RESTClient(config)))
