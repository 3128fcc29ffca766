"""What stands for an object whose deletion was not seen."""

from typing import Generic, TypeVar

import msgspec

from clientgo.meta.names import ObjectName

T = TypeVar("T")


class DeletedFinalStateUnknown(msgspec.Struct, Generic[T], frozen=True):
    """The object was gone when it was next looked for; `obj` is the last state known, perhaps long out of date."""

    name: ObjectName
    obj: T | None

    @property
    def object_name(self) -> ObjectName:
        """The name of what was deleted."""
        return self.name


def last_known(deleted: T | DeletedFinalStateUnknown[T]) -> T | None:
    """The last state known of what was deleted: the object itself, or a tombstone's."""
    return deleted.obj if isinstance(deleted, DeletedFinalStateUnknown) else deleted
