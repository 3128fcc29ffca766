"""Lists and watches: options, events, resourceVersions, and the `ListerWatcher` that a cache gets its objects from."""

from collections.abc import Iterator
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.selectors import selector_text

T = TypeVar("T")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a streaming list (KEP-3157)."""


class ListOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The query of a list or watch (metav1.ListOptions); an empty value is not sent.

    A `label_selector` may be given as labels that must all match, or as a `Selector`; it is stored as text.

    `retry_lagging` is not sent: it tells the client to retry while the server has not reached `resource_version` yet,
    instead of raising that error at once.
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

    def __post_init__(self) -> None:
        if type(self.label_selector) is not str:
            msgspec.structs.force_setattr(self, "label_selector", selector_text(self.label_selector))
        fields: object = self.field_selector
        if not isinstance(fields, str):
            raise TypeError(f"invalid field selector {fields!r:.100}: expected text such as status.phase=Failed")

    def query(self) -> dict[str, str]:
        """Return the query parameters by their API names."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in msgspec.to_builtins(self).items()
            if name != "retryLagging"
        }


ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class WatchEvent(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object was added, modified or deleted; for DELETED, `object` is its last state."""

    type: ChangeType
    object: T


class Bookmark(msgspec.Struct, frozen=True):
    """All changes up to `resource_version` have been sent; `initial_events_end` ends a streaming list."""

    resource_version: str
    initial_events_end: bool = False


class BadEvent(msgspec.Struct, frozen=True):
    """A change of an object that could not be decoded; `error.metadata` names it."""

    type: ChangeType
    error: Undecodable


AnyEvent = WatchEvent[T] | Bookmark | BadEvent


class Watch(Protocol[T]):
    """An open watch: an iterator over events, which stops when the server ends the watch.

    Iterating raises `ApiError` for an ERROR frame and `ConnectionFailed` if the connection breaks. `close` may be
    called from any thread and ends a blocked iteration.
    """

    def __iter__(self) -> Iterator[WatchEvent[T] | Bookmark | BadEvent]:
        """Iterate over the events as they arrive."""

    def close(self) -> None:
        """End the watch."""


class ListerWatcher(Protocol[T]):
    """The source of a cache's objects: the interface between reflectors and clients."""

    @property
    def kind(self) -> type[T]:
        """The class of the objects."""

    def list_page(self, options: ListOptions) -> ObjectList[T]:
        """Return one page of a list; raise `ApiError` or `ConnectionFailed`."""

    def watch_from(self, options: ListOptions) -> Watch[T]:
        """Open a watch with these options; raise `ApiError` or `ConnectionFailed`."""


@runtime_checkable
class PartLister(Protocol[T]):
    """A source that can return a list in parts, while it arrives."""

    @property
    def lists_in_parts(self) -> bool:
        """Return whether it does so now, and from a server that serves the newest state from memory."""

    def list_parts(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        """Yield the list in parts, of which the last has its metadata; raise `ApiError` or `ConnectionFailed`."""


def compare_resource_versions(a: str, b: str) -> int:
    """Return -1, 0 or 1 if `a` is older than, equal to, or newer than `b`, within one resource (KEP-5504).

    Raises:
        ValueError: one of them is not a positive decimal number without leading zeros.
    """
    for version in (a, b):
        if not (version.isascii() and version.isdigit()) or version[0] == "0":
            raise ValueError(f"resourceVersion {version!r} is not a positive decimal number")
    if len(a) != len(b):
        return -1 if len(a) < len(b) else 1
    return (a > b) - (a < b)


def is_older(version: str, seen: str) -> bool:
    """Report whether `version` is older than `seen`; False if they cannot be compared."""
    try:
        return compare_resource_versions(version, seen) < 0
    except ValueError:  # versions that are not numbers have no order
        return False


def at_least(seen: str, required: str) -> bool:
    """Report whether `seen` is `required` or newer; False if they cannot be compared."""
    try:
        return compare_resource_versions(seen, required) >= 0
    except ValueError:
        return False
