"""Reconcilers of objects: a class per controller, which declares what it watches and reconciles one object at a time.

    class GreetingReconciler(Reconciler[Greeting], owns=[ConfigMap], workers=2):
        def reconcile(self, greeting: Greeting) -> Result | None:
            config = ConfigMap(metadata=meta_for(greeting), data={"text": greeting.spec.text})
            self.client.apply(config, owner=greeting)
            return None

    manager.add_reconciler(GreetingReconciler)

`reconcile` receives the current object from the cache, and not the event (controller-runtime's ObjectReconciler). A
controller that needs the names of deleted objects implements `RequestReconciler`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError, NotFound
from clientgo.internal.callbacks import describe_error
from clientgo.internal.keywords import keywords_of
from clientgo.manager.builder import ControllerBuilder, Host
from clientgo.manager.client import Client
from clientgo.manager.controllers import Controller, ControllerOptions, check_list, check_signature
from clientgo.manager.eventhandlers import ToRequests
from clientgo.manager.finalizers import Finalizer, check_finalizer
from clientgo.manager.options import check_least
from clientgo.manager.predicates import Predicate
from clientgo.manager.requesters import finished_in_time
from clientgo.meta.classes.check import check_class
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.reconcile.attempts import begin_finalizing
from clientgo.reconcile.workers import GiveUp, Result
from clientgo.record import EventRecorder, FakeRecorder
from clientgo.stop.lifecycle import MaybeCoroutine, finished
from clientgo.workqueue import BackoffRateLimiter

T = TypeVar("T", bound=ApiObject)

Indexes = Mapping[type[Any], Mapping[str, Callable[[Any], Iterable[str]]]]
"""Functions from an object to its values of a field, by kind and field."""


@dataclass(frozen=True, kw_only=True)
class ReconcilerOptions(ControllerOptions):
    """Keywords of a `Reconciler` class, which inherits those of its base class."""

    owns: Iterable[type[Any]] = ()
    """Kinds that it creates; a change of such an object leads to its controlling owner."""
    watches: Mapping[type[Any], ToRequests[Any]] = field(default_factory=dict)
    """Further kinds, each with a function from an object to the names to reconcile, or `MapFuncs`."""
    predicates: Iterable[Predicate] = ()
    """Filters of the events of its own kind."""
    finalizer: str = ""
    """Domain and word such as `example.com/bucket`: objects stay until `finalize` is done."""
    name: str = ""
    """Name in logs and metrics; by default the kind in lower case."""
    indexes: Indexes = field(default_factory=dict)
    """Functions by kind and field, for `client.list(Job, fields={"owner": "a"})`: `{Job: {"owner": owner_names}}`,
    where `owner_names(job)` returns strings. A `FakeClient` has them too."""
    timeout: float | None = None
    """Short for `reconciliation_timeout`; it limits a coroutine too."""
    backoff: Backoff | None = None
    """Delays of retries instead of `limiter`: `Backoff(duration=1, factor=2, jitter=0.1, cap=60)`."""

    def check(self) -> None:
        """Raise ConfigError if a value is out of range or of the wrong type."""
        super().check()
        check_least("timeout", self.timeout, 0)
        for name in ("owns", "predicates"):
            check_list(name, getattr(self, name))
        _check_indexes(self.indexes)

    def of_controller(self, give_up: GiveUp) -> dict[str, Any]:
        """Return the values of the fields of `ControllerOptions`; `give_up` is a default."""
        values = {option.name: getattr(self, option.name) for option in fields(ControllerOptions)}
        values |= {"expected": tuple(self.expected), "give_up": self.give_up or give_up}
        if self.timeout is not None:
            values["reconciliation_timeout"] = self.timeout
        if self.backoff is not None:
            values["limiter"] = BackoffRateLimiter(self.backoff)
        return values


@dataclass(frozen=True, kw_only=True)
class ControllerDeclaration(ReconcilerOptions):
    """Kind and keywords of a `Reconciler` class."""

    kind: type[Any] | None = None

    def kinds(self) -> set[type[Any]]:
        """Return the kinds that the controller watches."""
        return {kind for kind in (self.kind, *self.owns, *self.watches) if kind is not None}


_KEYWORDS = frozenset(option.name for option in fields(ReconcilerOptions))


class Reconciler(Generic[T]):
    """Makes the cluster match the specs of the objects of one kind, which `Reconciler[Kind]` names.

    Class keywords are the fields of `ReconcilerOptions`: what to watch (`owns`, `watches`, `predicates`), `workers`,
    `finalizer`, `retries`, `timeout`, `backoff`, and more. One of None is that of the base class.

    `reconcile` and `finalize` may be coroutine functions (`async def`), which run in the event loop of their worker.

    `client` reads from the cache and writes to the server, `recorder` records events; without one they are dropped.
    `clock` is the time of the reconciler, for `utc(self.clock)`: by default that of the manager, from `setup` on.
    """

    declaration: ClassVar[ControllerDeclaration] = ControllerDeclaration()
    clock: Clock = SYSTEM_CLOCK

    @classmethod
    @keywords_of(ReconcilerOptions)
    def __init_subclass__(cls, **keywords: Any) -> None:
        if unknown := [name for name in keywords if name not in _KEYWORDS]:
            expected = ", ".join(sorted(_KEYWORDS))
            raise TypeError(f"{cls.__qualname__}: unknown class keyword {unknown[0]!r}: expected one of {expected}")
        declared = {name: value for name, value in {**keywords, "kind": _kind_of(cls)}.items() if value is not None}
        # Copies: what the program does with its lists and dicts later does not change the class.
        copies: dict[str, Any] = {
            name: value.copy() if isinstance(value, list | dict) else value for name, value in declared.items()
        }
        cls.declaration = replace(cls.declaration, **copies)

    def __init__(self, client: Client, recorder: EventRecorder | None = None, *, clock: Clock | None = None) -> None:
        self.__kind = check_reconciler(type(self))
        if recorder is not None and not callable(getattr(recorder, "event", None)):
            name = type(self).__name__
            raise ConfigError(f"invalid {name}: expected {name}(client, recorder), in this order, got {recorder!r}")
        if clock is not None:
            self.clock = clock
        self.client = client
        self.recorder: EventRecorder = recorder if recorder is not None else FakeRecorder()
        finalizer = self.declaration.finalizer
        self.__finalizer = Finalizer(client, finalizer) if finalizer else None
        for indexed, functions in self.declaration.indexes.items():
            for path, values in functions.items():
                client.add_index(indexed, path, values)

    def reconcile(self, obj: T, /) -> MaybeCoroutine[Result | None]:
        """Bring the cluster to the state that the object describes; exceptions lead to a retry with backoff.

        Not called for objects that are deleted or being deleted.
        """
        raise NotImplementedError

    def finalize(self, obj: T, /) -> MaybeCoroutine[Result | None]:
        """Clean up for an object that is being deleted; None means that it is done, and removes the finalizer.

        A `Result` means that it takes longer: it is called again after the next event, or after `requeue_after`.
        It must be idempotent: an event that arrives late may lead to one more call. An exception leads to a retry with
        backoff, and to a `Warning` event, because users see an object that stays. A call that has
        changed the object itself, such as its status, should return `Result()`: removing the finalizer would be a
        `Conflict`, and the event of the change leads to the next call.
        """
        return None

    def gave_up(self, obj: T, error: BaseException, /) -> MaybeCoroutine[None]:
        """Report that the object is not retried any more; by default, a `Warning` event. For `retries`.

        Override it to set a condition. `controller_runtime_terminal_reconcile_errors_total` counts the calls.
        """
        note = f"not retried any more, until it changes: {describe_error(error)}"
        self.recorder.event(obj, "Warning", "GaveUp", note)
        return None

    def setup(self, builder: ControllerBuilder) -> None:
        """Configure what class keywords do not cover, such as rate limiters and sources of other clusters."""

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Reconcile the object of that name, if it exists."""
        obj: T | None = self.client.find(self.__kind, request)
        if obj is None:
            return None
        finalizer = self.__finalizer
        if obj.metadata.deletion_timestamp is None:
            return finished_in_time(self.reconcile(finalizer.ensure(obj) if finalizer else obj))
        if finalizer is None or not finalizer.is_on(obj):
            return None
        begin_finalizing(partial(self.recorder.event, obj, "Warning", "FailedFinalize"))
        result = finished_in_time(self.finalize(obj))
        if result is None:
            with suppress(NotFound):  # removed by another client
                finalizer.remove(obj)
        return result

    def setup_with_manager(self, manager: Host) -> Controller:
        """Create the controller, which the manager runs, and return it.

        Raises:
            ConfigError: the name is already in use.
        """
        declared = self.declaration
        if self.clock is SYSTEM_CLOCK:
            self.clock = manager.clock
        builder = ControllerBuilder(manager).for_(self.__kind, *declared.predicates)
        for cls in declared.owns:
            builder.owns(cls)
        for cls, to_requests in declared.watches.items():
            builder.watches(cls, to_requests)
        if declared.name:
            builder.named(declared.name)
        builder.with_options(**declared.of_controller(self.__report))
        self.setup(builder)
        return builder.complete(self.reconcile_request)

    def __report(self, request: ObjectName, error: BaseException) -> None:
        obj: T | None = self.client.find(self.__kind, request)
        if obj is not None:
            finished(self.gave_up(obj, error))


