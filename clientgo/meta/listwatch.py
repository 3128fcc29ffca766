"""Lists and watches: options, events, and the `ListerWatcher` that a cache gets its objects from."""

from collections.abc import Iterator
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from clientgo.meta.codec import ObjectList, Undecodable

T = TypeVar("T")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The bookmark annotation that closes a streamed list (KEP-3157)."""


class ListOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The query of a list or watch (metav1.ListOptions); an empty value is not sent.

    `retry_lagging` is for the client alone: whether it asks again while the server says that it has not reached
    `resource_version` yet, or raises that at once.
    """

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_: str = msgspec.field(default="", name="continue")
    timeout_seconds: int = 0
    watch: bool = False
    allow_watch_bookmarks: bool = False
    send_initial_events: bool = False
    retry_lagging: bool = True

    def query(self) -> dict[str, str]:
        """The query parameters, in the API's names."""
        return {name: _text(value) for name, value in msgspec.to_builtins(self).items() if name != "retryLagging"}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
