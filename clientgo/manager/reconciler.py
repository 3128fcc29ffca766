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

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError, NotFound
from clientgo.internal.callbacks import describe_error
from clientgo.lifecycle import MaybeCoroutine, finished
from clientgo.manager.builder import ControllerBuilder, Host
from clientgo.manager.client import Client
from clientgo.manager.controllers import Controller, check_signature
from clientgo.manager.eventhandlers import ToRequests
from clientgo.manager.finalizers import Finalizer, check_finalizer
from clientgo.manager.predicates import Predicate
from clientgo.manager.requesters import finished_in_time
from clientgo.meta.classes.check import check_class
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.record import EventRecorder, FakeRecorder
from clientgo.workers import Result
from clientgo.workqueue import BackoffRateLimiter

T = TypeVar("T", bound=ApiObject)

Indexes = Mapping[type[Any], Mapping[str, Callable[[Any], Iterable[str]]]]
"""Functions from an object to its values of a field, by kind and field."""


@dataclass(frozen=True, slots=True)
class ControllerDeclaration:
    """Keywords of a `Reconciler` class; None means inherited from its base class."""

    kind: type[Any] | None = None
    owns: Iterable[type[Any]] | None = None
    watches: Mapping[type[Any], ToRequests[Any]] | None = None
    predicates: Iterable[Predicate] | None = None
    workers: int | None = None
    finalizer: str | None = None
    name: str | None = None
    expected: Iterable[type[Exception]] | None = None
    indexes: Indexes | None = None
    retries: int | None = None
    timeout: float | None = None
    backoff: Backoff | None = None

    def kinds(self) -> set[type[Any]]:
        """Return the kinds that the controller watches."""
        return {kind for kind in (self.kind, *(self.owns or ()), *(self.watches or ())) if kind is not None}

    def over(self, base: "ControllerDeclaration") -> "ControllerDeclaration":
        """Return `base` with the keywords given here."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(base, **{name: value for name, value in values.items() if value is not None})


class Reconciler(Generic[T]):
    """Makes the cluster match the specs of the objects of one kind, which `Reconciler[Kind]` names.

    Class keywords:

    - `owns`: kinds that it creates; a change of such an object leads to its controlling owner.
    - `watches`: further kinds, each with a function from an object to the names to reconcile, or `MapFuncs`.
    - `predicates`: filters of the events of its own kind.
    - `workers`: objects reconciled concurrently; 1 by default.
    - `finalizer`: a domain and a word such as `example.com/bucket`: objects stay until `finalize` is done.
    - `name`: name in logs and metrics; by default the kind in lower case.
    - `expected`: errors that are not bugs, logged without a traceback.
    - `indexes`: functions by kind and field, for `client.list(Job, fields={"owner": "a"})`:
      `indexes={Job: {"owner": owner_names}}`, where `owner_names(job)` returns strings. A `FakeClient` has them too.
    - `retries`: failed retries in a row after which `gave_up` is called and the object waits for its next event.
    - `timeout`: seconds that the requests, or the coroutine, of one reconciliation may take together.
    - `backoff`: delays of retries: `Backoff(duration=1, factor=2, jitter=0.1, cap=60)`. By default 5 ms to 1000 s.

    `reconcile` and `finalize` may be coroutine functions (`async def`), which run in the event loop of their worker.

    `client` reads from the cache and writes to the server, `recorder` records events; without one they are dropped.
    `clock` is the time of the reconciler, for `utc(self.clock)`: by default that of the manager.
    """

    declaration: ClassVar[ControllerDeclaration] = ControllerDeclaration()
    clock: Clock = SYSTEM_CLOCK

    def __init_subclass__(
        cls,
        *,
        owns: Iterable[type[Any]] | None = None,
        watches: Mapping[type[Any], ToRequests[Any]] | None = None,
        predicates: Iterable[Predicate] | None = None,
        workers: int | None = None,
        finalizer: str | None = None,
        name: str | None = None,
        expected: Iterable[type[Exception]] | None = None,
        indexes: Indexes | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        declaration = ControllerDeclaration(
            _kind_of(cls), owns, watches, predicates, workers, finalizer, name, expected, indexes,
            retries, timeout, backoff,
        )  # fmt: skip
        cls.declaration = declaration.over(cls.declaration)

    def __init__(self, client: Client, recorder: EventRecorder | None = None, *, clock: Clock | None = None) -> None:
        self._kind = self.check()
        if clock is not None:
            self.clock = clock
        self.client = client
        self.recorder: EventRecorder = recorder if recorder is not None else FakeRecorder()
        finalizer = self.declaration.finalizer
        self._finalizer = Finalizer(client, finalizer) if finalizer else None
        for indexed, functions in (self.declaration.indexes or {}).items():
            for field, values in functions.items():
                client.add_index(indexed, field, values)

    def reconcile(self, obj: T, /) -> MaybeCoroutine[Result | None]:
        """Bring the cluster to the state that the object describes; exceptions lead to a retry with backoff.

        Not called for objects that are deleted or being deleted.
        """
        raise NotImplementedError

    def finalize(self, obj: T, /) -> MaybeCoroutine[Result | None]:
        """Clean up for an object that is being deleted; None means that it is done, and removes the finalizer.

        A `Result` means that it takes longer: it is called again after the next event, or after `requeue_after`.
        It must be idempotent: an event that arrives late may lead to one more call.
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
        obj: T | None = self.client.find(self._kind, request)
        if obj is None:
            return None
        finalizer = self._finalizer
        if obj.metadata.deletion_timestamp is None:
            return finished_in_time(self.reconcile(finalizer.ensure(obj) if finalizer else obj))
        if finalizer is None or not finalizer.is_on(obj):
            return None
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
        builder = ControllerBuilder(manager).for_(self._kind, *(declared.predicates or ()))
        for cls in declared.owns or ():
            builder.owns(cls)
        for cls, to_requests in (declared.watches or {}).items():
            builder.watches(cls, to_requests)
        builder.with_workers(1 if declared.workers is None else declared.workers)
        builder.expecting(*(declared.expected or ()))
        if declared.name:
            builder.named(declared.name)
        builder.with_options(
            retries=declared.retries, give_up=self._report, reconciliation_timeout=declared.timeout or 0.0
        )
        if declared.backoff is not None:
            builder.with_limiter(BackoffRateLimiter(declared.backoff))
        self.setup(builder)
        return builder.complete(self.reconcile_request)

    def _report(self, request: ObjectName, error: BaseException) -> None:
        obj: T | None = self.client.find(self._kind, request)
        if obj is not None:
            finished(self.gave_up(obj, error))

    @classmethod
    def check(cls) -> type[Any]:
        """Return the kind; raise ConfigError if the class is not a usable reconciler."""
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
        for keyword in ("owns", "predicates", "expected"):
            value = getattr(cls.declaration, keyword)
            if value is not None and not isinstance(value, Iterable):
                raise ConfigError(f"{name}: {keyword} must be a list, got {value!r}")
        for keyword in ("retries", "timeout"):
            value = getattr(cls.declaration, keyword)
            if value is not None and not value >= 0:
                raise ConfigError(f"{name}: {keyword} must be at least 0, got {value!r}")
        _check_indexes(name, cls.declaration.indexes)
        argument = kind.__name__.lower()
        if cls.reconcile is not Reconciler.reconcile:
            check_signature(cls.reconcile, "self", argument, coroutine=True)
        elif cls.reconcile_request is Reconciler.reconcile_request:
            raise ConfigError(f"{name} has no method reconcile(self, {argument})")
        return kind


def _check_indexes(name: str, indexes: Indexes | None) -> None:
    declared: object = indexes or {}
    functions: list[Any] = list(declared.values()) if isinstance(declared, Mapping) else [declared]
    if not all(isinstance(by_field, Mapping) for by_field in functions):
        raise ConfigError(f"{name}: indexes must be functions by kind and field, {{Job: {{'owner': function}}}}")
    for by_field in functions:
        for values in by_field.values():
            check_signature(values, "object")


def _kind_of(cls: type) -> type[Any] | None:
    for base in cls.__dict__.get("__orig_bases__", ()):
        origin, arguments = get_origin(base), get_args(base)
        if isinstance(origin, type) and issubclass(origin, Reconciler) and isinstance(arguments[0], type):
            return arguments[0]
    return None
