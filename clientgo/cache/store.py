"""Indexer: the thread-safe store of objects by name and by index, which informers fill and listers read.

Readers never wait for a list to be decoded and never see a part of one: a replacement is prepared first, and then
stored at once. Objects are returned without a copy: they are values, and their maps are read-only.

Transforms and index functions come from the program, and are called without the lock that readers take. An object that
an index function fails for is missing in that index only; it is logged, counted and returned by `failures`.
"""

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from clientgo.cache.state import ObjectFailure, count_failure
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import callback_failure
from clientgo.log import get_logger
from clientgo.meta.codec import replace
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.readonly import freeze, protect

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

Transform = Callable[[T], T]
"""Returns the object to store, of the same class and name; must be idempotent, and is called without any lock."""

IndexFunc = Callable[[T], Iterable[str]]
"""Returns the index values of an object; one that raises or returns something else leaves it out of the index."""

List = list  # for annotations in classes with a method `list`

_tuple = tuple.__new__

NAMESPACE_INDEX = "namespace"
"""Index of every informer: objects by namespace."""


def drop_managed_fields(obj: T) -> T:
    """Return the object without metadata.managedFields, which take up to half of its memory."""
    meta = obj.metadata
    return replace(obj, metadata=msgspec.structs.replace(meta, managed_fields=())) if meta.managed_fields else obj


def keep_everything(obj: T) -> T:
    """Return the object unchanged."""
    return obj


def transformed(transform: Transform[T], obj: T) -> T:
    """Return the object to store.

    Raises:
        CallbackFailed: the transform raised, or returned no object of the same class and name.
    """
    if transform is drop_managed_fields:  # by far the most frequent one, which needs no check
        return transform(obj)
    try:
        ready = transform(obj)
        if ready is not obj:
            _check(ready, obj)
            freeze(ready, obj)
    except BaseException as error:
        raise callback_failure(error) from error
    return ready


def _check(ready: T, obj: T) -> None:
    if not isinstance(ready, type(obj)):
        raise CallbackFailed(f"returned a {type(ready).__name__}, expected a {type(obj).__name__}")
    before, after = object_name(obj), object_name(ready)
    if after != before:
        raise CallbackFailed(f"returned an object named {after}, expected {before}")


def _plain_str(value: object) -> str:
    # An enum's member is a str, too. The copy has neither its __hash__ nor its __eq__.
    if not isinstance(value, str):
        raise CallbackFailed(f"returned the value {value!r}, expected str")
    return str.__str__(value)


def by_namespace(obj: ApiObject) -> tuple[str, ...]:
    """Return the value of `NAMESPACE_INDEX`."""
    return _single(obj.metadata.namespace)


@functools.lru_cache(maxsize=10_000)
def _single(namespace: str) -> tuple[str, ...]:
    # One tuple for all objects of a namespace: an index keeps the values of each object.
    return (namespace,)


_Values = tuple[str, ...] | CallbackFailed


class _Index(Generic[T]):
    """Names of objects by index value; guarded by the lock of its store.

    The values of each name are recorded, and only those are removed: a second call of the function may return others.
    """

    __slots__ = ("failed", "func", "names", "values_by_key")

    def __init__(self, func: IndexFunc[T]) -> None:
        self.func = func
        self.values_by_key: dict[ObjectName, tuple[str, ...]] = {}
        # A value without objects has no entry, so that unused values take no memory.
        self.names: dict[str, set[ObjectName]] = {}
        self.failed: dict[ObjectName, str] = {}  # errors of the objects that the function fails for

    def of(self, items: Mapping[ObjectName, T]) -> "_Index[T]":
        """Return an index of these objects by the same function; calls it for each."""
        index = _Index(self.func)
        for key, obj in items.items():
            index.update(key, index.values(obj))
        return index

    def values(self, obj: T) -> _Values:
        """Return the values of an object, or the error of the function."""
        try:
            values = self.func(obj)
            if values.__class__ is not tuple:
                if isinstance(values, str):  # an iterable of strings, which would index each character
                    raise CallbackFailed("returned a str, expected an iterable of str")
                values = tuple(values)
            for value in values:
                if value.__class__ is not str:
                    return tuple(map(_plain_str, values))
        except BaseException as error:  # noqa: BLE001  # foreign code
            return callback_failure(error)
        return values

    def update(self, key: ObjectName, values: _Values) -> None:
        """Set the values of a name."""
        if isinstance(values, CallbackFailed):
            self.failed[key] = str(values)
            values = ()
        elif self.failed:
            self.failed.pop(key, None)
        before = self.values_by_key.pop(key, ())
        for value in before:
            if value not in values and value in self.names:  # a function may return a value twice
                self.names[value].discard(key)
                if not self.names[value]:
                    del self.names[value]
        for value in values:
            self.names.setdefault(value, set()).add(key)
        if values:
            self.values_by_key[key] = values


