"""What a manager caches, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.cache import drop_managed_fields
from clientgo.cache.transform import Transform
from clientgo.cache.watching import Tweak
from clientgo.meta.codec import replace
from clientgo.meta.options import ListOptions

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
