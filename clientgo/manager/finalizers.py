"""Keeps an object until what belongs to it elsewhere is cleaned up.

    if foo.metadata.deletion_timestamp is None:
        foo = finalizer.ensure(foo)
    elif finalizer.is_on(foo):
        with finalizer.cleaning_up(foo):
            delete_bucket(foo.spec.bucket)

The finalizer is written before anything is made elsewhere, and taken off only once the block has ended well.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from clientgo.errors import NotFound
from clientgo.manager.client import Client
from clientgo.meta.codec import replace
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)


def has_finalizer(obj: ApiObject, name: str) -> bool:
    """Whether the object waits for that finalizer."""
    return name in obj.metadata.finalizers


def with_finalizer(obj: T, name: str) -> T:
    """The object with that finalizer; itself if it has it."""
    if has_finalizer(obj, name):
        return obj
    return replace(obj, metadata=replace(obj.metadata, finalizers=(*obj.metadata.finalizers, name)))


def without_finalizer(obj: T, name: str) -> T:
    """The object without that finalizer; itself if it has none."""
    if not has_finalizer(obj, name):
        return obj
    kept = tuple(one for one in obj.metadata.finalizers if one != name)
    return replace(obj, metadata=replace(obj.metadata, finalizers=kept))


class Finalizer:
    """One finalizer, `name`, which ought to be a domain and a word: `example.com/bucket`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def is_on(self, obj: ApiObject) -> bool:
        """Whether the object waits for it."""
        return has_finalizer(obj, self.name)

    def ensure(self, obj: T) -> T:
        """Put it on, if it is not; returns the object as it is then.

        Raises:
            Conflict: the object has changed; others' finalizers would be lost.
            Invalid: it is being deleted already, and the server takes no further finalizers.
        """
        return obj if self.is_on(obj) else self._write(with_finalizer(obj, self.name))

    def remove(self, obj: T) -> T:
        """Take it off, if it is on; returns the object as it is then, which is gone if nothing else kept it.

        Raises:
            Conflict: the object has changed; read it again.
        """
        return self._write(without_finalizer(obj, self.name)) if self.is_on(obj) else obj

    @contextmanager
    def cleaning_up(self, obj: ApiObject) -> Iterator[None]:
        """Take it off once the block has ended, unless it raised; the object may be gone by then."""
        yield
        with suppress(NotFound):  # somebody else has taken it off
            self.remove(obj)

    def _write(self, obj: T) -> T:
        # A merge patch puts a whole list in the place of the other. The version makes it a conflict if that is not the
        # list which was read.
        version, finalizers = obj.metadata.resource_version, list(obj.metadata.finalizers)
        return self._client.patch(obj, {"metadata": {"resourceVersion": version, "finalizers": finalizers}})
