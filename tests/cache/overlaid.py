"""Versions of one object, and what a mutation cache returns of it."""

from clientgo.cache import MutationCache
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName

KEY = ObjectName("ns", "name")


def version(number: int, uid: str = "uid-1") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="name", namespace="ns", uid=uid, resource_version=str(number)))


def seen(cache: MutationCache[ConfigMap]) -> str | None:
    stored = cache.get_by_key(KEY)
    return stored.metadata.resource_version if stored is not None else None


def by_uid(obj: ConfigMap) -> list[str]:
    return [obj.metadata.uid]