class Indexer(Generic[T]):
    """Thread-safe store of objects by name, with any number of indexes.

    `transform`, if given, is applied to each added object. `resource_version` is that of the last change, replacement
    or bookmark. `kind` names the objects in logs and metrics.
    """

    def __init__(
        self,
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        *,
        transform: Transform[T] | None = None,
        kind: str = "",
    ) -> None:
        self.resource_version = ""
        self._kind = kind
        self._transform = transform
        # Held by writers while they call index functions; readers do not wait for it. Taken before _lock.
        self._writing = threading.Lock()
        self._unreported: deque[ObjectFailure] = deque()
        self._lock = threading.Lock()
        # Below: changed with both locks held, read with one of them.
        self._items: dict[ObjectName, T] = {}
        self._indexes: dict[str, _Index[T]] = {}
        self.add_indexers(indexers or {})

    def __repr__(self) -> str:
        return f"<Indexer {len(self._items)} objects, indexes: {', '.join(self._indexes) or 'none'}>"

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: ObjectName) -> bool:
        return key in self._items

    def add(self, obj: T) -> None:
        """Add an object, or replace the one of its name."""
        freeze(obj)
        self.put(obj if self._transform is None else transformed(self._transform, obj))
        self.report()

    def update(self, obj: T) -> None:
        """Replace the object of that name, or add it."""
        self.add(obj)

    def delete(self, obj: T) -> None:
        """Remove the object of that name, if any, and set the store's version to that of `obj`."""
        self.pop(object_name(obj), obj.metadata.resource_version)

    def put(self, obj: T) -> T | None:
        """Add an object without a transform; return the replaced one, or None. The caller calls `report` afterwards."""
        meta = obj.metadata
        # As object_name(), without its check for tombstones: this is called for every event of an informer.
        key = _tuple(ObjectName, (meta.namespace, meta.name))
        with self._writing:
            changed = self._changed_values(key, obj)
            with self._lock:
                old = self._items.get(key)
                for index, values in changed:
                    index.update(key, values)
                self._items[key] = obj
                self.resource_version = meta.resource_version or self.resource_version
        return old

    def pop(self, key: ObjectName, version: str = "") -> T | None:
        """Remove and return the object of that name, or None; set the store's version to `version`, if known."""
        with self._writing, self._lock:
            old = self._pop(key)
            self.resource_version = version or self.resource_version
        return old

    def replace(self, objects: Iterable[T], version: str = "") -> None:
        """Replace all objects by a list of that version. The caller calls `report` afterwards."""
        items = self._prepared(objects)
        with self._writing:
            indexes = {name: index.of(items) for name, index in self._indexes.items()}
            for name, index in indexes.items():
                before = self._indexes[name].failed
                self._add_unreported(name, {key: e for key, e in index.failed.items() if e != before.get(key)})
            with self._lock:
                self._items = items
                self._indexes = indexes
                self.resource_version = version or self.resource_version

    def replace_some(self, gone: Iterable[ObjectName], objects: Iterable[T], version: str = "") -> None:
        """Remove the objects named in `gone` and add these, atomically for `list` and the indexes.

        The duration does not depend on the other objects. The caller calls `report` afterwards.
        """
        items = self._prepared(objects)
        with self._writing:
            changed = {key: self._changed_values(key, obj) for key, obj in items.items()}
            with self._lock:
                for key in set(gone).difference(items):
                    self._pop(key)
                for key, changed_values in changed.items():
                    for index, values in changed_values:
                        index.update(key, values)
                self._items |= items
                self.resource_version = version or self.resource_version

    def bookmark(self, version: str) -> None:
        """Set the store's version, unless it is empty: all changes up to it are stored."""
        self.resource_version = version or self.resource_version

    def get(self, obj: T) -> T | None:
        """Return the stored object with the name of `obj`, or None."""
        return self._items.get(object_name(obj))

    def get_by_key(self, key: ObjectName) -> T | None:
        """Return the object of that name, or None."""
        return self._items.get(key)

    def list(self) -> List[T]:
        """Return all objects, in no order."""
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> List[ObjectName]:
        """Return the names of all objects, in no order."""
        with self._lock:
            return list(self._items)

    def index(self, name: str, obj: T) -> List[T]:
        """Return the objects that share a value of index `name` with `obj`; raise KeyError for an unknown index."""
        values = self.values_of(name, obj)
        with self._lock:
            names = self._index_named(name).names
            keys = {key for value in values for key in names.get(value, ())}
            return [self._items[key] for key in keys]

    def by_index(self, name: str, value: str) -> List[T]:
        """Return the objects with that value of index `name`; raise KeyError for an unknown index."""
        with self._lock:
            return [self._items[key] for key in self._index_named(name).names.get(value, ())]

    def index_keys(self, name: str, value: str) -> List[ObjectName]:
        """Return the sorted names with that value of index `name`; raise KeyError for an unknown index."""
        with self._lock:
            return sorted(self._index_named(name).names.get(value, ()))

    def index_values(self, name: str) -> List[str]:
        """Return the values of index `name`; none for an unknown index."""
        with self._lock:
            return list(self._indexes[name].names) if name in self._indexes else []

    def values_of(self, name: str, obj: T) -> List[str]:
        """Return the values of `obj` in index `name`, none if it fails for it; raise KeyError for an unknown index."""
        with self._lock:
            index = self._index_named(name)
        values = index.values(obj)
        return [] if isinstance(values, CallbackFailed) else [*values]

    def has_index(self, name: str) -> bool:
        """Return True if the index exists."""
        return name in self._indexes

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes, also for the stored objects.

        Raises:
            ValueError: an index of that name exists.
        """
        with self._writing:
            if conflicts := sorted(indexers.keys() & self._indexes.keys()):
                raise ValueError(f"indexer conflict: {', '.join(conflicts)}")
            indexes = {name: _Index(func).of(self._items) for name, func in indexers.items()}
            for name, index in indexes.items():
                self._add_unreported(name, index.failed)
            with self._lock:
                self._indexes = {**self._indexes, **indexes}
        self.report()

    @property
    def failing(self) -> int:
        """Number of objects that an index function fails for, counted for each index."""
        return sum(len(index.failed) for index in self._indexes.values())

    def failures(self) -> Iterator[ObjectFailure]:
        """Yield the objects that an index function fails for; takes no lock."""
        for name, index in self._indexes.items():
            for key, error in index.failed.copy().items():
                yield ObjectFailure(f"index {name}", key, error)

    def report(self) -> None:
        """Log and count new failures of index functions. Separate from the changes, which may be made under a lock."""
        while self._unreported:
            try:
                failure = self._unreported.popleft()
            except IndexError:  # another thread was faster
                return
            count_failure(self._kind, "index")
            facts = {"kind": self._kind, "namespace": failure.name.namespace, "name_": failure.name.name}
            log.error("object left out of an index", extra={**facts, "index": failure.hook, "err": failure.error})

    def _add_unreported(self, name: str, errors: Mapping[ObjectName, str]) -> None:
        self._unreported += [ObjectFailure(f"index {name}", key, error) for key, error in errors.items()]

    def _prepared(self, objects: Iterable[T]) -> dict[ObjectName, T]:
        transform = self._transform
        items = {object_name(obj): obj if transform is None else transformed(transform, obj) for obj in objects}
        for kind in set(map(type, items.values())):
            protect(kind)
        return items

    def _index_named(self, name: str) -> _Index[T]:
        try:
            return self._indexes[name]
        except KeyError:
            raise KeyError(f"Index with name {name} does not exist") from None

    def _changed_values(self, key: ObjectName, obj: T) -> List[tuple[_Index[T], _Values]]:
        """Return the changed values of an object by index."""
        changed: list[tuple[_Index[T], _Values]] = []
        for name, index in self._indexes.items():
            values = index.values(obj)
            if values.__class__ is tuple:
                if values == index.values_by_key.get(key, ()) and not (index.failed and key in index.failed):
                    continue
            elif str(values) != index.failed.get(key):
                self._add_unreported(name, {key: str(values)})
            changed.append((index, values))
        return changed

    def _pop(self, key: ObjectName) -> T | None:
        for index in self._indexes.values():
            index.update(key, ())
        return self._items.pop(key, None)
