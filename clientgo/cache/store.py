"""Objects by name and by index: the store that informers fill and listers read.

Readers never wait for a list to be decoded and never see one half stored: a replacement is prepared aside and put in
place at once. Objects are handed out as they are, not copied; they are values and cannot be changed.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from clientgo.cache.transform import Transform
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)

IndexFunc = Callable[[T], Iterable[str]]
"""Gives the values an object is found under.

It must not raise: a store that can't file an object can't be trusted, so whoever puts the object in gets the error.
"""

List = list  # inside a class that has a method of that name, the type needs another

_tuple = tuple.__new__

NAMESPACE_INDEX = "namespace"
"""The index every informer has: objects by namespace."""


def by_namespace(obj: ApiObject) -> tuple[str, ...]:
    """The index function of `NAMESPACE_INDEX`."""
    return (obj.metadata.namespace,)


class Indexer(Generic[T]):
    """Thread-safe objects by name, findable by the values of any number of indexes.

    `transform`, if given, is applied to whatever comes in. `resource_version` is the version the store reflects: that
    of the last object put in or taken out, of the last replacement, or of the last bookmark.
    """

    def __init__(
        self, indexers: Mapping[str, IndexFunc[T]] | None = None, *, transform: Transform[T] | None = None
    ) -> None:
        self.resource_version = ""
        self._transform = transform
        self._lock = threading.Lock()
        self._items: dict[ObjectName, T] = {}
        self._indexers: dict[str, IndexFunc[T]] = {}
        # Index -> value -> names of objects; a value without objects has no entry, so that values don't pile up.
        self._indices: dict[str, dict[str, set[ObjectName]]] = {}
        self.add_indexers(indexers or {})

    def __repr__(self) -> str:
        return f"<Indexer {len(self._items)} objects, indexes: {', '.join(self._indexers) or 'none'}>"

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: ObjectName) -> bool:
        return key in self._items

    def add(self, obj: T) -> None:
        """Keep `obj`, in place of any object of its name."""
        if self._transform is None:
            self.put(obj)
        else:
            self._put(object_name(obj), self._transform(obj))

    def update(self, obj: T) -> None:
        """The same as `add`."""
        self.add(obj)

    def delete(self, obj: T) -> None:
        """Forget the object of that name, if there is one; the store then reflects the version of `obj`."""
        self.pop(object_name(obj), obj.metadata.resource_version)

    def put(self, obj: T) -> T | None:
        """Keep `obj`, as it is; return what it replaced."""
        meta = obj.metadata
        # What object_name() gives, without asking whether obj is a tombstone: every event of an informer passes here.
        return self._put(_tuple(ObjectName, (meta.namespace, meta.name)), obj)

    def pop(self, key: ObjectName, version: str = "") -> T | None:
        """Forget the object of that name; return it, or None. `version`, if known, is what the store reflects then."""
        with self._lock:
            old = self._items.get(key)
            if old is not None:
                self._reindex(key, old, None)
                del self._items[key]
            self.resource_version = version or self.resource_version
        return old

    def replace(self, objects: Iterable[T], version: str = "") -> None:
        """Keep exactly these objects, which a list of that version held. All or, if one can't be filed, nothing."""
        if self._transform is None:
            items = {object_name(obj): obj for obj in objects}
        else:
            items = {object_name(obj): self._transform(obj) for obj in objects}
        with self._lock:
            indexers = dict(self._indexers)
        indices = {name: _index_of(func, items) for name, func in indexers.items()}
        with self._lock:
            for name in self._indexers.keys() - indexers.keys():  # added meanwhile
                indices[name] = _index_of(self._indexers[name], items)
            self._items = items
            self._indices = indices
            self.resource_version = version or self.resource_version

    def bookmark(self, version: str) -> None:
        """Everything up to that version is in the store."""
        self.resource_version = version

    def get(self, obj: T) -> T | None:
        """The object kept under the name of `obj`, or None."""
        return self._items.get(object_name(obj))

    def get_by_key(self, key: ObjectName) -> T | None:
        """The object of that name, or None."""
        return self._items.get(key)

    def list(self) -> List[T]:
        """All objects, in no order."""
        with self._lock:
            return list(self._items.values())

    def list_keys(self) -> List[ObjectName]:
        """The names of all objects, in no order."""
        with self._lock:
            return list(self._items)

    def index(self, name: str, obj: T) -> List[T]:
        """The objects that share a value of index `name` with `obj`; raises KeyError for an unknown index."""
        with self._lock:
            found = self._index_named(name)
            keys: set[ObjectName] = set()
            for value in self._indexers[name](obj):
                keys |= found.get(value, set())
            return [self._items[key] for key in keys]

    def by_index(self, name: str, value: str) -> List[T]:
        """The objects under that value of index `name`; raises KeyError for an unknown index."""
        with self._lock:
            return [self._items[key] for key in self._index_named(name).get(value, ())]

    def index_keys(self, name: str, value: str) -> List[ObjectName]:
        """The names under that value of index `name`, sorted; raises KeyError for an unknown index."""
        with self._lock:
            return sorted(self._index_named(name).get(value, ()))

    def index_values(self, name: str) -> List[str]:
        """The values index `name` has; none for an unknown index."""
        with self._lock:
            return list(self._indices.get(name, {}))

    def values_of(self, name: str, obj: T) -> List[str]:
        """The values index `name` files `obj` under; raises KeyError for an unknown index."""
        with self._lock:
            self._index_named(name)
            func = self._indexers[name]
        return list(func(obj))

    def has_index(self, name: str) -> bool:
        """Whether there is an index of that name."""
        return name in self._indexers

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes; objects already kept are indexed too.

        Raises:
            ValueError: an index of that name exists.
        """
        with self._lock:
            if taken := sorted(indexers.keys() & self._indexers.keys()):
                raise ValueError(f"indexer conflict: {', '.join(taken)}")
            self._indexers.update(indexers)
            for name, func in indexers.items():
                self._indices[name] = _index_of(func, self._items)

    def _index_named(self, name: str) -> dict[str, set[ObjectName]]:
        try:
            return self._indices[name]
        except KeyError:
            raise KeyError(f"Index with name {name} does not exist") from None

    def _put(self, key: ObjectName, obj: T) -> T | None:
        with self._lock:
            old = self._items.get(key)
            self._reindex(key, old, obj)
            self._items[key] = obj
            self.resource_version = obj.metadata.resource_version or self.resource_version
        return old

    def _reindex(self, key: ObjectName, old: T | None, new: T | None) -> None:
        # Every function is asked before anything is filed: one that raises leaves the store as it was.
        moves = None
        for name, func in self._indexers.items():
            before = func(old) if old is not None else ()
            after = func(new) if new is not None else ()
            if before != after:
                moves = moves or []
                moves.append((self._indices[name], before, after))
        for index, gone, come in moves or ():
            _refile(index, key, set(gone), set(come))


def _index_of(func: IndexFunc[T], items: Mapping[ObjectName, T]) -> dict[str, set[ObjectName]]:
    index: dict[str, set[ObjectName]] = {}
    for key, obj in items.items():
        for value in func(obj):
            index.setdefault(value, set()).add(key)
    return index


def _refile(index: dict[str, set[ObjectName]], key: ObjectName, before: set[str], after: set[str]) -> None:
    for value in before - after:
        keys = index[value]
        keys.discard(key)
        if not keys:
            del index[value]
    for value in after - before:
        index.setdefault(value, set()).add(key)
