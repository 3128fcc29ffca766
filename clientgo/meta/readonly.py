"""Read-only maps and lists in API objects, at every depth.

The decoder creates plain dicts, and a cache returns the object itself. So a field that may hold a map is guarded: its
first read replaces the plain value by a read-only copy. Fields that are not read cost nothing, and decoding is not
slowed down (docs/decisions/objects.md).

The guard is against mistakes: Python's operators and the methods of maps and lists raise. `object.__setattr__`,
`dict.update(labels, ...)` and C functions for lists, such as `heapq.heapify`, can change an object all the same.
"""

import dataclasses
import functools
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from datetime import datetime
from operator import is_
from types import MemberDescriptorType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.internal.forks import fork_safe

K = TypeVar("K")
V = TypeVar("V")


def _reject(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(
        "maps and lists of API objects are read-only: change a copy, and create a new object with replace()"
    )


class ReadOnlyDict(dict[K, V]):
    """A dict that cannot be changed; its copies (`dict(x)`, `x | {...}`, `copy.copy(x)`, pickled) are plain dicts."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _reject
    clear = pop = popitem = setdefault = update = _reject

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class ReadOnlyList(list[V]):
    """A list that cannot be changed; its copies are plain lists."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _reject
    append = clear = extend = insert = pop = remove = reverse = sort = _reject

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class _EmptyMap(ReadOnlyDict[str, Any]):
    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        # Dataclasses reject unhashable defaults as mutable.
        return hash(())

    def __reduce__(self) -> str:  # type: ignore[override]
        return "EMPTY_MAP"


EMPTY_MAP: Mapping[str, Any] = _EmptyMap()
"""The empty map that absent maps share; never encoded, because it is the default everywhere."""

_EMPTY_LIST: ReadOnlyList[Any] = ReadOnlyList()

_SCALARS = frozenset((str, int, float, bool, type(None), bytes))
_READ_ONLY = frozenset((ReadOnlyDict, ReadOnlyList, _EmptyMap, datetime)) | _SCALARS


def read_only(value: Any) -> Any:
    """Return `value` with all dicts and lists in it replaced by read-only copies; objects in it stay as they are."""
    return _read_only(value)[0]


def _read_only(value: Any) -> tuple[Any, bool]:
    """Return the read-only copy, and whether it contains only maps, lists and JSON scalars."""
    root = _shallow(value)
    if root is value:
        return value, False
    register_with_yaml()
    scalars_alone = True
    # Not recursive: the decoder accepts deeper nesting than Python's stack.
    pending = [root]
    while pending:
        part = pending.pop()
        for key, child in part.items() if isinstance(part, dict) else enumerate(part):
            if child.__class__ in _SCALARS:
                continue
            guarded = _shallow(child)
            if isinstance(guarded, dict | list | tuple):
                pending.append(guarded)
            else:
                scalars_alone = False
            if guarded is not child:
                (dict if isinstance(part, dict) else list).__setitem__(part, key, guarded)
    return root, scalars_alone


def _shallow(value: Any) -> Any:
    if value.__class__ in _READ_ONLY:
        return value
    if isinstance(value, dict):
        return ReadOnlyDict(value) if value else EMPTY_MAP
    if isinstance(value, list):
        return ReadOnlyList(value) if value else _EMPTY_LIST
    if value.__class__ is tuple:
        items = tuple(map(read_only, value))
        return value if all(map(is_, items, value)) else items
    return value


class _Guard:
    """A field whose first read replaces a plain map or list by its read-only copy.

    A Struct keeps the plain value if it contains objects, and each read copies it: msgspec encodes a field without
    holding a reference to its value, and encoding such objects may let another thread run.
    """

    __slots__ = ("_get", "_replaceable", "_set")

    def __init__(self, member: Any, *, in_struct: bool) -> None:
        self._get = member.__get__
        self._set = member.__set__
        self._replaceable = not in_struct

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self._get(None, owner)
        value = self._get(obj)
        return value if value.__class__ in _READ_ONLY else self._protected(obj, value)

    def __set__(self, obj: Any, value: Any) -> None:
        self._set(obj, value)

    def raw(self, obj: Any) -> Any:
        """Return the value without replacing it."""
        return self._get(obj)

    def freeze(self, obj: Any, value: Any) -> Any:
        """Replace the value of an object that no other thread has by a copy that nothing else refers to; return it."""
        if value.__class__ in _READ_ONLY:
            return value
        # An empty map stays a plain one, see below.
        frozen = _read_only(value)[0] if value else type(value)()
        self._set(obj, frozen)
        return frozen

    def _protected(self, obj: Any, value: Any) -> Any:
        guarded, scalars_alone = _read_only(value)
        # An empty map stays: the encoder omits only values of the default's class.
        if guarded is not value and value and (scalars_alone or self._replaceable):
            self._set(obj, guarded)
        return guarded


def freeze(obj: Any, original: Any = None) -> None:
    """Protect an object that the program created, before other threads have it: later changes of its maps do not count.

    The first read of a field is too late for this. Parts that it shares with `original`, which is protected, are
    skipped.
    """
    pending = [(obj, original)]
    while pending:
        part, before = pending.pop()
        if part is before or part.__class__ in _SCALARS:
            continue
        if isinstance(part, dict):
            pending += [(value, None) for value in part.values()]
        elif isinstance(part, list | tuple):
            shared = set(map(id, before)) if isinstance(before, tuple) else ()
            pending += [(value, None) for value in part if id(value) not in shared]
        elif _has_fields(part.__class__):
            pending += _frozen_fields(part, before if before.__class__ is part.__class__ else None)


def _frozen_fields(part: Any, before: Any) -> Iterator[tuple[Any, Any]]:
    """Freeze the fields of an object; yield their values, each with that of the original."""
    for name, guard in _fields_of(part.__class__):
        if guard is None:
            yield getattr(part, name), getattr(before, name, None)
            continue
        value = guard.raw(part)
        if before is None or value is not guard.raw(before):
            yield guard.freeze(part, value), None


@functools.lru_cache(maxsize=1024)
def _fields_of(cls: Any) -> tuple[tuple[str, _Guard | None], ...]:
    """Return the fields of a Struct or dataclass, with their guards."""
    protect(cls)
    names = cls.__struct_fields__ if isinstance(cls, msgspec.StructMeta) else [f.name for f in dataclasses.fields(cls)]
    members = [(name, _member(cls, name)) for name in names]
    return tuple((name, member if isinstance(member, _Guard) else None) for name, member in members)


def _member(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), dataclasses.MISSING)


