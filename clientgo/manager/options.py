"""What a manager is to be like; times are seconds, addresses `HOST:PORT` or `:PORT`, and None is off."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.cache import drop_managed_fields
from clientgo.cache.store import Transform
from clientgo.cache.watcher import Tweak
from clientgo.coordination.options import LeaderElectionOptions
from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.manager.requesters import FieldValidation
from clientgo.meta.codec import replace
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.scheme import Scheme

SYNC_SECONDS = 120.0
"""How long a cache may take to fill (controller-runtime's CacheSyncTimeout)."""

RESYNC_SECONDS = 36_000.0
"""Ten hours (controller-runtime's SyncPeriod): against a bug that loses an event; no controller may rely on it."""


@dataclass(frozen=True, slots=True)
class ByObject:
    """Which objects of a kind are cached, and how; what is not given is as for every kind.

    Without `bookmarks` the server does not tell how far a watch has come: one that is lost is more often begun anew.
    """

    namespaces: tuple[str, ...] | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    transform: Transform[Any] | None = None
    resync: float | None = None
    bookmarks: bool = True


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """How caches are kept: of which `namespaces` (none: all), shown again every `resync` seconds; and of single kinds.

    Every kind must have the fields of a `field_selector` that is for all; `metadata.name` and `metadata.namespace` are.
    With `fail_on_missing_informer` a read starts no informer, so that no kind is watched by accident.
    """

    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""
    resync: float = RESYNC_SECONDS
    transform: Transform[Any] = drop_managed_fields
    by_object: Mapping[type[Any], ByObject] = field(default_factory=dict)
    sync_timeout: float = SYNC_SECONDS
    fail_on_missing_informer: bool = False

    def tweak(self, own: ByObject) -> Tweak | None:
        """What lists and watches of a kind ask for besides, if anything."""
        labels = self.label_selector if own.label_selector is None else own.label_selector
        fields = self.field_selector if own.field_selector is None else own.field_selector
        if not labels and not fields and own.bookmarks:
            return None

        def tweaked(options: ListOptions) -> ListOptions:
            # A list that is streamed ends with a bookmark: without any, it would not.
            bookmarks = options.allow_watch_bookmarks and (own.bookmarks or options.send_initial_events)
            return replace(options, label_selector=labels, field_selector=fields, allow_watch_bookmarks=bookmarks)

        return tweaked


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How a program has to do with one cluster.

    `name` is what the program calls itself there: as a field manager, in events, in its informers' metrics. Objects of
    a class of `Unstructured` are cached only with `cache_unstructured`. `field_validation` is what the server does
    about fields that it does not know in what is written; None leaves that to the server.
    """

    name: str
    scheme: Scheme = field(default_factory=Scheme)
    cache: CacheOptions = field(default_factory=CacheOptions)
    cache_unstructured: bool = False
    field_validation: FieldValidation | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("a manager needs a name for each cluster: its writes, events and metrics carry it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ClusterOptions):
    """What a manager is to be like. Nothing listens, and nobody is elected, unless it is asked for.

    Metrics are served by HTTPS, and to whom the cluster allows it, beyond loopback or as `metrics_secure` says; with
    the certificate in `metrics_cert_dir` (tls.crt, tls.key) or one of its own. `graceful_shutdown_timeout` is how long
    all of it may take to end: 0 for no time, -1 for all the time it takes.
    """

    name: str = "manager"
    leader_election: LeaderElectionOptions | None = None
    metrics_bind_address: Address | str | None = None
    metrics_secure: bool | None = None
    metrics_cert_dir: str | None = None
    health_probe_bind_address: Address | str | None = None
    graceful_shutdown_timeout: float = 30.0

    @property
    def grace(self) -> float | None:
        """Seconds that the shutdown may take; None for no limit."""
        return None if self.graceful_shutdown_timeout < 0 else self.graceful_shutdown_timeout
