"""What is done to each object before it is stored."""

from collections.abc import Callable
from typing import TypeVar

from clientgo.meta.codec import replace
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)

Transform = Callable[[T], T]
"""Gives the object to keep; must be idempotent, and is called outside of every lock."""


def drop_managed_fields(obj: T) -> T:
    """Without metadata.managedFields: up to half of an object's memory, and nothing a controller reads."""
    meta = obj.metadata
    return replace(obj, metadata=replace(meta, managed_fields=())) if meta.managed_fields else obj


def keep_everything(obj: T) -> T:
    """As the server sent it."""
    return obj