class _InDict:
    """A descriptor for a field in the `__dict__` of an instance without slots."""

    def __init__(self, name: str, default: Any) -> None:
        self._name = name
        self._default = default

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        value = self._default if obj is None else vars(obj).get(self._name, self._default)
        if value is dataclasses.MISSING:
            raise AttributeError(self._name)
        return value

    def __set__(self, obj: Any, value: Any) -> None:
        vars(obj)[self._name] = value


_LOCK = fork_safe(threading.Lock())
_PROTECTED: set[type] = set()


def protect(cls: type) -> None:
    """Guard the fields of a Struct or dataclass, and of all classes below it, that may hold maps or lists."""
    if cls in _PROTECTED:
        return
    with _LOCK:
        seen: set[type] = set()
        pending = [cls]
        while pending:
            each = pending.pop()
            if each not in seen and each not in _PROTECTED:
                seen.add(each)
                for base in each.__mro__:
                    if base is not msgspec.Struct and _has_own_fields(base):
                        _protect_fields(base, pending)
        _PROTECTED.update(seen)


def _has_fields(cls: type) -> bool:
    return isinstance(cls, msgspec.StructMeta) or dataclasses.is_dataclass(cls)


def _has_own_fields(cls: type) -> bool:
    return isinstance(cls, msgspec.StructMeta) or "__dataclass_fields__" in vars(cls)


def _protect_fields(cls: type, below: list[type]) -> None:
    fields = cls.__struct_fields__ if isinstance(cls, msgspec.StructMeta) else vars(cls)["__dataclass_fields__"]
    hints = {name: hint for name, hint in cls.__annotations__.items() if name in fields}
    try:
        guarded = [name for name, hint in hints.items() if _may_be_mutable(hint, below)]
    except _Unresolved:
        try:
            resolved = get_type_hints(cls)
        except NameError:
            guarded = [*hints]  # no codec can decode such a class either; an unneeded guard does no harm
        else:
            guarded = [name for name in hints if _may_be_mutable(resolved[name], below)]
    for name in guarded:
        _guard(cls, name)


class _Unresolved(Exception):
    """An annotation contains a forward reference."""


_SIMPLE = _SCALARS | {datetime}
_ABSTRACT = (Any, object, Iterable, Collection, Sequence, MutableSequence)


def _may_be_mutable(hint: Any, below: list[type]) -> bool:
    """Report whether a field with this annotation may hold a map or list; add the classes in it to `below`."""
    try:
        is_mutable, classes = _content(hint)
    except TypeError:  # not hashable, because of what an Annotated has
        is_mutable, classes = _content.__wrapped__(hint)
    below += classes
    return is_mutable


@functools.lru_cache(maxsize=1024)
def _content(hint: Any) -> tuple[bool, list[type]]:
    """Return whether a field with this annotation may hold a map or list, and the classes in it."""
    below: list[type] = []
    if isinstance(hint, type):
        if hint in _SIMPLE:
            return False, below
        if _has_fields(hint):
            return False, [hint]
        return hint in _ABSTRACT or issubclass(hint, list | Mapping), below
    if isinstance(hint, str | ForwardRef):
        raise _Unresolved
    if (meant := getattr(hint, "__value__", None) or getattr(hint, "__supertype__", None)) is not None:
        return _may_be_mutable(meant, below), below  # a type alias, or a NewType
    origin = get_origin(hint)
    if origin is Literal or hint is Ellipsis:
        return False, below
    if origin is Annotated:
        return _may_be_mutable(hint.__origin__, below), below
    inside = [_may_be_mutable(argument, below) for argument in get_args(hint)]
    # Neither a union nor a type with arguments (Any, a type variable): may be anything.
    is_mutable = any(inside) or origin is None or (origin not in _UNIONS and _may_be_mutable(origin, below))
    return is_mutable, below


_UNIONS = (tuple, Union, UnionType)


def _guard(cls: type, name: str) -> None:
    guarded_member = _member(cls, name)
    if not isinstance(guarded_member, _Guard):
        member = guarded_member if isinstance(guarded_member, MemberDescriptorType) else _InDict(name, guarded_member)
        setattr(cls, name, _Guard(member, in_struct=isinstance(cls, msgspec.StructMeta)))


def register_with_yaml() -> None:
    """Register the read-only classes with PyYAML's dumpers, if a program has imported it."""
    global _yaml_knows
    yaml = sys.modules.get("yaml")
    if _yaml_knows or not hasattr(yaml, "dump"):  # which is defined last
        return
    for name in ("SafeDumper", "Dumper", "CSafeDumper", "CDumper"):
        dumper = getattr(yaml, name, None)
        if dumper is not None:
            for kind in (ReadOnlyDict, _EmptyMap):
                dumper.add_representer(kind, dumper.represent_dict)
            dumper.add_representer(ReadOnlyList, dumper.represent_list)
    _yaml_knows = True


_yaml_knows = False
