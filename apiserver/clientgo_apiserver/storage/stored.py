"""Stored objects of one key with their past, and the protocols of watchers and journals.

The past is kept as events, each with the entry before it. A snapshot of revision R is the current state with the events
after R undone, so nothing is copied while no client pages. A page costs what it shows and the events since its
revision, regardless of the number of objects.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import Any, Protocol

import msgspec

from clientgo_apiserver.api.resources import Object, Resource

Key = tuple[str, str]  # (group, plural): what objects are stored under
Name = tuple[str, str]  # (namespace, name); namespace is "" for cluster-scoped objects
StoreListener = Callable[[str, Key, Object | None, Object | None], None]

_decode, _encode = msgspec.json.Decoder(dict[str, Any]).decode, msgspec.json.Encoder().encode


class ExpiredRevision(Exception):
    """The requested revision is older than the history."""


class FutureRevision(Exception):
    """The requested revision is newer than the current one."""


class Entry:
    """One object at one revision. `raw` is its JSON, encoded on first use.

    An object that is not `ordered` has its fields in another order than its JSON, until it is decoded for a response.
    """

    __slots__ = ("_content", "_ordered", "_raw", "revision")

    def __init__(self, obj: Object, revision: int, raw: bytes | None = None, *, ordered: bool = True) -> None:
        self._content: Object | None = obj
        self._ordered = ordered
        self.revision = revision
        self._raw = raw

    def copy(self) -> "Entry":
        """Return an entry that shares the object: one may shrink while another thread reads the other."""
        return Entry(self.content, self.revision, self._raw, ordered=self._ordered)

    @property
    def object(self) -> Object:
        """The object with its fields in order; it must not be modified."""
        if self._content is None or not self._ordered:
            self._content, self._ordered = _decode(self.raw), True
        return self._content

    @property
    def content(self) -> Object:
        """The object with its fields in any order; it must not be modified."""
        return self.object if self._content is None else self._content

    def shrink(self) -> None:
        """Forget the object until it is needed: it takes up to ten times the memory of its JSON."""
        if self._raw is not None:
            self._content = None

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

    def shrink(self) -> None:
        """Keep no more than the JSON of what is no longer stored, once all have seen the event."""
        if self.old is not None:
            self.old.shrink()


def name_of(obj: Object) -> Name:
    """Return the name that an object is stored under."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


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


_UNCHANGED: Mapping[Name, Entry | None] = {}


class Range(msgspec.Struct, frozen=True):
    """Names of one namespace (all if empty) after `after`."""

    namespace: str = ""
    after: Name | None = None

    def __contains__(self, name: Name) -> bool:
        return (not self.namespace or name[0] == self.namespace) and (self.after is None or name > self.after)

    def of(self, names: Sequence[Name]) -> range:
        """Return their indexes among sorted names."""
        begin = bisect_left(names, (self.namespace, "")) if self.namespace else 0
        if self.after is not None:
            begin = max(begin, bisect_right(names, self.after))
        return range(begin, bisect_left(names, (self.namespace + "\x00", "")) if self.namespace else len(names))


class Window:
    """Entries in the order of their names, looked up as they are read and counted without being read.

    A window is valid until the next write.
    """

    __slots__ = ("_changed", "_entries", "_gone", "_names", "_new", "_places")

    def __init__(
        self,
        entries: Mapping[Name, Entry],
        names: Sequence[Name],
        within: Range,
        changed: Mapping[Name, Entry | None] = _UNCHANGED,
    ) -> None:
        """Take the sorted `names` of `entries`, and in `changed` the former entries (None if there was none)."""
        self._entries, self._names, self._changed = entries, names, changed
        self._places = within.of(names)
        inside = [(name, then) for name, then in changed.items() if name in within]
        self._gone = sorted(name for name, then in inside if then is not None and name not in entries)
        self._new = sum(then is None and name in entries for name, then in inside)

    def __len__(self) -> int:
        return len(self._places) + len(self._gone) - self._new

    def __iter__(self) -> Iterator[Entry]:
        if not self._changed:
            return map(self._entries.__getitem__, map(self._names.__getitem__, self._places))
        return self._at_revision()

    def _at_revision(self) -> Iterator[Entry]:
        present = (self._names[position] for position in self._places)
        for name in merge(present, self._gone) if self._gone else present:
            entry = self._changed[name] if name in self._changed else self._entries[name]
            if entry is not None:
                yield entry


class Bucket:
    """Objects, history and watchers of one key."""

    __slots__ = ("entries", "events", "names", "watchers")

    def __init__(self) -> None:
        self.entries: dict[Name, Entry] = {}
        self.names: list[Name] = []  # sorted, as etcd orders keys
        self.events: deque[StorageEvent] = deque()
        self.watchers: list[Watcher] = []

    def copy(self) -> "Bucket":
        """Return a bucket of the same objects, without history and watchers."""
        copied = Bucket()
        copied.entries = {name: entry.copy() for name, entry in self.entries.items()}
        copied.names = self.names[:]
        return copied

    def put(self, name: Name, entry: Entry) -> None:
        """Store the entry under its name."""
        if name not in self.entries:
            insort(self.names, name)
        self.entries[name] = entry

    def drop(self, name: Name) -> None:
        """Remove the entry of this name, which must exist."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]

    def since(self, revision: int) -> list[StorageEvent]:
        """Return the events after `revision`, in order."""
        events: list[StorageEvent] = []
        for event in reversed(self.events):
            if event.revision <= revision:
                break
            events.append(event)
        return events[::-1]

    def window(self, within: Range, at: int | None = None) -> Window:
        """Return the entries, now or as of revision `at`, after which every event is kept."""
        # The oldest event of a name comes last: its old entry is the one at that revision.
        changed = {event.name: event.old for event in reversed(self.since(at))} if at is not None else _UNCHANGED
        return Window(self.entries, self.names, within, changed)
