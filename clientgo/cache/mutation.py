"""Mutation cache: read-your-own-writes over an informer's store.

Between a write and its watch event the store is stale; a decision based on it would repeat the write, or send one that
the server rejects.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from clientgo.cache.handlers import last_known
from clientgo.cache.informer import SharedInformer
from clientgo.cache.listener import Added, Notification, Removed, Updated
from clientgo.cache.selection import EVERYTHING, InformerSelection
from clientgo.cache.store import Indexer, List, Transform, keep_everything, transformed
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.boundeddict import BoundedDict
from clientgo.meta.codec import to_dict
from clientgo.meta.listwatch import at_least
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import EMPTY_MAP, ApiObject
from clientgo.meta.readonly import protect

T = TypeVar("T", bound=ApiObject)

CaughtUp = Callable[[str, str], bool]
"""Returns True if the first resourceVersion is at least the second."""


class BeforeWrite(NamedTuple):
    """State of one name just before a write is sent."""

    serial: int
    """Number of outcomes recorded so far."""
    stored: str
    """Uid of the stored object; empty if there is none."""
    newest: str
    """Uid of the object that reads return; empty if there is none."""


class _Tombstone(NamedTuple):
    expires: float
    shows_terminating: bool  # hides only states without a deletionTimestamp

    def hides(self, obj: ApiObject) -> bool:
        return not self.shows_terminating or obj.metadata.deletion_timestamp is None


class _Entry(msgspec.Struct, Generic[T], frozen=True):
    """Own writes to the objects of one name: the last state, and the deleted objects by uid."""

    expires: float
    serial: int = 0
    version: str | None = None  # resourceVersion of the state; None without one
    state: T | None = None  # None if the informer does not select the object in this state
    deleted: Mapping[str, _Tombstone] = EMPTY_MAP

    def hides(self, obj: T) -> bool:
        uid = obj.metadata.uid
        # A transform may drop the uid: then all tombstones of the name count.
        tombstones = (self.deleted.get(uid),) if uid else self.deleted.values()
        return bool(self.deleted) and any(tombstone is not None and tombstone.hides(obj) for tombstone in tombstones)

    def without_state(self) -> "_Entry[T]":
        return replace(self, version=None, state=None)

    def without_deleted(self, *uids: str) -> "_Entry[T]":
        """Return the entry without the tombstones of these objects; without any, if one uid is empty."""
        remaining = {} if "" in uids else {uid: tombstone for uid, tombstone in self.deleted.items() if uid not in uids}
        return replace(self, deleted=remaining)


_EMPTY: _Entry[Any] = _Entry(0.0)


class MutationCache(Generic[T]):
    """Overlay of the program's own writes over an informer's store.

    Each read takes the entry of a name first, then the version that the store has reached, and the stored object last.
    It returns the newer of both states, unless a tombstone of the entry hides it. Invariant: an entry, or a part of it,
    is removed only after the store includes the write (or after `ttl`, beyond `size`, or if the server was restored
    from a backup). So a read without an entry reads a store that includes the write, whatever changes in between;
    reading the store first would combine a state from before the write with an entry that is gone already. Lists and
    index reads follow the same order for every entry.

    The parts of an entry:

    - The state after the last write, with its version. It leaves when the store has the object at this version or a
      newer one, when the store has reached this version, or when the store's object is deleted.
    - Tombstones of deleted objects by uid, because another object may have the name by now. A tombstone leaves when
      the store has deleted the object of this uid. If the informer filters by labels or fields, the object may return
      to the store: then the tombstone is kept apart for the rest of its time, and each stored object is compared with
      those after it was read.

    At most `size` names are kept, each for at most `ttl` seconds after the last write to it. With `include_adds`,
    objects that the store does not have yet are returned, too. `reached` returns the store's resourceVersion for a
    namespace, by default that of the whole store. `transform` is that of the store; `caught_up` compares versions that
    are not Kubernetes' own. A state outside the `selection` is not returned, nor any older one.
    """

    def __init__(
        self,
        backing: Indexer[T],
        *,
        ttl: float = 60.0,
        size: int = 10_000,
        include_adds: bool = True,
        reached: Callable[[str], str] | None = None,
        transform: Transform[T] = keep_everything,
        caught_up: CaughtUp = at_least,
        selection: InformerSelection = EVERYTHING,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.selection = selection
        self._selects_all = not selection.filters
        self._backing = backing
        self._ttl = ttl
        self._include_adds = include_adds
        self._reached = reached or (lambda _: backing.resource_version)
        self._transform: Callable[[], Transform[T]] = lambda: transform
        self._caught_up = caught_up
        self._clock = clock
        self._lock = threading.Lock()
        self._serial = 0  # guarded by _lock
        # Changed under _lock. Single entries are read without it, because they are immutable. In the order of expiry.
        self._entries: BoundedDict[ObjectName, _Entry[T]] = BoundedDict(size)
        # Likewise: tombstones by uid of objects that have left the store, and may return.
        self._departed: BoundedDict[str, _Tombstone] = BoundedDict(size)

    @classmethod
    def over(cls, informer: SharedInformer[T], *, clock: Clock = SYSTEM_CLOCK) -> "MutationCache[T]":
        """Return an overlay over an informer's store, which the informer notifies of every change.

        Raises:
            ValueError: a selector of the informer is invalid.
        """
        cache = cls(
            informer.indexer,
            reached=informer.last_sync_resource_version_in,
            selection=informer.selection(),
            clock=clock,
        )
        cache._transform = lambda: informer.transform  # may be set until the start
        informer.add_overlay(cache)
        return cache

    def __repr__(self) -> str:
        return f"<MutationCache {len(self)} writes over {self._backing!r}>"

    def __len__(self) -> int:
        return len(self._entries)

    def before_write(self, key: ObjectName) -> BeforeWrite:
        """Return what `mutation` and `deletion` need to know if several threads write: the state before the request."""
        serial = self._serial  # first: an outcome recorded during this call is compared by its version
        entry = self._entries.get(key)
        stored = _uid(self._backing.get_by_key(key))
        return BeforeWrite(serial, stored, stored if entry is None else _uid(self._newest(key, entry)))

    def mutation(
        self, obj: T, *, before: BeforeWrite | None = None, content: Callable[[], Mapping[str, Any]] | None = None
    ) -> None:
        """Keep the server's response to a write, unless the store has caught up or a later response was kept.

        A response is later if its request was sent after the other response had been kept, or else by its version.
        `content` returns the JSON form of the object, for a selection by fields; by default it is that of `obj`.
        """
        key, meta = object_name(obj), obj.metadata
        if not self.selection.has_namespace(key.namespace):
            return  # the store never has such objects
        state: T | None = None
        if self._selects_all or self.selection.matches(meta, content or (lambda: to_dict(obj))):
            protect(obj.__class__)
            try:
                state = transformed(self._transform(), obj)
            except CallbackFailed:  # the informer reports the object when it receives it
                return
        with self._lock:
            self._drop_expired()
            old = self._entries.get(key)
            deleted = EMPTY_MAP if old is None else old.deleted
            tombstone = deleted.get(meta.uid) or self._departed.get(meta.uid)
            if tombstone is not None and not tombstone.shows_terminating:
                return
            if old is not None:
                concurrent = before is None or before.serial < old.serial
                if concurrent and old.version and self._caught_up(old.version, meta.resource_version):
                    return
            entry = self._keep(key, meta.resource_version, state, deleted)
        # After it was added: a change that is stored from now on removes it.
        self._newest(key, entry)

    def deletion(
        self, key: ObjectName, uid: str = "", *, before: BeforeWrite | None = None, shows_terminating: bool = False
    ) -> None:
        """Hide the deleted object of this name and uid until the store has deleted it.

        The object that was read under this name before the request is gone in any case, also if its uid differs. With
        `shows_terminating` the object may remain for a while, and is read again when it has a deletionTimestamp.
        """
        uids = {uid, *(before[1:] if before is not None else ())} - {""}
        if not uids or not self.selection.has_namespace(key.namespace):
            return
        with self._lock:
            self._drop_expired()
            entry = self._entries.get(key, _EMPTY)
            passed = self._passed(key, uids, before, entry)
            tombstone = _Tombstone(self._clock.now() + self._ttl, shows_terminating)
            final = {tombstone_uid: old for tombstone_uid, old in entry.deleted.items() if not old.shows_terminating}
            deleted = {**entry.deleted, **dict.fromkeys(uids, tombstone), **final}
            if entry.state is not None and entry.state.metadata.uid in uids and not shows_terminating:
                entry = entry.without_state()
            entry = self._keep(key, entry.version, entry.state, deleted)
            # After they were added: a deletion that is stored from now on retires them.
            self._shrink(key, self._retired(entry, *passed - {_uid(self._backing.get_by_key(key))}))

    def get_by_key(self, key: ObjectName) -> T | None:
        """Return the newest state of the object of that name, or None."""
        entry = self._entries.get(key)  # before the store
        newest = self._backing.get_by_key(key) if entry is None else self._newest(key, entry)
        return newest if not self._departed or newest is None or not self._has_departed(newest) else None

    def by_index(self, name: str, value: str) -> List[T]:
        """Return the newest states of the objects with that value of an index; raise KeyError for an unknown index.

        An object that a write moved to another value is returned for the new one.
        """
        return self._overlaid(
            lambda: self._backing.by_index(name, value), lambda obj: value in self._backing.values_of(name, obj)
        )

    def list(self) -> List[T]:
        """Return the newest states of all objects."""
        return self._overlaid(self._backing.list, lambda _: True)

    def stored(self, notification: Notification[T]) -> None:
        """Remove the writes that a change of the store includes; called by the informer."""
        if not self._entries:  # a write that is kept from now on compares itself with the store
            return
        match notification:
            case Added(obj):
                self.on_add_or_update(obj)
            case Updated(old, new):
                self.on_update(old, new)
            case Removed(obj):
                self.on_delete(object_name(obj), last_known(obj))
            case _:
                pass

    def listed(self, namespace: str, *, before: str, now: str) -> None:
        """Remove all writes of a namespace (of all, if empty) if its list has an older version than the store had.

        The server was restored from a backup, or replaced.
        """
        if self._caught_up(before, now) and not self._caught_up(now, before):
            self._departed.clear()
            self.left(namespace)

    def left(self, namespace: str) -> None:
        """Remove all writes of a namespace (of all, if empty) that is not selected any more."""
        with self._lock:
            for key in [key for key in self._entries if namespace in ("", key.namespace)]:
                del self._entries[key]

    def on_add_or_update(self, obj: T) -> None:
        """Remove the write that `obj` includes; for an informer's handler."""
        key = object_name(obj)
        with self._lock:
            self._drop_expired()
            entry = self._entries.get(key)
            if entry is not None and self._includes(obj, entry):
                self._shrink(key, entry.without_state())

    def on_update(self, old: T, new: T) -> None:
        """Remove the write that an update includes; for an informer's handler.

        An older version comes from a server that was restored from a backup, and has lost the write.
        """
        if self._caught_up(new.metadata.resource_version, old.metadata.resource_version):
            self.on_add_or_update(new)
        else:
            with self._lock:
                self._entries.pop(object_name(new), None)

    def on_delete(self, key: ObjectName, obj: T | None) -> None:
        """Remove the writes to a deleted object; `obj` is its last state, if known. For an informer's handler.

        With a selection by labels or fields, the object may only have left the selection: writes to it count until the
        store has reached their version then, and it stays hidden if it was deleted.
        """
        with self._lock:
            self._drop_expired()
            entry = self._entries.get(key)
            if entry is None:
                return
            if obj is None:
                del self._entries[key]
                return
            is_same = entry.state is not None and entry.state.metadata.uid == obj.metadata.uid
            if (is_same and not self.selection.filters) or self._includes(obj, entry):
                entry = entry.without_state()
            self._shrink(key, self._retired(entry, obj.metadata.uid))

    def _newest(self, key: ObjectName, entry: _Entry[T]) -> T | None:
        # In this order: every change up to this version is stored.
        reached = self._reached(key.namespace)
        stored = self._backing.get_by_key(key)
        if self._clock.now() >= entry.expires:
            return stored
        newest = stored
        if entry.version is not None:
            # A transform may drop the version of stored objects.
            seen = stored.metadata.resource_version if stored is not None else ""
            if self._caught_up(seen or reached, entry.version):
                with self._lock:
                    if self._entries.get(key) is entry:
                        self._shrink(key, entry.without_state())
            elif stored is not None or self._include_adds:
                newest = entry.state
        return newest if newest is None or not entry.hides(newest) else None

    def _overlaid(self, read: Callable[[], List[T]], belongs: Callable[[T], bool]) -> List[T]:
        objects = self._with_writes(read, belongs) if self._entries else read()
        return [obj for obj in objects if not self._has_departed(obj)] if self._departed else objects

    def _with_writes(self, read: Callable[[], List[T]], belongs: Callable[[T], bool]) -> List[T]:
        with self._lock:
            self._drop_expired()
            entries = dict(self._entries.items())  # before the store
        objects: list[T] = []
        written: dict[tuple[str, str], T] = {}  # by plain tuples, which equal the names
        for obj in read():
            meta = obj.metadata
            if (name := (meta.namespace, meta.name)) in entries:
                written[name] = obj
            else:
                objects.append(obj)
        for key, entry in entries.items():
            if entry.version is None:  # there may be many of these, of objects that are not in the list
                if (listed := written.get(key)) is not None and not entry.hides(listed):
                    objects.append(listed)
            elif (newest := self._newest(key, entry)) is not None and belongs(newest):
                objects.append(newest)
        return objects

    def _has_departed(self, obj: T) -> bool:
        tombstone = self._departed.get(obj.metadata.uid)
        return tombstone is not None and self._clock.now() < tombstone.expires and tombstone.hides(obj)

    def _passed(self, key: ObjectName, uids: set[str], before: BeforeWrite | None, entry: _Entry[T]) -> set[str]:
        """Return the uids of objects that the store has had."""
        if before is None:
            return set()
        created = entry.state is not None and entry.version is not None and _uid(entry.state) == before.newest
        if created and not self._caught_up(self._reached(key.namespace), entry.version or ""):
            return uids & {before.stored} - {before.newest}
        return uids & {before.stored, before.newest}

    def _keep(
        self, key: ObjectName, version: str | None, state: T | None, deleted: Mapping[str, _Tombstone]
    ) -> _Entry[T]:
        """Replace the entry of a name, without tombstones that have expired; the caller holds the lock."""
        now = self._clock.now()
        if deleted:
            deleted = {uid: tombstone for uid, tombstone in deleted.items() if tombstone.expires > now}
        self._serial += 1
        entry = self._entries[key] = _Entry(now + self._ttl, self._serial, version, state, deleted)
        return entry

    def _retired(self, entry: _Entry[T], *uids: str) -> _Entry[T]:
        """Return the entry without the tombstones of objects that the store does not have any more."""
        if self.selection.filters:
            self._departed.update({uid: entry.deleted[uid] for uid in uids if uid in entry.deleted})
        return entry.without_deleted(*uids)

    def _shrink(self, key: ObjectName, entry: _Entry[T]) -> None:
        if entry.version is None and not entry.deleted:
            del self._entries[key]
        else:
            OrderedDict.__setitem__(self._entries, key, entry)  # in its place, which is that of its expiry

    def _drop_expired(self) -> None:
        now = self._clock.now()
        both: tuple[BoundedDict[Any, Any], ...] = (self._entries, self._departed)
        for entries in both:
            while entries and next(iter(entries.values())).expires <= now:
                entries.popitem(last=False)

    def _includes(self, stored: T, entry: _Entry[T]) -> bool:
        return entry.version is not None and self._caught_up(stored.metadata.resource_version, entry.version)


def _uid(obj: ApiObject | None) -> str:
    return obj.metadata.uid if obj is not None else ""
