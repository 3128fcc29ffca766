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

Known = Callable[[ObjectName], T | None]
"""Gives the object of that name as it was told last."""


def foreign(page: ObjectList[T], seen: str, known: Known[T]) -> str:
    """Why the server of this page can't be the one whose objects are known up to version `seen`; empty if it may be.

    Only the first object is looked at. One that came or changed after `seen` tells nothing, unless another has taken
    its name: then a list is the safe way to learn of both.
    """
    if not page.items:
        return ""
    key, there = object_name(page.items[0]), page.items[0].metadata
    obj = known(key)
    here = obj.metadata if obj is not None else None
    if here is not None and here.uid and there.uid and here.uid != there.uid:
        return f"the server has another {key} than the one it told of"
    if at_least(seen, there.resource_version) and (here is None or _differs(here, there)):
        return f"the server has {key} at resourceVersion {there.resource_version}, of which it never told"
    return ""


def _differs(here: ObjectMeta, there: ObjectMeta) -> bool:
    # A transform may have dropped the version.
    return bool(here.resource_version) and here.resource_version != there.resource_version
