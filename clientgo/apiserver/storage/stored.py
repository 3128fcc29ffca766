"""Stored objects, their changes, and the protocols of watchers and journals."""

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from clientgo.apiserver.registry.registry import Object, Resource

Key = tuple[str, str]  # (group, plural): what objects are stored under
Name = tuple[str, str]  # (namespace, name); namespace is "" for cluster-scoped objects
StoreListener = Callable[[str, Key, Object | None, Object | None], None]

_encode = msgspec.json.Encoder().encode


class ExpiredRevision(Exception):
    """The requested revision is older than the history."""


class FutureRevision(Exception):
    """The requested revision is newer than the current one."""


class Entry:
    """One object at one revision. `raw` is its JSON, encoded on first use."""

    __slots__ = ("_raw", "object", "revision")

    def __init__(self, obj: Object, revision: int, raw: bytes | None = None) -> None:
        self.object = obj
        self.revision = revision
        self._raw = raw

    @property
    def raw(self) -> bytes:
        """JSON of the object."""
        if self._raw is None:
            self._raw = _encode(self.object)
        return self._raw


class StorageEvent:
    """One change. `new` is the object after it; for a deletion, its last state with the deletion's revision.

    `frames` caches the frames of streams, by form: all streams of one form share them.
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

    def deliver(self, event: StorageEvent) -> None:
        """Receive one event; must return at once and must not write."""

    def unserved(self, resource: Resource) -> None:
        """End the streams of this version of a kind, which is no longer served."""


class Journal(Protocol):
    """Persists writes: all that were recorded since the last commit, or none of them."""

    def load(self) -> tuple[int, Iterable[tuple[Key, bytes]]]:
        """Return the last revision and every object's JSON."""

    def record(self, revision: int, key: Key, name: Name, raw: bytes | None) -> None:
        """Record one write; `raw` is None for a deletion. An ApiFailure undoes everything since the last commit."""

    def commit(self) -> None:
        """Commit what was recorded. An ApiFailure undoes it."""
