"""Event handlers of an informer: callbacks for added, updated and deleted objects, with an optional filter."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger
from clientgo.meta.names import ObjectName

log = get_logger(__name__)

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
    label: str = ""

    @property
    def name(self) -> str:
        """The label, or names of the callbacks, for logs."""
        if self.label:
            return self.label
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
    return ResourceEventHandler(only.add, only.update, only.delete, only.initial_add, label=handler.label)


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


MIN_RESYNC = 1.0
"""Shortest resync period of a handler in seconds (client-go's)."""


class ResyncPeriods:
    """Resync check period of one informer in seconds, by client-go's rules; guarded by the informer's lock.

    A handler's own period cannot be shorter than the check period. One requested before the start lowers the check
    period; one requested later is raised to it. An informer with period 0 resyncs no handler.
    """

    def __init__(self, check_period: float) -> None:
        self.check_period = max(check_period, 0.0)

    def __repr__(self) -> str:
        return f"<ResyncPeriods {self.check_period:g} s>"

    def for_handler(self, requested: float, *, started: bool) -> float:
        """Return the period of a handler that requests `requested` seconds."""
        if requested <= 0 or self.check_period == 0:
            return 0.0
        period = max(requested, MIN_RESYNC)
        if started:
            return max(period, self.check_period)
        self.check_period = min(self.check_period, period)
        return period

    def delivers_unchanged(self, period: float, resynced: float | None, running: float, now: float) -> bool:
        """Return True if a handler is called for objects that a list found unchanged.

        `resynced` is the time of its last resync, `running` the seconds since the informer's start. Until the first
        check every handler is called, afterwards those that were due at the last check.
        """
        if self.check_period == 0 or running < self.check_period:
            return True
        since = running if resynced is None else now - resynced
        return period > 0 and (since < self.check_period or since >= period)


def warn_of_period(requested: float, period: float) -> None:
    """Log if a handler is resynced less often than it requested, or not at all."""
    facts = {"wanted": requested, "period": period}
    if requested > 0 and not period:
        log.warning("handler is not resynced: the informer's resync is off", extra=facts)
    elif period > max(requested, MIN_RESYNC):
        log.warning("handler is resynced less often than requested: the informer has already started", extra=facts)
