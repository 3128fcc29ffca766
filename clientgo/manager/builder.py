"""How a controller is put together: what it reconciles, what else concerns it, and by whom.

    controller(manager).for_(Foo).owns(Deployment).watches(Secret, foos_with).complete(FooReconciler(manager))

A kind is told by its class; its informer is the manager's, shared with every other controller.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from clientgo.clock import Clock
from clientgo.dynamic.metadata import PartialObjectMetadata, metadata_type
from clientgo.manager.cache import Cache
from clientgo.manager.controllers import (
    Controller,
    ControllerOptions,
    Reconcile,
    Reconciler,
    reconcile_of,
    reserve_name,
)
from clientgo.manager.predicates import Predicate
from clientgo.manager.sources import KindSource, Source, ToRequests, itself, owners_of
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.reconcile import LogFields
from clientgo.workqueue import RateLimiter

T = TypeVar("T", bound=ApiObject)


class Host(Protocol):
    """What a controller needs of its manager."""

    @property
    def cache(self) -> Cache:
        """Where its kinds' informers are."""

    @property
    def clock(self) -> Clock:
        """What it waits by."""

    def add_controller(self, controller: Controller) -> None:
        """Run it with the manager."""


class Builder:
    """Collects what a controller is made of; each method gives the builder back. Wrong use is a ValueError."""

    def __init__(self, manager: Host) -> None:
        self._manager = manager
        self._kind: type[Any] | None = None
        self._own: tuple[Predicate, ...] = ()
        # Made last: what a controller owns depends on what it is for.
        self._sources: list[Callable[[], Source]] = []
        self._predicates: tuple[Predicate, ...] = ()
        self._name = ""
        self._unique = True
        self._options = ControllerOptions()

    def for_(self, cls: type[Any], *predicates: Predicate) -> "Builder":
        """Reconcile the objects of this kind. Only once: several kinds take several controllers."""
        if self._kind is not None:
            raise ValueError(f"a controller is for one kind, and this one is for {self._kind.__name__} already")
        api_of(cls)
        self._kind, self._own = cls, predicates
        return self

    def owns(self, cls: type[Any], *predicates: Predicate, any_owner: bool = False) -> "Builder":
        """Reconcile the controlling owner of an object of this kind when that changes; with `any_owner` each owner."""

        def source() -> Source:
            if self._kind is None:
                raise ValueError(f"what owns a {cls.__name__} is not known: say for_(...) as well")
            return KindSource(self._manager.cache, cls, owners_of(self._kind, any_owner=any_owner), predicates)

        return self._with(cls, source)

    def watches(self, cls: type[T], to_requests: ToRequests[T], *predicates: Predicate) -> "Builder":
        """Reconcile what `to_requests(obj)` names when an object of this kind changes; or what `MapFuncs` name."""
        return self._with(cls, lambda: KindSource(self._manager.cache, cls, to_requests, predicates))

    def watches_metadata(
        self, cls: type[Any], to_requests: ToRequests[PartialObjectMetadata], *predicates: Predicate
    ) -> "Builder":
        """The same for the metadata alone: the rest of the objects is neither asked for nor kept."""
        api = api_of(cls)
        return self.watches(metadata_type(api.gvr, kind=api.kind, namespaced=api.namespaced), to_requests, *predicates)

    def watches_source(self, source: Source) -> "Builder":
        """Reconcile what this source asks for."""
        self._sources.append(lambda: source)
        return self

    def with_predicates(self, *predicates: Predicate) -> "Builder":
        """Heed only events that all of these take, whatever source they come from."""
        self._predicates += predicates
        return self

    def with_workers(self, workers: int) -> "Builder":
        """Reconcile so many objects at once; 1 by default."""
        if workers < 1:
            raise ValueError(f"a controller needs a worker at least, not {workers}")
        return self.with_options(workers=workers)

    def with_limiter(self, limiter: RateLimiter[Any]) -> "Builder":
        """Let failures wait as this says; 5 ms, doubled up to 1000 s, by default."""
        return self.with_options(limiter=limiter)

    def expecting(self, *errors: type[Exception]) -> "Builder":
        """These errors of the reconciler's are no bugs: log them without a traceback."""
        return self.with_options(expected=(*self._options.expected, *errors))

    def with_log_fields(self, fields: LogFields) -> "Builder":
        """Let every line that is logged while an object is reconciled carry what `fields(request)` gives."""
        return self.with_options(log_fields=fields)

    def with_options(self, **options: Any) -> "Builder":
        """Change fields of the `ControllerOptions`."""
        self._options = replace(self._options, **options)
        return self

    def named(self, name: str, *, unique: bool = True) -> "Builder":
        """Call it so in the log and in metrics; by default as its kind, in lower case. No two may have one name.

        With `unique=False` they may, and their figures are mixed.
        """
        self._name, self._unique = name, unique
        return self

    def complete(self, reconciler: Reconciler | Reconcile) -> Controller:
        """Make the controller, which the manager runs, and return it.

        Raises:
            ValueError: it has nothing to watch, or its name is taken.
        """
        sources = self._all_sources()
        if not sources:
            raise ValueError("there is nothing to reconcile: say for_(...), or watches(...) and named(...)")
        name = self._name or (self._kind.__name__.lower() if self._kind is not None else "")
        if not name:
            raise ValueError("a controller that is for no kind needs a name: say named(...)")
        made = Controller(
            name,
            api_of(self._kind).kind if self._kind is not None else name,
            reconcile_of(reconciler),
            sources,
            predicates=self._predicates,
            options=self._options,
            why=self._manager.cache.unsynced,
            clock=self._manager.clock,
        )
        if self._unique:
            reserve_name(made)
        self._manager.add_controller(made)
        return made

    def _all_sources(self) -> tuple[Source, ...]:
        own: Iterable[Source] = ()
        if self._kind is not None:
            own = (KindSource(self._manager.cache, self._kind, itself, self._own),)
        return (*own, *(source() for source in self._sources))

    def _with(self, cls: type[Any], source: Callable[[], Source]) -> "Builder":
        api_of(cls)
        self._sources.append(source)
        return self


def controller(manager: Host) -> Builder:
    """Begin a controller that the manager is to run."""
    return Builder(manager)
