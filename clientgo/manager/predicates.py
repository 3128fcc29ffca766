"""Event filters: predicates decide which events lead to a reconciliation.

    class FooReconciler(Reconciler[Foo], predicates=[GenerationChanged() & LabelSelectorPredicate("team=a")]):

A predicate has one method for each type of event; each accepts the event unless it is overridden. `&`, `|` and `~`
combine predicates. In a resync the old and the new object are the same. If a predicate raises, the event is handled as
if it were accepted; the exception is logged and counted, and the predicate is called again with backoff.
"""

from collections.abc import Callable
from typing import Any

from clientgo.meta.objects import ApiObject
from clientgo.meta.selectors import Selector, parse_selector

Obj = Any
"""Object of the source's kind."""


class Predicate:
    """Filter that accepts every event; subclasses reject some. Must be quick and thread-safe."""

    def create(self, obj: Obj) -> bool:
        """Return whether to handle a created object, or one of the initial list."""
        return True

    def update(self, old: Obj, new: Obj) -> bool:
        """Return whether to handle an update."""
        return True

    def delete(self, obj: Obj) -> bool:
        """Return whether to handle a deletion; `obj` is the last known state."""
        return True

    def generic(self, obj: Obj) -> bool:
        """Return whether to handle a generic event of a channel."""
        return True

    def __and__(self, other: "Predicate") -> "Predicate":
        return And(self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        return Or(self, other)

    def __invert__(self) -> "Predicate":
        return Not(self)


class _Uniform(Predicate):
    """Predicate that decides on all events alike; `accepts` gets the method's name and its objects."""

    def accepts(self, event: str, *objects: Obj) -> bool:
        raise NotImplementedError

    def create(self, obj: Obj) -> bool:
        return self.accepts("create", obj)

    def update(self, old: Obj, new: Obj) -> bool:
        return self.accepts("update", old, new)

    def delete(self, obj: Obj) -> bool:
        return self.accepts("delete", obj)

    def generic(self, obj: Obj) -> bool:
        return self.accepts("generic", obj)


class Funcs(_Uniform):
    """Predicate made of functions; events without a function are accepted."""

    def __init__(
        self,
        *,
        create: Callable[[Obj], bool] | None = None,
        update: Callable[[Obj, Obj], bool] | None = None,
        delete: Callable[[Obj], bool] | None = None,
        generic: Callable[[Obj], bool] | None = None,
    ) -> None:
        self._functions: dict[str, Callable[..., bool] | None] = {
            "create": create,
            "update": update,
            "delete": delete,
            "generic": generic,
        }

    def accepts(self, event: str, *objects: Obj) -> bool:
        """Return the result of the event's function, or True."""
        function = self._functions[event]
        return function is None or function(*objects)


class ResourceVersionChanged(Predicate):
    """Rejects updates without a change, such as resyncs."""

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Return whether the resourceVersion changed."""
        return old.metadata.resource_version != new.metadata.resource_version


class GenerationChanged(Predicate):
    """Rejects updates that do not change the spec: of the status, labels or annotations, and resyncs.

    Only for kinds with a generation: those with a status subresource, and most built-in ones. The start of a deletion
    that waits for finalizers counts as a change of the spec.
    """

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Return whether the generation changed."""
        return old.metadata.generation != new.metadata.generation


class AnnotationChanged(Predicate):
    """Rejects updates that do not change annotations."""

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Return whether annotations changed."""
        return dict(old.metadata.annotations) != dict(new.metadata.annotations)


class LabelChanged(Predicate):
    """Rejects updates that do not change labels."""

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Return whether labels changed."""
        return dict(old.metadata.labels) != dict(new.metadata.labels)


class LabelSelectorPredicate(_Uniform):
    """Accepts events of objects whose current labels match; ValueError for an invalid selector."""

    def __init__(self, selector: str | Selector) -> None:
        self._selector = parse_selector(selector) if isinstance(selector, str) else selector

    def accepts(self, event: str, *objects: Obj) -> bool:
        """Return whether the labels of the newest object match."""
        return self._selector.matches(objects[-1].metadata.labels)


class And(_Uniform):
    """Accepts events that all predicates accept."""

    def __init__(self, *predicates: Predicate) -> None:
        self._predicates = predicates

    def accepts(self, event: str, *objects: Obj) -> bool:
        """Return whether all predicates accept the event."""
        return all(getattr(predicate, event)(*objects) for predicate in self._predicates)


class Or(And):
    """Accepts events that at least one predicate accepts."""

    def accepts(self, event: str, *objects: Obj) -> bool:
        """Return whether one of the predicates accepts the event."""
        return any(getattr(predicate, event)(*objects) for predicate in self._predicates)


class Not(_Uniform):
    """Accepts events that the predicate rejects."""

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate

    def accepts(self, event: str, *objects: Obj) -> bool:
        """Return whether the predicate rejects the event."""
        return not getattr(self._predicate, event)(*objects)
