"""Whether a server has the past that a cache tells of, judged by one object of it.

A server restored from a backup may have been given versions beyond those of before, and a new one may have got there by
itself: neither refuses a version it never gave. But what it had by then is known here, or it is another's.
"""

from collections.abc import Callable
from typing import TypeVar

from clientgo.meta.codec import ObjectList
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, ObjectMeta
from clientgo.meta.resourceversion import at_least

T = TypeVar("T", bound=ApiObject)

Known = Callable[[ObjectName], ObjectMeta | None]
"""Returns the metadata of an object as the server sent it last, whether or not the cache could store the object."""


def foreign(page: ObjectList[T], seen: str, known: Known, *, all_cached: bool = True) -> str:
    """Return why another server than the one known up to version `seen` sent this page; empty if none is found.

    Only the first object is examined. An object that came or changed after `seen` is no evidence, unless it has another
    uid: then a list is the safe way to learn of both. Without `all_cached` a missing object is none either: the cache
    holds a selection only.
    """
    if not page.items:
        return ""
    key, there = object_name(page.items[0]), page.items[0].metadata
    here = known(key)
    if here is not None and here.uid and there.uid and here.uid != there.uid:
        return f"the server has another {key} than the one it told of"
    differs = all_cached if here is None else _differs(here, there)
    if differs and at_least(seen, there.resource_version):
        return f"the server has {key} at resourceVersion {there.resource_version}, of which it never told"
    return ""


def _differs(here: ObjectMeta, there: ObjectMeta) -> bool:
    # A transform may have dropped the version.
    return bool(here.resource_version) and here.resource_version != there.resource_version