def check_reconciler(cls: type[Reconciler[Any]]) -> type[Any]:
    """Return the kind of a reconciler class; raise ConfigError if the class is not usable.

    A function, because a subclass may define a method `check` of its own.
    """
    name, kind, finalizer = cls.__qualname__, cls.declaration.kind, cls.declaration.finalizer
    if kind is None:
        raise ConfigError(f"{name} has no kind: write class {name}(Reconciler[Kind])")
    try:
        api_of(kind)
        check_class(kind)
        if finalizer:
            check_finalizer(finalizer, kind)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from None
    try:
        cls.declaration.check()
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    argument = kind.__name__.lower()
    if cls.reconcile is not Reconciler.reconcile:
        check_signature(cls.reconcile, "self", argument, coroutine=True)
    elif cls.reconcile_request is Reconciler.reconcile_request:
        raise ConfigError(f"{name} has no method reconcile(self, {argument})")
    return kind


def new_reconciler(cls: type[Reconciler[Any]], client: Client, recorder: EventRecorder) -> Reconciler[Any]:
    """Return a reconciler of a class without arguments of its own; raise ConfigError if it needs further ones."""
    try:
        inspect.signature(cls).bind(client, recorder)
    except TypeError as error:
        name = cls.__qualname__
        remedy = f"add an object: manager.add_reconciler({name}(manager.client, manager.recorder, ...))"
        raise ConfigError(f"{name}(client, recorder) is not possible: {error}: {remedy}") from None
    return cls(client, recorder)


def _check_indexes(declared: object) -> None:
    functions: list[Any] = list(declared.values()) if isinstance(declared, Mapping) else [declared]
    if not all(isinstance(by_field, Mapping) for by_field in functions):
        raise ConfigError("indexes must be functions by kind and field, {Job: {'owner': function}}")
    for by_field in functions:
        for values in by_field.values():
            check_signature(values, "object")


def _kind_of(cls: type) -> type[Any] | None:
    for base in cls.__dict__.get("__orig_bases__", ()):
        origin, arguments = get_origin(base), get_args(base)
        if isinstance(origin, type) and issubclass(origin, Reconciler) and isinstance(arguments[0], type):
            return arguments[0]
    return None
