"""Indexer: the thread-safe store of objects by name and by index, which informers fill and listers read.

Readers never wait for a list to be decoded and never see a part of one: a replacement is prepared first, and then
stored at once. Objects are returned without a copy: they are values, and their maps are read-only.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from clientgo.meta.codec import replace
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.readonly import protect

T = TypeVar("T", bound=ApiObject)

Transform = Callable[[T], T]
"""Returns the object to store; must be idempotent, and is called without any lock."""

IndexFunc = Callable[[T], Iterable[str]]
"""Returns the index values of an object. It must not raise: its exception reaches the caller of `add`."""

List = list  # for annotations in classes with a method `list`

_tuple = tuple.__new__

NAMESPACE_INDEX = "namespace"
"""Index of every informer: objects by namespace."""


def drop_managed_fields(obj: T) -> T:
    """Return the object without metadata.managedFields, which take up to half of its memory."""
    meta = obj.metadata
    return replace(obj, metadata=replace(meta, managed_fields=())) if meta.managed_fields else obj


def keep_everything(obj: T) -> T:
    """Return the object unchanged."""
    return obj


def by_namespace(obj: ApiObject) -> tuple[str, ...]:
    """Return the value of `NAMESPACE_INDEX`."""
    return _single(obj.metadata.namespace)


@functools.lru_cache(maxsize=10_000)
def _single(namespace: str) -> tuple[str, ...]:
    # One tuple for all objects of a namespace: an index keeps the values of each object.
    return (namespace,)


class _Index(Generic[T]):
    """Names of objects by index value; guarded by the lock of its store.

    The values of each name are recorded, and only those are removed: a second call of the function may return others.
    """

    __slots__ = ("filed", "func", "names")

    def __init__(self, func: IndexFunc[T], items: Mapping[ObjectName, T]) -> None:
        self.func = func
        self.filed: dict[ObjectName, tuple[str, ...]] = {}
        # A value without objects has no entry, so that unused values take no memory.
        self.names: dict[str, set[ObjectName]] = {}
        for key, obj in items.items():
            self.file(key, tuple(func(obj)))

    def file(self, key: ObjectName, values: tuple[str, ...]) -> None:
        """Set the values of a name."""
        before = self.filed.pop(key, ())
        for value in before:
            if value not in values and value in self.names:  # a function may return a value twice
                self.names[value].discard(key)
                if not self.names[value]:
                    del self.names[value]
        for value in values:
            self.names.setdefault(value, set()).add(key)
        if values:
            self.filed[key] = values


class Indexer(Generic[T]):
    """Thread-safe store of objects by name, with any number of indexes.

    `transform`, if given, is applied to each added object. `resource_version` is that of the last change, replacement
    or bookmark.
    """

    def __init__(
        self, indexers: Mapping[str, IndexFunc[T]] | None = None, *, transform: Transform[T] | None = None
    ) -> None:
        self.resource_version = ""
        self._transform = transform
        self._lock = threading.Lock()
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
        protect(obj.__class__)
        self._put(object_name(obj), obj if self._transform is None else self._transform(obj))

    def update(self, obj: T) -> None:
        """Replace the object of that name, or add it."""
        self.add(obj)

    def delete(self, obj: T) -> None:
        """Remove the object of that name, if any, and set the store's version to that of `obj`."""
        self.pop(object_name(obj), obj.metadata.resource_version)

    def put(self, obj: T) -> T | None:
        """Add an object without a transform; return the replaced one, or None."""
        meta = obj.metadata
        # As object_name(), without its check for tombstones: this is called for every event of an informer.
        return self._put(_tuple(ObjectName, (meta.namespace, meta.name)), obj)

    def pop(self, key: ObjectName, version: str = "") -> T | None:
        """Remove and return the object of that name, or None; set the store's version to `version`, if known."""
        with self._lock:
            old = self._pop(key)
            self.resource_version = version or self.resource_version
        return old

    def replace(self, objects: Iterable[T], version: str = "") -> None:
        """Replace all objects by a list of that version; if an index function raises, change nothing."""
        items = self._prepared(objects)
        with self._lock:
            functions = {name: index.func for name, index in self._indexes.items()}
        indexes = {name: _Index(func, items) for name, func in functions.items()}
        with self._lock:
            for name in self._indexes.keys() - indexes.keys():  # added in the meantime
                indexes[name] = _Index(self._indexes[name].func, items)
            self._items = items
            self._indexes = indexes
            self.resource_version = version or self.resource_version

    def replace_some(self, gone: Iterable[ObjectName], objects: Iterable[T], version: str = "") -> None:
        """Remove the objects named in `gone` and add these, atomically for `list` and the indexes.

        The duration does not depend on the other objects.
        """
        items = self._prepared(objects)
        with self._lock:
            values = {key: self._values(key, obj) for key, obj in items.items()}
            for key in set(gone).difference(items):
                self._pop(key)
            for key, obj in items.items():
                self._set(key, obj, values[key])
            self.resource_version = version or self.resource_version

    def bookmark(self, version: str) -> None:
        """Set the store's version: all changes up to it are stored."""
        self.resource_version = version

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
        with self._lock:
            found = self._index_named(name)
            keys: set[ObjectName] = set()
            for value in found.func(obj):
                keys |= found.names.get(value, set())
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
        """Return the values of `obj` in index `name`; raise KeyError for an unknown index."""
        with self._lock:
            func = self._index_named(name).func
        return list(func(obj))

    def has_index(self, name: str) -> bool:
        """Return True if the index exists."""
        return name in self._indexes

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes, also for the stored objects.

        Raises:
            ValueError: an index of that name exists.
        """
        with self._lock:
            if taken := sorted(indexers.keys() & self._indexes.keys()):
                raise ValueError(f"indexer conflict: {', '.join(taken)}")
            self._indexes.update({name: _Index(func, self._items) for name, func in indexers.items()})

    def _prepared(self, objects: Iterable[T]) -> dict[ObjectName, T]:
        transform = self._transform
        items = {object_name(obj): obj if transform is None else transform(obj) for obj in objects}
        for kind in set(map(type, items.values())):
            protect(kind)
        return items

    def _index_named(self, name: str) -> _Index[T]:
        try:
            return self._indexes[name]
        except KeyError:
            raise KeyError(f"Index with name {name} does not exist") from None

    def _put(self, key: ObjectName, obj: T) -> T | None:
        with self._lock:
            values = self._values(key, obj)
            old = self._items.get(key)
            self._set(key, obj, values)
            self.resource_version = obj.metadata.resource_version or self.resource_version
        return old

    def _values(self, key: ObjectName, obj: T) -> List[tuple[_Index[T], tuple[str, ...]]]:
        """Return the changed values of an object by index.

        Every index function is called before anything is changed: one that raises leaves the store unchanged.
        """
        changed = []
        for index in self._indexes.values():
            values = tuple(index.func(obj))
            if values != index.filed.get(key, ()):
                hash(values)
                changed.append((index, values))
        return changed

    def _set(self, key: ObjectName, obj: T, values: Iterable[tuple[_Index[T], tuple[str, ...]]]) -> None:
        for index, given in values:
            index.file(key, given)
        self._items[key] = obj

    def _pop(self, key: ObjectName) -> T | None:
        for index in self._indexes.values():
            index.file(key, ())
        return self._items.pop(key, None)
