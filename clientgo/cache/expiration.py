"""A store whose objects vanish by themselves some time after they were put in."""

import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from clientgo.cache.store import List
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)

IsExpired = Callable[[T, float], bool]
"""Tells from an object and its age in seconds whether it is to vanish."""


def older_than(ttl: float) -> IsExpired[ApiObject]:
    """Objects vanish once they are older than `ttl` seconds, not at exactly that age; 0 or less keeps them for ever."""
    return lambda _, age: ttl > 0 and age > ttl


class ExpirationStore(Generic[T]):
    """Thread-safe objects by name; one that has expired is not found, and is dropped when next met.

    `on_expired` is told of each object dropped for its age, outside of the lock.
    """

    def __init__(
        self,
        ttl: float = 0.0,
        *,
        is_expired: IsExpired[T] | None = None,
        on_expired: Callable[[T], None] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._is_expired: IsExpired[T] = is_expired if is_expired is not None else older_than(ttl)
        self._on_expired = on_expired
        self._clock = clock
        self._lock = threading.Lock()
        self._items: dict[ObjectName, tuple[float, T]] = {}

    def __repr__(self) -> str:
        return f"<ExpirationStore {len(self._items)} objects, expired ones included>"

    def add(self, obj: T) -> None:
        """Keep `obj` from now on, in place of any object of its name."""
        with self._lock:
            self._items[object_name(obj)] = (self._clock.now(), obj)

    def update(self, obj: T) -> None:
        """The same as `add`: its age starts anew."""
        self.add(obj)

    def delete(self, obj: T) -> None:
        """Forget the object of that name, if there is one."""
        with self._lock:
            self._items.pop(object_name(obj), None)

    def replace(self, objects: Iterable[T]) -> None:
        """Keep exactly these objects, all of them new."""
        now = self._clock.now()
        items = {object_name(obj): (now, obj) for obj in objects}
        with self._lock:
            self._items = items

    def get(self, obj: T) -> T | None:
        """The object kept under the name of `obj`, or None if there is none or it has expired."""
        return self.get_by_key(object_name(obj))

    def get_by_key(self, key: ObjectName) -> T | None:
        """The object of that name, or None if there is none or it has expired."""
        found = self._fresh([key])
        return found[0] if found else None

    def list(self) -> List[T]:
        """All objects that have not expired, in no order."""
        with self._lock:
            keys = list(self._items)
        return self._fresh(keys)

    def list_keys(self) -> List[ObjectName]:
        """The names of all objects that have not expired, in no order."""
        return [object_name(obj) for obj in self.list()]

    def _fresh(self, keys: List[ObjectName]) -> List[T]:
        fresh, expired = [], []
        with self._lock:
            now = self._clock.now()
            for key in keys:
                entry = self._items.get(key)
                if entry is None:
                    continue
                added, obj = entry
                if self._is_expired(obj, now - added):
                    del self._items[key]
                    expired.append(obj)
                else:
                    fresh.append(obj)
        if self._on_expired is not None:
            for obj in expired:
                self._on_expired(obj)
        return fresh
