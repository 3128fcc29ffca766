"""What an informer calls: functions for objects that come, change and go, and which objects are of interest."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from clientgo.cache.tombstone import DeletedFinalStateUnknown, last_known
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)

OnAdd = Callable[[T], None]
OnUpdate = Callable[[T, T], None]
OnDelete = Callable[[T | DeletedFinalStateUnknown[T]], None]
Accept = Callable[[T], bool]
"""Whether an object is of interest."""


class Handler(msgspec.Struct, Generic[T], frozen=True):
    """What to call; a missing function means that such changes are of no interest.

    `on_initial_add`, if given, is called in place of `on_add` for what was there when the handler was added or the
    cache was filled.
    """

    on_add: OnAdd[T] | None = None
    on_update: OnUpdate[T] | None = None
    on_delete: OnDelete[T] | None = None
    on_initial_add: OnAdd[T] | None = None

    @property
    def name(self) -> str:
        """The names of its functions, for logs."""
        functions = (self.on_add, self.on_update, self.on_delete, self.on_initial_add)
        return ", ".join(getattr(f, "__qualname__", type(f).__name__) for f in functions if f is not None) or "none"


def filtered(handler: Handler[T], accept: Accept[T]) -> Handler[T]:
    """The same functions for objects that `accept` takes: one that changes into such comes, one that ceases to be goes.

    A deletion whose last state is unknown is always told.
    """
    only = _Filter(handler, accept)
    return Handler(only.add, only.update, only.delete, only.initial_add)


class _Filter(Generic[T]):
    def __init__(self, handler: Handler[T], accept: Accept[T]) -> None:
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
        match self._accept(old), self._accept(new):
            case True, True:
                self._on_update(old, new)
            case False, True:
                self._on_add(new)
            case True, False:
                self._on_delete(old)
            case _:
                pass  # of no interest before or after

    def delete(self, deleted: T | DeletedFinalStateUnknown[T]) -> None:
        last = last_known(deleted)
        if last is None or self._accept(last):
            self._on_delete(deleted)


def _ignore(*_: object) -> None:
    """What a handler does that has no such function."""
