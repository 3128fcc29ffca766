"""Objects in memory under one increasing revision, with history for watches and consistent pages.

A revision is used once; a list at revision R followed by a watch from R sees every change exactly once; a page
continued later shows the state of the first page. The store belongs to one event loop and is not locked. With a
journal, watchers receive a write once it is committed, and responses wait for that too (`when_committed`), so that no
client sees what a killed server would lose. Objects are never modified: a write stores a new dict and shares the
unchanged parts, so readers may keep objects, and each is encoded once for all streams.

The history is what kube-apiserver's watch cache is: a watch or a page from before it is rejected with 410
("too old resource version"; see handlers/watching.py). The store checks no preconditions: writes/pipeline.py compares
the resourceVersion of an update (409 Conflict), and starts again if the object has changed (GuaranteedUpdate).
"""

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from clientgo_apiserver.api.limits import MAX_HISTORY_BYTES
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.storage.prepared import PreparedObject, prepare
from clientgo_apiserver.storage.stored import (
    Bucket,
    Entry,
    ExpiredRevision,
    FutureRevision,
    Journal,
    Key,
    Name,
    Range,
    StorageEvent,
    StoreListener,
    Watcher,
    Window,
    name_of,
)

DEFAULT_HISTORY = 10_000
_REVERSE = {"ADDED": "DELETED", "DELETED": "ADDED", "MODIFIED": "MODIFIED"}
_decode = msgspec.json.Decoder().decode


# Named here because inside `Store` `list` is a method.
Objects = list[Object]
Entries = list[Entry]
Names = list[Name]
StorageEvents = list[StorageEvent]
Watchers = list[Watcher]
Waiter = Callable[[ApiFailure | None], object]


