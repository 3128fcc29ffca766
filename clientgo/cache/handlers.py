"""Event handlers of an informer: callbacks for added, updated and deleted objects, with an optional filter."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.meta.names import ObjectName

T = TypeVar("T")


class DeletedFinalStateUnknown(msgspec.Struct, Generic[T], frozen=True):
    """A deleted object whose deletion was not observed; `obj` is the last known state, which may be stale, or None."""

    name: ObjectName
    obj: T | None

    @property
    def object_name(self) -> ObjectName:
        """Name of the deleted object."""
        return self.name


def last_known(deleted: T | DeletedFinalStateUnknown[T]) -> T | None:
    """Return the last known state of a deleted object."""
    return deleted.obj if isinstance(deleted, DeletedFinalStateUnknown) else deleted


OnAdd = Callable[[T], None]
OnUpdate = Callable[[T, T], None]
OnDelete = Callable[[T | DeletedFinalStateUnknown[T]], None]
Accept = Callable[[T], bool]
"""Returns True for the objects that a handler receives."""


class ResourceEventHandler(msgspec.Struct, Generic[T], frozen=True):
    """Callbacks for changes of objects, each of them optional.

    `on_initial_add`, if set, is called instead of `on_add` for objects that exist when the handler is added or the
    cache is filled; `on_synced` after the last of these.
    """

    on_add: OnAdd[T] | None = None
    on_update: OnUpdate[T] | None = None
    on_delete: OnDelete[T] | None = None
    on_initial_add: OnAdd[T] | None = None
    on_synced: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """Names of the callbacks, for logs."""
        functions = (self.on_add, self.on_update, self.on_delete, self.on_initial_add)
        return ", ".join(_name_of(f) for f in functions if f is not None) or "none"


def _name_of(function: object) -> str:
    try:
        name = run_callback(getattr, function, "__qualname__", "")
    except CallbackFailed:  # an object with a __getattr__ that raises
        name = ""
    return name if isinstance(name, str) and name else type(function).__name__


def filtered(handler: ResourceEventHandler[T], accept: Accept[T]) -> ResourceEventHandler[T]:
    """Return a handler that receives accepted objects only (client-go's FilteringResourceEventHandler).

    An update after which an object is accepted is an addition, one after which it is not is a deletion. A deletion
    without a last known state is always passed on.
    """
    only = _Filter(handler, accept)
    return ResourceEventHandler(only.add, only.update, only.delete, only.initial_add)


class _Filter(Generic[T]):
    def __init__(self, handler: ResourceEventHandler[T], accept: Accept[T]) -> None:
        self._accept = accept
        self._on_add = handler.on_add or _ignore
        self._on_update = handler.on_update or _ignore
        self._on_delete = handler.on_delete or _ignore
        self._on_initial_add = handler.on_initial_add or self._on_add

    def add(self, obj: T) -> None:
        if self._accept(obj):
            self._on_add(obj)

    def initial_add(self, obj: T) -> None:
        if self._accept(obj):
            self._on_initial_add(obj)

    def update(self, old: T, new: T) -> None:
        match bool(self._accept(old)), bool(self._accept(new)):
            case True, True:
                self._on_update(old, new)
            case False, True:
                self._on_add(new)
            case True, False:
                self._on_delete(old)
            case _:
                pass

    def delete(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        last = last_known(deleted)
        if last is None or self._accept(last):
            self._on_delete(deleted)


def _ignore(*_: object) -> None: ...
