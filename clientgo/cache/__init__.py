"""Caches that follow the server: informers, their stores, and listers to read them."""

from clientgo.cache.factory import InformerFactory, KindInformer
from clientgo.cache.informer import Registration, SharedInformer
from clientgo.cache.lister import Lister
from clientgo.cache.mutation import MutationCache
from clientgo.cache.reflector import Reflector
from clientgo.cache.store import NAMESPACE_INDEX, Indexer, by_namespace
from clientgo.cache.sync import wait_for_cache_sync
from clientgo.cache.tombstone import DeletedFinalStateUnknown, last_known
from clientgo.cache.transform import drop_managed_fields, keep_everything

__all__ = [
    "NAMESPACE_INDEX", "DeletedFinalStateUnknown", "Indexer", "InformerFactory", "KindInformer", "Lister",
    "MutationCache", "Reflector", "Registration", "SharedInformer", "by_namespace", "drop_managed_fields",
    "keep_everything", "last_known", "wait_for_cache_sync",
]  # fmt: skip
