"""Mutation cache: read-your-own-writes over an informer's store.

Between a write and its watch event the store is stale; a decision based on it would repeat the write, or send one that
the server rejects.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from clientgo.cache.handlers import last_known
from clientgo.cache.informer import SharedInformer
from clientgo.cache.listener import Added, Notification, Removed, Updated
from clientgo.cache.ownwrites import Deleted, OwnDeletions, OwnState, OwnStates
from clientgo.cache.selection import EVERYTHING, InformerSelection
from clientgo.cache.store import Indexer, List, Transform, keep_everything, transformed
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.meta.codec import to_dict
from clientgo.meta.listwatch import at_least
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.readonly import protect

T = TypeVar("T", bound=ApiObject)


class BeforeWrite(NamedTuple):
    """State of one name just before a write is sent."""

    serial: int
    """Number of states kept so far."""
    stored: str
    """Uid of the stored object; empty if there is none."""
    newest: str
    """Uid of the object that reads return; empty if there is none."""


class MutationCache(Generic[T]):
    """Overlay of the program's own writes over an informer's store.

    Each read takes the own state of a name first, its own deletions second, then the version that the store has
    reached, and the stored object last. It returns the newer of both states, unless it is that of a deleted object.
    Invariant: a state or deletion is removed only after the store includes it (or after `ttl`, beyond `size`, or if the
    server was restored from a backup), and a deletion is kept before the state that it ends is removed. So a read that
    finds neither reads a store that includes the write, even if others change in between. Lists and index reads follow
    the same order for every name.

    - A state leaves when the store has the object at its version or a newer one, when the store has reached this
      version, or when the store's object is deleted.
    - A deletion leaves when the store has deleted the object of its uid.

    At most `size` names are kept, each for at most `ttl` seconds after the last write to it. With `include_adds`,
    objects that the store does not have yet are returned, too. `reached` returns the store's resourceVersion for a
    namespace, by default that of the whole store. `transform` is that of the store. A state outside the `selection` is
    not returned, nor any older one.
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
        selection: InformerSelection = EVERYTHING,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.selection = selection
        self._selects_all = not selection.filters
        self._backing = backing
        self._include_adds = include_adds
        self._reached = reached or (lambda _: backing.resource_version)
        self._transform: Callable[[], Transform[T]] = lambda: transform
        self._clock = clock
        self._lock = threading.Lock()
        # Changed under _lock.
        self._states: OwnStates[T] = OwnStates(size, ttl, clock)
        self._deletions = OwnDeletions(size, ttl, clock, may_return=bool(selection.filters))

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
        with self._lock:
            return len(self._names())

    def before_write(self, key: ObjectName) -> BeforeWrite:
        """Return what `mutation` and `deletion` need to know if several threads write: the state before the request."""
        serial = self._states.serial  # first: a state kept during this call is compared by its version
        return BeforeWrite(serial, _uid(self._backing.get_by_key(key)), _uid(self.get_by_key(key)))

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
            if self._deletions.is_gone(key, meta.uid):
                return
            old = self._states.of(key)
            if old is not None:
                concurrent = before is None or before.serial < old.serial
                if concurrent and at_least(old.version, meta.resource_version):
                    return
            added = self._states.keep(key, meta.resource_version, state)
        # After it was added: a change that is stored from now on removes it.
        self._newest(key, added, None)

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
            state = self._states.of(key)
            passed = self._passed(key, uids, before, state)
            self._deletions.add(key, uids, shows_terminating=shows_terminating)
            if state is not None and _uid(state.obj) in uids and not shows_terminating:
                self._states.remove(key, state)
            # After they were added: a deletion that is stored from now on removes them.
            if passed := passed - {_uid(self._backing.get_by_key(key))}:
                self._deletions.left_store(key, *passed)

    def get_by_key(self, key: ObjectName) -> T | None:
        """Return the newest state of the object of that name, or None."""
        state = self._states.of(key)  # before the deletions, and these before the store
        deleted = self._deletions.of(key)
        return self._newest(key, state, deleted)

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
        if not self._states and not self._deletions:  # a write that is kept from now on compares itself with the store
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
        if at_least(before, now) and not at_least(now, before):
            self.left(namespace)

    def left(self, namespace: str) -> None:
        """Remove all writes of a namespace (of all, if empty) that is not selected any more."""
        with self._lock:
            for key in self._names():
                if namespace in ("", key.namespace):
                    self._forget(key)

    def on_add_or_update(self, obj: T) -> None:
        """Remove the write that `obj` includes; for an informer's handler."""
        key = object_name(obj)
        with self._lock:
            self._drop_expired()
            state = self._states.of(key)
            if state is not None and self._includes(obj, state):
                self._states.remove(key, state)

    def on_update(self, old: T, new: T) -> None:
        """Remove the write that an update includes; for an informer's handler.

        An older version comes from a server that was restored from a backup, and has lost the write.
        """
        if at_least(new.metadata.resource_version, old.metadata.resource_version):
            self.on_add_or_update(new)
        else:
            with self._lock:
                self._forget(object_name(new))

    def on_delete(self, key: ObjectName, obj: T | None) -> None:
        """Remove the writes to a deleted object; `obj` is its last state, if known. For an informer's handler.

        With a selection by labels or fields, the object may only have left the selection: writes to it count until the
        store has reached their version then, and it stays hidden if it was deleted.
        """
        with self._lock:
            self._drop_expired()
            if obj is None:
                self._forget(key)
                return
            state = self._states.of(key)
            if state is not None:
                is_same = state.obj is not None and state.obj.metadata.uid == obj.metadata.uid
                if (is_same and not self.selection.filters) or self._includes(obj, state):
                    self._states.remove(key, state)
            self._deletions.left_store(key, obj.metadata.uid)

    def _newest(self, key: ObjectName, state: OwnState[T] | None, deleted: Deleted | None) -> T | None:
        if state is None:
            newest = self._backing.get_by_key(key)
        else:
            # In this order: every change up to this version is stored.
            reached = self._reached(key.namespace)
            stored = newest = self._backing.get_by_key(key)
            # A transform may drop the version of stored objects.
            seen = stored.metadata.resource_version if stored is not None else ""
            if self._clock.now() < state.expires:
                if at_least(seen or reached, state.version):
                    with self._lock:
                        self._states.remove(key, state)
                elif stored is not None or self._include_adds:
                    newest = state.obj
        if newest is None or deleted is None or not deleted.hides(newest, self._clock.now()):
            return newest
        return None

    def _overlaid(self, read: Callable[[], List[T]], belongs: Callable[[T], bool]) -> List[T]:
        if not self._states and not self._deletions:
            return read()
        with self._lock:
            self._drop_expired()
            states, deletions = self._states.copy(), self._deletions.copy()  # before the store
        now, objects = self._clock.now(), list[T]()
        for obj in read():
            name = object_name(obj)
            if name in states or ((deleted := deletions.get(name)) is not None and deleted.hides(obj, now)):
                continue
            objects.append(obj)
        for key, state in states.items():
            if (newest := self._newest(key, state, deletions.get(key))) is not None and belongs(newest):
                objects.append(newest)
        return objects

    def _passed(
        self, key: ObjectName, uids: set[str], before: BeforeWrite | None, state: OwnState[T] | None
    ) -> set[str]:
        """Return the uids of objects that the store has had."""
        if before is None:
            return set()
        created = state is not None and state.obj is not None and _uid(state.obj) == before.newest
        if created and state is not None and not at_least(self._reached(key.namespace), state.version):
            return uids & {before.stored} - {before.newest}
        return uids & {before.stored, before.newest}

    def _names(self) -> set[ObjectName]:
        return {*self._states.copy(), *self._deletions.copy()}

    def _forget(self, key: ObjectName) -> None:
        self._states.remove(key, self._states.of(key))
        self._deletions.remove(key)

    def _drop_expired(self) -> None:
        self._states.drop_expired()
        self._deletions.drop_expired()

    def _includes(self, stored: T, state: OwnState[T]) -> bool:
        return at_least(stored.metadata.resource_version, state.version)


def _uid(obj: ApiObject | None) -> str:
    return obj.metadata.uid if obj is not None else ""