class Store:
    """All objects of the server.

    `history` is the number of events kept for watches and pages; their objects take at most `history_bytes`.
    With a `journal`, and `later` to run a callable soon on the same loop, the writes of one turn of the loop are
    committed together. Without `later` each write is committed on its own.
    """

    def __init__(
        self,
        *,
        history: int = DEFAULT_HISTORY,
        history_bytes: int = MAX_HISTORY_BYTES,
        journal: Journal | None = None,
        later: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self._buckets: dict[Key, Bucket] = {}
        self._history = history
        self._max_history_bytes = history_bytes
        self._events: deque[StorageEvent] = deque()
        self._history_bytes = 0
        self._listeners: deque[tuple[StoreListener, frozenset[Key] | None]] = deque()
        self._listening: dict[Key, tuple[StoreListener, ...]] = {}  # those of a key, in order
        self._journal = journal
        self._later = later
        self._batch: StorageEvents = []  # in memory, neither committed nor delivered
        self._waiters: deque[Waiter] = deque()
        self._delayed: dict[Key, dict[Callable[[], object], None]] = {}
        self.full = False  # rejects every write, like a full disk
        self.failing = False  # writes were undone, and none committed since
        self.revision = 1
        if journal is not None:
            self._load(journal)
        self.oldest = self.revision  # a watch from this revision misses nothing

    def __repr__(self) -> str:
        return f"<Store revision {self.revision}, {sum(len(b.entries) for b in self._buckets.values())} objects>"

    def fork(self) -> "Store":
        """Return a store of the same objects and revision, without the past, watchers and the journal."""
        store = Store(history=self._history, history_bytes=self._max_history_bytes)
        store.revision = store.oldest = self.revision
        for key in self.stored_keys():
            store._buckets[key] = self._buckets[key].copy()
        return store

    def stored_keys(self) -> tuple[Key, ...]:
        """Return every key that has or had objects."""
        for key in [*self._delayed]:
            self._write_delayed(key)
        return tuple(self._buckets)

    def delay(self, key: Key, write: Callable[[], object]) -> None:
        """Call `write` before objects of this key are next read: nothing depends on what it writes until then.

        It is called at once if the key is watched, or objects are persistent. It must not raise.
        """
        if self._journal is not None or self._bucket(key).watchers:
            write()
        else:
            self._delayed.setdefault(key, {})[write] = None

    def entry(self, key: Key, namespace: str, name: str) -> Entry | None:
        """Return the object of this name with its revision and JSON, or None."""
        if key in self._delayed:
            self._write_delayed(key)
        bucket = self._buckets.get(key)
        return bucket.entries.get((namespace, name)) if bucket is not None else None

    def get(self, key: Key, namespace: str, name: str) -> Object | None:
        """Return the object of this name, or None. It must not be modified; its fields have any order."""
        entry = self.entry(key, namespace, name)
        return entry.content if entry is not None else None

    def list(self, key: Key, namespace: str = "") -> Objects:
        """Return the objects of one namespace (all if empty), ordered by name; see `get`."""
        return [entry.content for entry in self.entries(key, namespace)]

    def names(self, key: Key, namespace: str = "") -> Names:
        """Return the names of the objects of one namespace (all if empty), in order; no object is read."""
        names = self._read(key).names
        inside = Range(namespace).of(names)
        return names[inside.start : inside.stop]

    def count(self, key: Key) -> int:
        """Return the number of objects of this key."""
        if key in self._delayed:
            self._write_delayed(key)
        bucket = self._buckets.get(key)
        return len(bucket.entries) if bucket is not None else 0

    def entries(self, key: Key, namespace: str = "") -> Entries:
        """Return the entries of one namespace (all if empty), by name."""
        return [*self._read(key).window(Range(namespace))]

    def window(self, key: Key, namespace: str = "", *, after: Name | None = None, at: int = 0) -> Window:
        """Return the entries, now or at revision `at`, by name after `after`; valid until the next write.

        Raises:
            ExpiredRevision: `at` is older than the history.
            FutureRevision: `at` is newer than the current revision.
        """
        bucket = self._read(key)
        past = at not in (0, self.revision)
        if past:
            self._check(at)
        return bucket.window(Range(namespace, after), at if past else None)

    def put(self, key: Key, obj: Object, prepared: PreparedObject | None = None) -> Entry:
        """Store the object at a new revision, replacing the one of its name; return the entry.

        `prepared` is what `prepare` made of the same object.
        """
        name, revision = name_of(obj), self.revision + 1
        entry = (prepared or prepare(obj, str(revision))).at(revision)
        raw = entry.raw
        self._record(revision, key, name, raw)
        bucket = self._bucket(key)
        old = bucket.entries.get(name)
        bucket.put(name, entry)
        self._publish(bucket, StorageEvent("ADDED" if old is None else "MODIFIED", key, name, old, entry))
        return entry

    def remove(self, key: Key, namespace: str, name: str) -> Entry | None:
        """Remove the object at a new revision; return its last state with that revision, or None."""
        bucket = self._bucket(key)
        old = bucket.entries.get((namespace, name))
        if old is None:
            return None
        revision = self.revision + 1
        self._record(revision, key, (namespace, name), None)
        obj = old.object
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
        bucket.drop((namespace, name))
        entry = Entry(last, revision)
        self._publish(bucket, StorageEvent("DELETED", key, (namespace, name), old, entry))
        return entry

    @property
    def committed(self) -> bool:
        """True if everything readable is committed to the journal; always true without a journal."""
        return not self._batch

    def when_committed(self, waiter: Waiter) -> None:
        """Call `waiter` once the writes of this turn are committed (with None) or undone (with the reason)."""
        self._waiters.append(waiter)

    def commit(self) -> None:
        """Commit the writes of this turn and notify watchers and waiters; undo them if the journal fails."""
        if self._batch and self._journal is not None:
            try:
                self._journal.commit()
            except ApiFailure as error:
                self._undo(error)
                return
            self.failing = False
            batch, self._batch = self._batch, []
            for event in batch:
                self._deliver(event)
                event.shrink()
        self._release(None)

    def events_since(self, key: Key, revision: int) -> StorageEvents:
        """Return every event of the key after `revision`, in order.

        Raises:
            ExpiredRevision: some of them are dropped.
            FutureRevision: `revision` is newer than the current one.
        """
        bucket = self._read(key)
        self._check(revision)
        return bucket.since(revision)

    def attach(self, key: Key, watcher: Watcher) -> None:
        """Deliver every later event of the key to this watcher."""
        self._read(key).watchers.append(watcher)

    def detach(self, key: Key, watcher: Watcher) -> None:
        """Stop delivering to this watcher; it may be detached already."""
        watchers = self._bucket(key).watchers
        if watcher in watchers:
            watchers.remove(watcher)

    def watchers(self, key: Key) -> Watchers:
        """Return the watchers of this key."""
        return self._bucket(key).watchers[:]

    def subscribe(self, listener: StoreListener, keys: Iterable[Key] | None = None) -> Callable[[], None]:
        """Call `listener(type, key, old, new)` after each write of these keys until the returned callable is called.

        The listener must not write: events would reach other listeners out of order. By default it hears of all keys.
        """
        entry = (listener, None if keys is None else frozenset(keys))
        self._listeners.append(entry)
        self._listening.clear()

        def unsubscribe() -> None:
            self._listeners.remove(entry)
            self._listening.clear()

        return unsubscribe

    def compact(self, revision: int | None = None) -> None:
        """Drop the history up to `revision` (all by default): older versions raise `ExpiredRevision`."""
        floor = self.revision if revision is None else min(revision, self.revision)
        while self._events and self._events[0].revision <= floor:
            self._drop_oldest()
        self.oldest = max(self.oldest, floor)

    def _bucket(self, key: Key) -> Bucket:
        return self._buckets.get(key) or self._buckets.setdefault(key, Bucket())

    def _read(self, key: Key) -> Bucket:
        if key in self._delayed:
            self._write_delayed(key)
        return self._bucket(key)

    def _write_delayed(self, key: Key) -> None:
        for write in self._delayed.pop(key, ()):
            write()

    def _check(self, revision: int) -> None:
        if revision < self.oldest:
            raise ExpiredRevision(f"{revision} is older than {self.oldest}")
        if revision > self.revision:
            raise FutureRevision(f"{revision} is newer than {self.revision}")

    def _record(self, revision: int, key: Key, name: Name, raw: bytes | None) -> None:
        if self.full:
            raise ApiFailure(500, "", "etcdserver: mvcc: database space exceeded")  # in etcd's words
        if self._journal is None:
            return
        try:
            self._journal.record(revision, key, name, raw)
            if self._later is None:
                self._journal.commit()
                self.failing = False
        except ApiFailure as error:
            self._undo(error)  # the journal has undone the writes before this one as well
            raise

    def _publish(self, bucket: Bucket, event: StorageEvent) -> None:
        self.revision = event.revision
        bucket.events.append(event)
        self._events.append(event)
        self._history_bytes += _size(event)
        while len(self._events) > self._history or self._history_bytes > self._max_history_bytes:
            self._drop_oldest()
        if self._journal is None or self._later is None:
            self._deliver(event)
        else:
            self._batch.append(event)
            if len(self._batch) == 1:
                self._later(self.commit)
        self._notify(event.type, event, event.old, None if event.type == "DELETED" else event.new)
        if not self._batch:
            event.shrink()

    def _deliver(self, event: StorageEvent) -> None:
        for watcher in self._buckets[event.key].watchers[:]:
            watcher.deliver(event)

    def _notify(self, kind: str, event: StorageEvent, old: Entry | None, new: Entry | None) -> None:
        before = old.content if old is not None else None
        after = new.content if new is not None else None
        listening = self._listening.get(event.key)
        if listening is None:
            selected = (each for each, keys in self._listeners if keys is None or event.key in keys)
            listening = self._listening[event.key] = tuple(selected)
        for listener in listening:
            listener(kind, event.key, before, after)

    def _undo(self, error: ApiFailure) -> None:
        """Undo the writes of this turn; their revisions are used again, because no client has seen them."""
        batch, self._batch = self._batch, []
        self.failing = True
        for event in reversed(batch):
            bucket = self._buckets[event.key]
            if self._events and self._events[-1] is event:
                self._history_bytes -= _size(self._events.pop())
                bucket.events.pop()
            if event.old is not None:
                bucket.put(event.name, event.old)
            else:
                bucket.drop(event.name)
            self.revision = event.revision - 1
            self._notify(_REVERSE[event.type], event, None if event.type == "DELETED" else event.new, event.old)
        self.oldest = min(self.oldest, self.revision)
        self._release(error)

    def _release(self, error: ApiFailure | None) -> None:
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            waiter(error)

    def _drop_oldest(self) -> None:
        event = self._events.popleft()
        self._history_bytes -= _size(event)
        # Buckets hold the same events in the same order, so the oldest of all is the oldest of its bucket.
        self._buckets[event.key].events.popleft()
        self.oldest = event.revision

    def _load(self, journal: Journal) -> None:
        self.revision, objects = journal.load()
        for key, raw in objects:
            obj: Object = _decode(raw)
            self._bucket(key).put(name_of(obj), Entry(obj, int(obj["metadata"]["resourceVersion"]), raw))


def _size(event: StorageEvent) -> int:
    """Return the size of the object of an event, of which deletions have no JSON of their own."""
    return len(event.old.raw if event.type == "DELETED" and event.old is not None else event.new.raw)
