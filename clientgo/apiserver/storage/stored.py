"""What the store holds: objects as of a revision, the changes that made them, and who is told of them."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from clientgo.apiserver.registry.registry import Resource

Object = dict[str, Any]
Key = tuple[str, str]  # (group, plural): what objects are stored under
Name = tuple[str, str]  # (namespace, name); namespace is "" for cluster-scoped objects
Listener = Callable[[str, Key, Object | None, Object | None], None]

_encode = msgspec.json.Encoder().encode


class Expired(Exception):
    """The revision asked for lies before the history that is kept."""


class FutureRevision(Exception):
    """The revision asked for has not been given yet."""


class Entry:
    """One object as of one revision. `raw` is its JSON, made when first asked for."""

    __slots__ = ("_raw", "object", "revision")

    def __init__(self, obj: Object, revision: int, raw: bytes | None = None) -> None:
        self.object = obj
        self.revision = revision
        self._raw = raw

    @property
    def raw(self) -> bytes:
        """The object's JSON."""
        if self._raw is None:
            self._raw = _encode(self.object)
        return self._raw


class Event:
    """One change. `new` is the object after it, or as it was last seen, at the deletion's revision.

    `frames` keeps the bytes that streams send for it, by form: every stream of one form shares them.
    """

    __slots__ = ("frames", "key", "name", "new", "old", "revision", "type")

    def __init__(self, kind: str, key: Key, name: Name, old: Entry | None, new: Entry) -> None:
        self.type = kind
        self.key = key
        self.name = name
        self.old = old
        self.new = new
        self.revision = new.revision
        self.frames: dict[object, bytes] = {}


class Watcher(Protocol):
    """Receives each event of one key as it happens, on the store's loop."""

    def deliver(self, event: Event) -> None:
        """Take one event; must return at once and must not write."""

    def unserved(self, resource: Resource) -> None:
        """Notify that a version of a kind is no longer served; its watches must end."""


class Journal(Protocol):
    """Keeps writes beyond the process, all that were recorded since the last commit or none of them."""

    def load(self) -> tuple[int, Iterable[tuple[Key, bytes]]]:
        """The last revision and every object's JSON, as recorded."""

    def record(self, revision: int, key: Key, name: Name, raw: bytes | None) -> None:
        """Take one write; `raw` is None for a deletion. With an ApiFailure nothing since the last commit is kept."""

    def commit(self) -> None:
        """Keep what was recorded. With an ApiFailure nothing of it is kept."""
