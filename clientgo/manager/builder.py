"""Builder of controllers: the kind to reconcile, further kinds to watch, predicates, options and the reconciler.

    ControllerBuilder(manager).for_(Foo).owns(Deployment).watches(Secret, foos_with).complete(FooReconciler(manager))

A kind is given by its class. Its informer is shared with all controllers of the manager.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from clientgo.clock import Clock
from clientgo.dynamic.unstructured import PartialObjectMetadata, metadata_type
from clientgo.errors import ConfigError
from clientgo.internal.keywords import keywords_of
from clientgo.manager.cache import Cache
from clientgo.manager.controllers import (
    Controller,
    ControllerOptions,
    RequestReconciler,
    check_signature,
    reconcile_of,
    reserve_name,
)
from clientgo.manager.eventhandlers import MapFuncs, ToRequests, itself, owners_of
from clientgo.manager.predicates import Predicate
from clientgo.manager.sources import KindSource, Source
from clientgo.meta.classes.check import check_class
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.reconcile.attempts import LogFields
from clientgo.reconcile.workers import Reconcile
from clientgo.workqueue import RateLimiter

T = TypeVar("T", bound=ApiObject)


class Host(Protocol):
    """Manager, as far as a builder needs it."""

    @property
    def cache(self) -> Cache:
        """Cache with the informers of all kinds."""

    @property
    def clock(self) -> Clock:
        """Clock of the controllers."""

    def add_controller(self, controller: Controller) -> None:
        """Run a controller with the manager."""


class ControllerBuilder:
    """Collects the parts of a controller. Each method returns the builder; wrong use raises ConfigError."""

    def __init__(self, manager: Host) -> None:
        """Build a controller of this manager."""
        self._manager = manager
        self._kind: type[Any] | None = None
        self._own_predicates: tuple[Predicate, ...] = ()
        # Created by `complete`: owned kinds depend on the reconciled one.
        self._sources: list[Callable[[], Source]] = []
        self._predicates: tuple[Predicate, ...] = ()
        self._name = ""
        self._unique = True
        self._options = ControllerOptions()

    def for_(self, cls: type[Any], *predicates: Predicate) -> "ControllerBuilder":
        """Reconcile the objects of this kind; call it once, because each kind needs its own controller."""
        if self._kind is not None:
            raise ConfigError(f"for_() may be called once; this controller is already for {self._kind.__name__}")
        _check_kind(cls)
        self._kind, self._own_predicates = cls, _checked(predicates)
        return self

    def owns(self, cls: type[Any], *predicates: Predicate, any_owner: bool = False) -> "ControllerBuilder":
        """Reconcile the controlling owner of each changed object of this kind, or each owner with `any_owner`."""
        _checked(predicates)

        def source() -> Source:
            if self._kind is None:
                raise ConfigError(f"cannot find the owner of {cls.__name__}: for_() is missing")
            return KindSource(self._manager.cache, cls, owners_of(self._kind, any_owner=any_owner), predicates)

        return self._with(cls, source)

    def watches(self, cls: type[T], to_requests: ToRequests[T], *predicates: Predicate) -> "ControllerBuilder":
        """Reconcile the names that `to_requests`, a function or `MapFuncs`, returns for changed objects of a kind.

        A function is called for both states of a changed object, so that what an object has left is reconciled, too.
        """
        _check_map(to_requests)
        _checked(predicates)
        return self._with(cls, lambda: KindSource(self._manager.cache, cls, to_requests, predicates))

    def watches_metadata(
        self, cls: type[Any], to_requests: ToRequests[PartialObjectMetadata], *predicates: Predicate
    ) -> "ControllerBuilder":
        """Reconcile as with `watches`, but request and cache only the metadata of the objects."""
        api = api_of(cls)
        return self.watches(metadata_type(api.gvr, kind=api.kind, namespaced=api.namespaced), to_requests, *predicates)

    def watches_source(self, source: Source) -> "ControllerBuilder":
        """Reconcile the names that this source enqueues."""
        self._sources.append(lambda: source)
        return self

    def with_predicates(self, *predicates: Predicate) -> "ControllerBuilder":
        """Ignore events of any source that one of these predicates rejects."""
        self._predicates += _checked(predicates)
        return self

    def with_workers(self, workers: int) -> "ControllerBuilder":
        """Reconcile up to this many objects concurrently; 1 by default."""
        return self.with_options(workers=workers)

    def with_limiter(self, limiter: RateLimiter[Any]) -> "ControllerBuilder":
        """Set the rate limiter for failures; by default 5 ms, doubled up to 1000 s."""
        return self.with_options(limiter=limiter)

    def expecting(self, *errors: type[Exception]) -> "ControllerBuilder":
        """Log these errors of the reconciler without a traceback, because they are not bugs."""
        return self.with_options(expected=(*self._options.expected, *errors))

    def with_log_fields(self, fields: LogFields) -> "ControllerBuilder":
        """Add `fields(request)` to each line that is logged during a reconciliation."""
        return self.with_options(log_fields=fields)

    @keywords_of(ControllerOptions)
    def with_options(self, **options: Any) -> "ControllerBuilder":
        """Change fields of the `ControllerOptions`."""
        self._options = replace(self._options, **options)
        self._options.check()
        return self

    def named(self, name: str, *, unique: bool = True) -> "ControllerBuilder":
        """Set the name for logs and metrics; by default the kind in lower case. Names are unique in a process.

        With `unique=False` (controller-runtime's SkipNameValidation) several controllers may have the name; their
        metrics are added up.
        """
        self._name, self._unique = name, unique
        return self

    def complete(self, reconciler: RequestReconciler | Reconcile) -> Controller:
        """Create the controller, which the manager runs, and return it.

        Raises:
            ConfigError: there is nothing to watch, or the name is already in use.
        """
        sources = self._all_sources()
        if not sources:
            raise ConfigError("nothing to watch: call for_(), or watches() and named()")
        name = self._name or (self._kind.__name__.lower() if self._kind is not None else "")
        if not name:
            raise ConfigError("a controller without for_() needs a name: call named()")
        controller = Controller(
            name,
            api_of(self._kind).kind if self._kind is not None else name,
            reconcile_of(reconciler),
            sources,
            predicates=self._predicates,
            options=self._options,
            describe_unsynced=self._manager.cache.unsynced,
            clock=self._manager.clock,
        )
        if self._unique:
            reserve_name(controller)
        self._manager.add_controller(controller)
        return controller

    def _all_sources(self) -> tuple[Source, ...]:
        first: Iterable[Source] = ()
        if self._kind is not None:
            first = (KindSource(self._manager.cache, self._kind, itself, self._own_predicates),)
        sources: list[Source] = []
        for source in (*first, *(create() for create in self._sources)):
            for at, each in enumerate(sources):
                if isinstance(each, KindSource) and (both := each.joined(source)) is not None:
                    sources[at] = both
                    break
            else:
                sources.append(source)
        return tuple(sources)

    def _with(self, cls: type[Any], source: Callable[[], Source]) -> "ControllerBuilder":
        _check_kind(cls)
        self._sources.append(source)
        return self


def _check_kind(cls: type[Any]) -> None:
    try:
        api_of(cls)
        check_class(cls)
    except TypeError as error:
        raise ConfigError(str(error)) from None


def _checked(predicates: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    flattened: tuple[object, ...] = predicates
    for predicate in flattened:
        if not all(callable(getattr(predicate, event, None)) for event in ("create", "update", "delete", "generic")):
            raise ConfigError(
                f"{predicate!r} is not a predicate: use Funcs(create=..., update=...), or subclass Predicate"
            )
        if isinstance(predicate, type):
            raise ConfigError(f"{predicate.__name__} is a class: pass a predicate, {predicate.__name__}()")
    return predicates


def _check_map(to_requests: ToRequests[Any]) -> None:
    if not isinstance(to_requests, MapFuncs):
        check_signature(to_requests, "object")
        return
    for function in (to_requests.create, to_requests.delete, to_requests.generic):
        if function is not None:
            check_signature(function, "object")
    if to_requests.update is not None:
        check_signature(to_requests.update, "old", "new")
