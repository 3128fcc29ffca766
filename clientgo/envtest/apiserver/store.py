"""Objects in memory under one rising revision, with enough history for watches and consistent pages.

Promises: a revision is given once and only grows; a list at revision R followed by a watch from R sees every change
exactly once; a page continued later shows the state of the first page. Nothing here is locked: the store belongs to one
event loop. Objects are never changed in place: a write stores a new dict and shares what it did not touch, so a reader
may keep what it got, and an object is encoded once however many streams send it.

The past is kept as a window of events, each holding what was there before it. A snapshot of revision R is today's
state with the events after R taken back; nothing is copied while nobody pages.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import msgspec

Object = dict[str, Any]
Key = tuple[str, str]  # (group, plural): what objects are stored under
Name = tuple[str, str]  # (namespace, name); namespace is "" for cluster-scoped objects
Listener = Callable[[str, Key, Object | None, Object | None], None]

DEFAULT_HISTORY = 10_000
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


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


class Journal(Protocol):
    """Keeps writes beyond the process. The store calls it before a write is acknowledged."""

    def load(self) -> tuple[int, Iterable[tuple[Key, bytes]]]:
        """The last revision and every object's JSON, as recorded."""

    def record(self, revision: int, key: Key, name: Name, raw: bytes | None) -> None:
        """Keep one write; `raw` is None for a deletion."""


