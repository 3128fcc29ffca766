"""Informers, their stores and listers, and watches that are resumed."""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.cache.factory import InformerFactory, KindInformer
    from clientgo.cache.handlers import DeletedFinalStateUnknown, last_known
    from clientgo.cache.informer import SharedInformer
    from clientgo.cache.listener import Registration
    from clientgo.cache.lister import Lister
    from clientgo.cache.metrics import InformerName
    from clientgo.cache.mutation import MutationCache
    from clientgo.cache.pager import Pager
    from clientgo.cache.reflector import Reflector, ReflectorOptions
    from clientgo.cache.state import InformerState, SyncResult, wait_for, wait_for_cache_sync
    from clientgo.cache.store import NAMESPACE_INDEX, Indexer, by_namespace, drop_managed_fields, keep_everything
    from clientgo.cache.watchtools import (
        Interrupted,
        RetryWatcher,
        WatchClosed,
        until,
        until_with_sync,
        until_without_retry,
    )
else:
    __getattr__ = on_demand(
        __name__,
        {
            "factory": "InformerFactory KindInformer",
            "handlers": "DeletedFinalStateUnknown last_known",
            "informer": "SharedInformer",
            "listener": "Registration",
            "lister": "Lister",
            "metrics": "InformerName",
            "mutation": "MutationCache",
            "pager": "Pager",
            "reflector": "Reflector ReflectorOptions",
            "state": "InformerState SyncResult wait_for wait_for_cache_sync",
            "store": "NAMESPACE_INDEX Indexer by_namespace drop_managed_fields keep_everything",
            "watchtools": "Interrupted RetryWatcher WatchClosed until until_with_sync until_without_retry",
        },
    )

__all__ = [
    "NAMESPACE_INDEX", "DeletedFinalStateUnknown", "Indexer", "InformerFactory", "InformerName", "InformerState",
    "Interrupted", "KindInformer", "Lister", "MutationCache", "Pager", "Reflector", "ReflectorOptions", "Registration",
    "RetryWatcher", "SharedInformer", "SyncResult", "WatchClosed", "by_namespace", "drop_managed_fields",
    "keep_everything", "last_known", "until", "until_with_sync", "until_without_retry", "wait_for",
    "wait_for_cache_sync",
]  # fmt: skip
