"""Caches that follow the server: informers, their stores, and listers to read them; and watches that go on."""

from typing import TYPE_CHECKING

from clientgo.exports import on_demand

if TYPE_CHECKING:
    from clientgo.cache.conditions import Interrupted, WatchClosed, until, until_with_sync, until_without_retry
    from clientgo.cache.expiration import ExpirationStore
    from clientgo.cache.factory import InformerFactory, KindInformer
    from clientgo.cache.identity import InformerName
    from clientgo.cache.informer import SharedInformer
    from clientgo.cache.lister import Lister
    from clientgo.cache.mutation import MutationCache
    from clientgo.cache.pager import Pager
    from clientgo.cache.reflector import Reflector
    from clientgo.cache.registration import Registration
    from clientgo.cache.retrywatcher import RetryWatcher
    from clientgo.cache.state import InformerState
    from clientgo.cache.store import NAMESPACE_INDEX, Indexer, by_namespace
    from clientgo.cache.sync import SyncResult, wait_for, wait_for_cache_sync
    from clientgo.cache.tombstone import DeletedFinalStateUnknown, last_known
    from clientgo.cache.transform import drop_managed_fields, keep_everything
else:
    __getattr__ = on_demand(
        __name__,
        {
            "conditions": "Interrupted WatchClosed until until_with_sync until_without_retry",
            "expiration": "ExpirationStore",
            "factory": "InformerFactory KindInformer",
            "identity": "InformerName",
            "informer": "SharedInformer",
            "lister": "Lister",
            "mutation": "MutationCache",
            "pager": "Pager",
            "reflector": "Reflector",
            "registration": "Registration",
            "retrywatcher": "RetryWatcher",
            "state": "InformerState",
            "store": "NAMESPACE_INDEX Indexer by_namespace",
            "sync": "SyncResult wait_for wait_for_cache_sync",
            "tombstone": "DeletedFinalStateUnknown last_known",
            "transform": "drop_managed_fields keep_everything",
        },
    )

__all__ = [
    "NAMESPACE_INDEX", "DeletedFinalStateUnknown", "ExpirationStore", "Indexer", "InformerFactory", "InformerName",
    "InformerState", "Interrupted", "KindInformer", "Lister", "MutationCache", "Pager", "Reflector", "Registration",
    "RetryWatcher", "SharedInformer", "SyncResult", "WatchClosed", "by_namespace", "drop_managed_fields",
    "keep_everything", "last_known", "until", "until_with_sync", "until_without_retry", "wait_for",
    "wait_for_cache_sync",
]  # fmt: skip
