"""Objects by name and by index: the store that informers fill and listers read.

Readers never wait for a list to be decoded and never see one half stored: a replacement is prepared aside and put in
place at once. Objects are handed out as they are, not copied: they are values, and their maps are read-only.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from clientgo.cache.transform import Transform
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.readonly import protect

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
    return _only(obj.metadata.namespace)


@functools.lru_cache(maxsize=10_000)
def _only(namespace: str) -> tuple[str, ...]:
    # One for all objects of a namespace: an index keeps what it filed each object under.
    return (namespace,)


class _Index(Generic[T]):
    """The names of objects by the values of one index function; guarded by the lock of its store.

    What each name is filed under is recorded, and only that is removed: asked again, a function may answer otherwise
    than it did then.
    """

    __slots__ = ("filed", "func", "names")

    def __init__(self, func: IndexFunc[T], items: Mapping[ObjectName, T]) -> None:
        self.func = func
        self.filed: dict[ObjectName, tuple[str, ...]] = {}
        # A value without objects has no entry, so that values do not pile up.
        self.names: dict[str, set[ObjectName]] = {}
        for key, obj in items.items():
            self.file(key, tuple(func(obj)))

    def file(self, key: ObjectName, values: tuple[str, ...]) -> None:
        """File a name under these values, and no others."""
        before = self.filed.pop(key, ())
        for value in before:
            if value not in values and value in self.names:  # a function may name one twice
                self.names[value].discard(key)
                if not self.names[value]:
                    del self.names[value]
        for value in values:
            self.names.setdefault(value, set()).add(key)
        if values:
            self.filed[key] = values


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
        self._indexes: dict[str, _Index[T]] = {}
        self.add_indexers(indexers or {})

    def __repr__(self) -> str:
        return f"<Indexer {len(self._items)} objects, indexes: {', '.join(self._indexes) or 'none'}>"

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: ObjectName) -> bool:
        return key in self._items

    def add(self, obj: T) -> None:
        """Keep `obj`, in place of any object of its name."""
        protect(obj.__class__)
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
            old = self._pop(key)
            self.resource_version = version or self.resource_version
        return old

    def replace(self, objects: Iterable[T], version: str = "") -> None:
        """Keep exactly these objects, which a list of that version held. All or, if one can't be filed, nothing."""
        if self._transform is None:
            items = {object_name(obj): obj for obj in objects}
        else:
            items = {object_name(obj): self._transform(obj) for obj in objects}
        for kind in set(map(type, items.values())):
            protect(kind)
        with self._lock:
            functions = {name: index.func for name, index in self._indexes.items()}
        indexes = {name: _Index(func, items) for name, func in functions.items()}
        with self._lock:
            for name in self._indexes.keys() - indexes.keys():  # added meanwhile
                indexes[name] = _Index(self._indexes[name].func, items)
            self._items = items
            self._indexes = indexes
            self.resource_version = version or self.resource_version

    def replace_some(self, gone: Iterable[ObjectName], objects: Iterable[T], version: str = "") -> None:
        """Remove the objects named in `gone` and add these, in one step for `list` and the indexes.

        The time it takes does not depend on the objects that stay.
        """
        transform = self._transform
        items = {object_name(obj): obj if transform is None else transform(obj) for obj in objects}
        for kind in set(map(type, items.values())):
            protect(kind)
        with self._lock:
            values = {key: self._values(key, obj) for key, obj in items.items()}
            for key in set(gone).difference(items):
                self._pop(key)
            for key, obj in items.items():
                self._set(key, obj, values[key])
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
            for value in found.func(obj):
                keys |= found.names.get(value, set())
            return [self._items[key] for key in keys]

    def by_index(self, name: str, value: str) -> List[T]:
        """The objects under that value of index `name`; raises KeyError for an unknown index."""
        with self._lock:
            return [self._items[key] for key in self._index_named(name).names.get(value, ())]

    def index_keys(self, name: str, value: str) -> List[ObjectName]:
        """The names under that value of index `name`, sorted; raises KeyError for an unknown index."""
        with self._lock:
            return sorted(self._index_named(name).names.get(value, ()))

    def index_values(self, name: str) -> List[str]:
        """The values index `name` has; none for an unknown index."""
        with self._lock:
            return list(self._indexes[name].names) if name in self._indexes else []

    def values_of(self, name: str, obj: T) -> List[str]:
        """The values index `name` files `obj` under; raises KeyError for an unknown index."""
        with self._lock:
            func = self._index_named(name).func
        return list(func(obj))

    def has_index(self, name: str) -> bool:
        """Whether there is an index of that name."""
        return name in self._indexes

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indexes; objects already kept are indexed too.

        Raises:
            ValueError: an index of that name exists.
        """
        with self._lock:
            if taken := sorted(indexers.keys() & self._indexes.keys()):
                raise ValueError(f"indexer conflict: {', '.join(taken)}")
            self._indexes.update({name: _Index(func, self._items) for name, func in indexers.items()})

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
        """Return what the name has to be filed under anew; every function is asked before anything is filed.

        One that raises leaves the store as it was.
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