class Bucket:
    """The objects, the history and the watchers of one key."""

    __slots__ = ("entries", "events", "names", "watchers")

    def __init__(self) -> None:
        self.entries: dict[Name, Entry] = {}
        self.names: list[Name] = []  # sorted, as etcd orders keys
        self.events: deque[Event] = deque()
        self.watchers: list[Watcher] = []

    def put(self, name: Name, entry: Entry) -> None:
        """Keep this entry under its name."""
        if name not in self.entries:
            insort(self.names, name)
        self.entries[name] = entry

    def drop(self, name: Name) -> None:
        """Forget the entry of this name, which is there."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]

    def names_from(self, names: list[Name], namespace: str, after: Name | None) -> Iterator[Name]:
        """The names of one namespace (all when empty) behind `after`, in order."""
        begin = bisect_left(names, (namespace, "")) if namespace else 0
        if after is not None:
            begin = max(begin, bisect_right(names, after))
        end = bisect_left(names, (namespace + "\x00", "")) if namespace else len(names)
        for index in range(begin, end):
            yield names[index]


# Named here because inside `Store` the word `list` is its method.
Objects = list[Object]
Entries = list[Entry]
Events = list[Event]
Listeners = list[Listener]


class Store:
    """All objects of the server. `history` is how many events are kept for watches and pages."""

    def __init__(self, *, history: int = DEFAULT_HISTORY, journal: Journal | None = None) -> None:
        self._buckets: dict[Key, Bucket] = {}
        self._history = history
        self._events: deque[Event] = deque()
        self._listeners: Listeners = []
        self._journal = journal
        self.revision = 1
        if journal is not None:
            self._load(journal)
        self.oldest = self.revision  # a watch from this revision misses nothing

    def __repr__(self) -> str:
        return f"<Store revision {self.revision}, {sum(len(b.entries) for b in self._buckets.values())} objects>"

    def stored_keys(self) -> tuple[Key, ...]:
        """Every key that has, or had, objects."""
        return tuple(self._buckets)

    def entry(self, key: Key, namespace: str, name: str) -> Entry | None:
        """The object of this name with its revision and JSON, or None."""
        bucket = self._buckets.get(key)
        return bucket.entries.get((namespace, name)) if bucket is not None else None

    def get(self, key: Key, namespace: str, name: str) -> Object | None:
        """The object of this name, or None. It must not be changed."""
        entry = self.entry(key, namespace, name)
        return entry.object if entry is not None else None

    def list(self, key: Key, namespace: str = "") -> Objects:
        """The objects of one namespace (all when empty), ordered by name. They must not be changed."""
        return [entry.object for entry in self.entries(key, namespace)]

    def count(self, key: Key) -> int:
        """How many objects are stored under this key."""
        bucket = self._buckets.get(key)
        return len(bucket.entries) if bucket is not None else 0

    def entries(self, key: Key, namespace: str = "", *, after: Name | None = None, at: int = 0) -> Entries:
        """What is (or, with `at`, was at that revision) stored, by name, behind `after`.

        Raises:
            Expired: `at` lies before the history that is kept.
            FutureRevision: `at` has not been given yet.
        """
        bucket = self._bucket(key)
        if not at or at == self.revision:
            return [bucket.entries[name] for name in bucket.names_from(bucket.names, namespace, after)]
        self._check(at)
        past = self._past(bucket, at)
        if not past:
            return [bucket.entries[name] for name in bucket.names_from(bucket.names, namespace, after)]
        names = sorted({*bucket.entries, *past})
        found = (past.get(name, bucket.entries.get(name)) for name in bucket.names_from(names, namespace, after))
        return [entry for entry in found if entry is not None]

    def put(self, key: Key, obj: Object) -> Entry:
        """Store the object at a new revision, as new or in place of the one of its name; return what was stored."""
        meta = obj["metadata"]
        name = (meta.get("namespace", ""), meta["name"])
        revision = self.revision + 1
        # kind and apiVersion come first, so that lists of built-in kinds can cut them off the encoded object.
        head = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": None}
        entry = Entry({**head, **obj, "metadata": {**meta, "resourceVersion": str(revision)}}, revision)
        if self._journal is not None:
            self._journal.record(revision, key, name, entry.raw)
        bucket = self._bucket(key)
        old = bucket.entries.get(name)
        bucket.put(name, entry)
        self._publish(bucket, Event("ADDED" if old is None else "MODIFIED", key, name, old, entry))
        return entry

    def remove(self, key: Key, namespace: str, name: str) -> Entry | None:
        """Take the object away at a new revision; return it as it was, bearing that revision, or None."""
        bucket = self._bucket(key)
        old = bucket.entries.get((namespace, name))
        if old is None:
            return None
        revision = self.revision + 1
        if self._journal is not None:
            self._journal.record(revision, key, (namespace, name), None)
        last = {**old.object, "metadata": {**old.object["metadata"], "resourceVersion": str(revision)}}
        bucket.drop((namespace, name))
        entry = Entry(last, revision)
        self._publish(bucket, Event("DELETED", key, (namespace, name), old, entry))
        return entry

    def events_since(self, key: Key, revision: int) -> Events:
        """Every event of the key after `revision`, in order.

        Raises:
            Expired: some of them are no longer kept.
            FutureRevision: that revision has not been given yet.
        """
        self._check(revision)
        found: Events = []
        for event in reversed(self._bucket(key).events):
            if event.revision <= revision:
                break
            found.append(event)
        return found[::-1]

    def attach(self, key: Key, watcher: Watcher) -> None:
        """Deliver every later event of the key to this watcher."""
        self._bucket(key).watchers.append(watcher)

    def detach(self, key: Key, watcher: Watcher) -> None:
        """Deliver nothing more to this watcher; it need not be attached."""
        watchers = self._bucket(key).watchers
        if watcher in watchers:
            watchers.remove(watcher)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(type, key, old, new)` after each commit until the returned callable is called.

        The listener must not write from inside the call: events would reach others out of order.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def compact(self, revision: int | None = None) -> None:
        """Forget the history up to `revision` (all of it by default): older versions answer Expired from now on."""
        floor = self.revision if revision is None else min(revision, self.revision)
        while self._events and self._events[0].revision <= floor:
            self._forget_oldest()
        self.oldest = max(self.oldest, floor)

    def _bucket(self, key: Key) -> Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket()
        return bucket

    def _check(self, revision: int) -> None:
        if revision < self.oldest:
            raise Expired(f"{revision} is older than {self.oldest}")
        if revision > self.revision:
            raise FutureRevision(f"{revision} is newer than {self.revision}")

    @staticmethod
    def _past(bucket: Bucket, at: int) -> dict[Name, Entry | None]:
        past: dict[Name, Entry | None] = {}
        for event in reversed(bucket.events):
            if event.revision <= at:
                break
            past[event.name] = event.old
        return past

    def _publish(self, bucket: Bucket, event: Event) -> None:
        self.revision = event.revision
        bucket.events.append(event)
        self._events.append(event)
        if len(self._events) > self._history:
            self._forget_oldest()
        for watcher in bucket.watchers[:]:
            watcher.deliver(event)
        old = event.old.object if event.old is not None else None
        new = None if event.type == "DELETED" else event.new.object
        for listener in self._listeners[:]:
            listener(event.type, event.key, old, new)

    def _forget_oldest(self) -> None:
        event = self._events.popleft()
        # Buckets hold the same events in the same order, so the oldest of all is the oldest of its bucket.
        self._buckets[event.key].events.popleft()
        self.oldest = event.revision

    def _load(self, journal: Journal) -> None:
        self.revision, objects = journal.load()
        for key, raw in objects:
            obj: Object = _decode(raw)
            meta = obj["metadata"]
            name = (meta.get("namespace", ""), meta["name"])
            self._bucket(key).put(name, Entry(obj, int(meta["resourceVersion"]), raw))
