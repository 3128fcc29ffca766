"""Options of a manager; times are seconds, addresses `HOST:PORT` or `:PORT`, and None means off."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.cache import drop_managed_fields
from clientgo.cache.store import Transform
from clientgo.cache.watcher import Tweak
from clientgo.coordination.options import LeaderElectionOptions
from clientgo.errors import ConfigError
from clientgo.manager.requesters import FieldValidation
from clientgo.meta.codec import replace
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.scheme import Scheme, api_of
from clientgo.meta.selectors import parse_field_selector, parse_selector
from clientgo.program.flags import Address
from clientgo.reconcile.history import RECENT

SYNC_SECONDS = 120.0
"""Time limit for filling a cache (controller-runtime's CacheSyncTimeout)."""

RESYNC_SECONDS = 36_000.0
"""Ten hours (controller-runtime's SyncPeriod): a safety net for lost events; controllers must not rely on it."""


def check_least(name: str, value: float | None, least: int) -> None:
    """Raise ConfigError if an option is below its minimum; None is allowed."""
    if value is not None and not value >= least:
        raise ConfigError(f"{name} must be at least {least}, got {value!r}")


@dataclass(frozen=True, slots=True)
class ByObject:
    """Cache options of one kind; omitted ones are those of all kinds.

    They apply to every representation of the kind: its class, unstructured, and metadata only. Only `transform` is
    limited to the class that it is given for. `namespaces` or `namespace_selector` replace both of all kinds. Without
    `bookmarks` the server does not report the progress of a watch, so more broken watches have to list again.

    For two selectors of one kind, derive a class from that of the kind and mark it with the same API type: it has a
    cache and options of its own. `@api_of(Secret) class OwnSecret(Secret, frozen=True): ...`

    Raises:
        ValueError: a selector is invalid.
    """

    namespaces: tuple[str, ...] | None = None
    namespace_selector: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    transform: Transform[Any] | None = None
    resync: float | None = None
    bookmarks: bool = True

    def __post_init__(self) -> None:
        _check_selectors(self.label_selector or "", self.field_selector or "")
        _check_namespaces(self.namespaces or (), self.namespace_selector or "")


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Options of caches: `namespaces` (default: all), `resync` interval in seconds, options of single kinds by class.

    Instead of names, `namespace_selector` selects namespaces by their labels, and follows them as they come and go; the
    program needs the permission to list and watch namespaces then.
    Every kind must support a `field_selector` given for all; `metadata.name` and `metadata.namespace` are supported.
    With `fail_on_missing_informer` a read never starts an informer, so that no kind is watched by accident. An informer
    that only the client's reads use is stopped after `idle_timeout` seconds without a read, at most twice as many; the
    next read starts it again.

    Raises:
        ValueError: a selector or the timeout is invalid.
    """

    namespaces: tuple[str, ...] = ()
    namespace_selector: str = ""
    label_selector: str = ""
    field_selector: str = ""
    resync: float = RESYNC_SECONDS
    transform: Transform[Any] = drop_managed_fields
    by_object: Mapping[type[Any], ByObject] = field(default_factory=dict)
    sync_timeout: float = SYNC_SECONDS
    fail_on_missing_informer: bool = False
    idle_timeout: float | None = None

    def __post_init__(self) -> None:
        # Copies: later changes of the program's list and dict do not concern caches.
        object.__setattr__(self, "namespaces", tuple(self.namespaces))
        object.__setattr__(self, "by_object", dict(self.by_object))
        _check_selectors(self.label_selector, self.field_selector)
        _check_namespaces(self.namespaces, self.namespace_selector)
        if self.idle_timeout is not None and self.idle_timeout <= 0:
            raise ValueError(f"invalid idle_timeout {self.idle_timeout}: expected positive seconds, or None for never")

    def of_kind(self, cls: type[Any]) -> ByObject | None:
        """Return the options of a class's kind, or None: those of the class, or of another class of the same resource.

        Two classes of one resource are representations of one kind.
        """
        exact = self.by_object.get(cls)
        if exact is not None:
            return exact
        resource = api_of(cls).gvr
        same = next((options for other, options in self.by_object.items() if api_of(other).gvr == resource), None)
        return replace(same, transform=None) if same is not None else None

    def scope_of(self, by_object: ByObject | None) -> tuple[tuple[str, ...], str]:
        """Return the namespaces of a kind (of all, if empty) and their selector."""
        if by_object is None or (by_object.namespaces is None and by_object.namespace_selector is None):
            return self.namespaces, self.namespace_selector
        return by_object.namespaces or (), by_object.namespace_selector or ""

    def tweak(self, by_object: ByObject) -> Tweak | None:
        """Return the change of list and watch options for a kind, or None."""
        labels = self.label_selector if by_object.label_selector is None else by_object.label_selector
        fields = self.field_selector if by_object.field_selector is None else by_object.field_selector
        if not labels and not fields and by_object.bookmarks:
            return None

        def tweaked(options: ListOptions) -> ListOptions:
            # A streamed list ends with a bookmark, and would never end without it.
            bookmarks = options.allow_watch_bookmarks and (by_object.bookmarks or options.send_initial_events)
            return replace(options, label_selector=labels, field_selector=fields, allow_watch_bookmarks=bookmarks)

        return tweaked


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Options of one cluster.

    `name` identifies the program there: as a field manager, in events, in the metrics of its informers; `run` has a
    default for it. Objects of a class of `Unstructured` are cached only with `cache_unstructured`. `field_validation`
    tells the server how to treat unknown fields in writes; None leaves that to the server.
    """

    name: str = ""
    scheme: Scheme = field(default_factory=Scheme)
    cache: CacheOptions = field(default_factory=CacheOptions)
    cache_unstructured: bool = False
    field_validation: FieldValidation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ClusterOptions):
    """Options of a manager. By default there are no servers and no leader election.

    Metrics are served over HTTPS with authentication and authorization, unless they are bound to loopback or
    `metrics_secure` says otherwise; with the certificate in `metrics_cert_dir` (tls.crt, tls.key) or a self-signed one.
    The dashboard shows the last `reconcile_history` reconciliations of each controller (0 to record none), and /flagz
    the `flags`. `workers` overrides the number of workers of each controller. `graceful_shutdown_timeout` limits the
    whole shutdown: 0 for no time, -1 for no limit.
    """

    name: str = "manager"
    leader_election: LeaderElectionOptions | None = None
    workers: int | None = None
    metrics_bind_address: Address | str | None = None
    metrics_secure: bool | None = None
    metrics_cert_dir: str | None = None
    health_probe_bind_address: Address | str | None = None
    reconcile_history: int = RECENT
    flags: Mapping[str, object] = field(default_factory=dict)
    graceful_shutdown_timeout: float = 30.0

    def __post_init__(self) -> None:
        # Here, because controllers check only their own number.
        check_least("workers", self.workers, 1)

    @property
    def grace(self) -> float | None:
        """Seconds that the shutdown may take; None for no limit."""
        return None if self.graceful_shutdown_timeout < 0 else self.graceful_shutdown_timeout


def _check_namespaces(namespaces: tuple[str, ...], selector: str) -> None:
    parse_selector(selector)
    if namespaces and selector:
        raise ValueError(f"namespaces {namespaces} and namespace_selector {selector!r} exclude each other: pass one")


def _check_selectors(labels: str, fields: str) -> None:
    parse_selector(labels)
    parse_field_selector(fields)
