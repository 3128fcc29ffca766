"""What a watch hands out: changes of objects, bookmarks, and changes whose object could not be decoded."""

from collections.abc import Iterator
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.options import ListOptions

T = TypeVar("T")

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """An object came, changed or went; for DELETED, `object` is its last state."""

    type: ChangeType
    object: T


class Bookmark(msgspec.Struct, frozen=True):
    """Everything up to `resource_version` has been sent; `initial_events_end` closes a streamed list."""

    resource_version: str
    initial_events_end: bool = False


class BadEvent(msgspec.Struct, frozen=True):
    """A change whose object could not be decoded; `error.metadata` names it."""

    type: ChangeType
    error: Undecodable


AnyEvent = WatchEvent[T] | Bookmark | BadEvent


class Watch(Protocol[T]):
    """An open watch: events in order until the server ends it.

    Iterating raises `ApiError` for an ERROR frame and `ConnectionFailed` when the peer is lost. `close` may be called
    from any thread and ends a blocked iteration.
    """

    def __iter__(self) -> Iterator[WatchEvent[T] | Bookmark | BadEvent]:
        """Events as they arrive."""

    def close(self) -> None:
        """End the watch."""


class ListerWatcher(Protocol[T]):
    """Where a cache gets its objects: the seam between reflectors and clients."""

    @property
    def kind(self) -> type[T]:
        """The class of the objects."""

    def list_page(self, options: ListOptions) -> ObjectList[T]:
        """One page of a list; raises `ApiError` or `ConnectionFailed`."""

    def watch_from(self, options: ListOptions) -> Watch[T]:
        """A watch as the options have it; raises `ApiError` or `ConnectionFailed`."""
