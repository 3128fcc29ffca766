"""Own writes that an informer's store may not include yet: the states after them, and the deleted objects.

The methods that change something are called under one lock. `of` is called without: what it returns is immutable.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from clientgo.clock import Clock
from clientgo.internal.boundeddict import BoundedDict
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import EMPTY_MAP, ApiObject

T = TypeVar("T", bound=ApiObject)


class OwnState(msgspec.Struct, Generic[T], frozen=True):
    """State of an object after a write; the object is None if the informer does not select it in this state."""

    expires: float
    serial: int
    version: str
    obj: T | None


class OwnStates(Generic[T]):
    """The state after the last own write to each name, at most `size`, each for `ttl` seconds."""

    def __init__(self, size: int, ttl: float, clock: Clock) -> None:
        self.serial = 0
        """Number of states kept so far."""
        self._ttl = ttl
        self._clock = clock
        self._states: BoundedDict[ObjectName, OwnState[T]] = BoundedDict(size)  # in the order of expiry

    def __len__(self) -> int:
        return len(self._states)

    def of(self, key: ObjectName) -> OwnState[T] | None:
        """Return the state of a name, which may have expired."""
        return self._states.get(key)

    def copy(self) -> dict[ObjectName, OwnState[T]]:
        """Return all states."""
        return dict(self._states)

    def keep(self, key: ObjectName, version: str, obj: T | None) -> OwnState[T]:
        """Replace the state of a name."""
        self.serial += 1
        state = self._states[key] = OwnState(self._clock.now() + self._ttl, self.serial, version, obj)
        return state

    def remove(self, key: ObjectName, state: OwnState[T] | None) -> None:
        """Remove this state, unless another one has replaced it."""
        if state is not None and self._states.get(key) is state:
            del self._states[key]

    def drop_expired(self) -> None:
        """Remove the states whose time is over."""
        _drop_expired(self._states, self._clock.now())


class Tombstone(msgspec.Struct, frozen=True):
    """Deleted object; one that `shows_terminating` is hidden only in states without a deletionTimestamp."""

    expires: float
    shows_terminating: bool


class Deleted(NamedTuple):
    """Deleted objects of one name by uid, because another object may have the name by now."""

    expires: float
    tombstones: Mapping[str, Tombstone] = EMPTY_MAP

    def hides(self, obj: ApiObject, now: float) -> bool:
        """Return whether a state is that of a deleted object."""
        uid = obj.metadata.uid
        # A transform may drop the uid: then all tombstones of the name count.
        tombstones = (self.tombstones.get(uid),) if uid else self.tombstones.values()
        return any(each is not None and now < each.expires and _hides(each, obj) for each in tombstones)


class OwnDeletions:
    """The objects that own writes have deleted, of at most `size` names, each for `ttl` seconds.

    If objects `may_return` to the store, because the informer filters by labels or fields, those that have left it are
    hidden for the rest of their time.
    """

    def __init__(self, size: int, ttl: float, clock: Clock, *, may_return: bool) -> None:
        self._ttl = ttl
        self._clock = clock
        self._may_return = may_return
        self._deleted: BoundedDict[ObjectName, Deleted] = BoundedDict(size)  # in the order of expiry

    def __len__(self) -> int:
        return len(self._deleted)

    def of(self, key: ObjectName) -> Deleted | None:
        """Return the deleted objects of a name, which may have expired."""
        return self._deleted.get(key)

    def copy(self) -> dict[ObjectName, Deleted]:
        """Return all deleted objects."""
        return dict(self._deleted)

    def is_gone(self, key: ObjectName, uid: str) -> bool:
        """Return whether an object is deleted for good, so that a late response to another write does not count."""
        deleted = self._deleted.get(key)
        tombstone = None if deleted is None else deleted.tombstones.get(uid)
        return tombstone is not None and not tombstone.shows_terminating

    def add(self, key: ObjectName, uids: set[str], *, shows_terminating: bool) -> None:
        """Hide the objects of a name that have these uids."""
        now = self._clock.now()
        before = self._deleted.get(key, Deleted(now)).tombstones
        tombstones = {uid: tombstone for uid, tombstone in before.items() if now < tombstone.expires}
        final = {uid: tombstone for uid, tombstone in tombstones.items() if not tombstone.shows_terminating}
        added = dict.fromkeys(uids, Tombstone(now + self._ttl, shows_terminating))
        self._deleted[key] = Deleted(now + self._ttl, {**tombstones, **added, **final})

    def left_store(self, key: ObjectName, *uids: str) -> None:
        """Remove the objects of a name that the store has deleted; all of them, if one uid is empty."""
        deleted = self._deleted.get(key)
        if deleted is None or (self._may_return and "" not in uids):
            return
        remaining = {uid: tombstone for uid, tombstone in deleted.tombstones.items() if uid not in uids}
        if not remaining or "" in uids:
            del self._deleted[key]
        else:
            OrderedDict.__setitem__(self._deleted, key, deleted._replace(tombstones=remaining))  # in its place

    def remove(self, key: ObjectName) -> None:
        """Remove all deleted objects of a name."""
        self._deleted.pop(key, None)

    def drop_expired(self) -> None:
        """Remove the names whose time is over."""
        _drop_expired(self._deleted, self._clock.now())


def _hides(tombstone: Tombstone, obj: ApiObject) -> bool:
    return not tombstone.shows_terminating or obj.metadata.deletion_timestamp is None


def _drop_expired(entries: OrderedDict[ObjectName, Any], now: float) -> None:
    while entries and next(iter(entries.values())).expires <= now:
        entries.popitem(last=False)
