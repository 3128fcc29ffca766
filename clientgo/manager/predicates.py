"""Which changes are worth a reconciliation: asked for each event, before anything gets into a queue.

    controller(manager).for_(Foo, GenerationChanged()).owns(Deployment).with_predicates(LabelSelector("team=a"))

A predicate has one question for each kind of event; all are answered by yes unless it says otherwise. `&`, `|` and `~`
put predicates together. A resync shows the same object as old and new.
"""

from collections.abc import Callable
from typing import Any

from clientgo.meta.objects import ApiObject
from clientgo.meta.selectors import Selector, parse_selector

# What a predicate is asked about is an object of whatever kind its source has.
Obj = Any


class Predicate:
    """Takes every event; subclasses leave some out. Must be quick, and safe for several threads."""

    def create(self, obj: Obj) -> bool:
        """Whether an object that came, or was there from the start, is of interest."""
        return True

    def update(self, old: Obj, new: Obj) -> bool:
        """Whether this change is of interest."""
        return True

    def delete(self, obj: Obj) -> bool:
        """Whether an object that went is of interest, `obj` being its last known state."""
        return True

    def generic(self, obj: Obj) -> bool:
        """Whether an event of unknown kind, from a channel, is of interest."""
        return True

    def __and__(self, other: "Predicate") -> "Predicate":
        return And(self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        return Or(self, other)

    def __invert__(self) -> "Predicate":
        return Not(self)


class Funcs(Predicate):
    """Asks the functions it is given; takes every event it is given none for."""

    def __init__(
        self,
        *,
        create: Callable[[Obj], bool] | None = None,
        update: Callable[[Obj, Obj], bool] | None = None,
        delete: Callable[[Obj], bool] | None = None,
        generic: Callable[[Obj], bool] | None = None,
    ) -> None:
        self._create, self._update, self._delete, self._generic = create, update, delete, generic

    def create(self, obj: Obj) -> bool:
        """What the function says."""
        return self._create is None or self._create(obj)

    def update(self, old: Obj, new: Obj) -> bool:
        """What the function says."""
        return self._update is None or self._update(old, new)

    def delete(self, obj: Obj) -> bool:
        """What the function says."""
        return self._delete is None or self._delete(obj)

    def generic(self, obj: Obj) -> bool:
        """What the function says."""
        return self._generic is None or self._generic(obj)


class ResourceVersionChanged(Predicate):
    """Leaves out updates that change nothing, as resyncs are."""

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether anything changed."""
        return old.metadata.resource_version != new.metadata.resource_version


class GenerationChanged(Predicate):
    """Leaves out updates that leave the spec as it was: of the status, of labels, of annotations, and resyncs.

    Only for kinds whose generation the server counts: those with a status subresource, and most built-in ones. A
    deletion that waits for finalizers counts as a change of the spec.
    """

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether the generation changed."""
        return old.metadata.generation != new.metadata.generation


class AnnotationChanged(Predicate):
    """Leaves out updates that leave the annotations as they were."""

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether annotations changed."""
        return dict(old.metadata.annotations) != dict(new.metadata.annotations)


class LabelChanged(Predicate):
    """Leaves out updates that leave the labels as they were."""

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether labels changed."""
        return dict(old.metadata.labels) != dict(new.metadata.labels)


class LabelSelector(Predicate):
    """Takes events of objects whose labels match now; ValueError for a selector that can't be read."""

    def __init__(self, selector: str | Selector) -> None:
        self._selector = parse_selector(selector) if isinstance(selector, str) else selector

    def create(self, obj: ApiObject) -> bool:
        """Whether its labels match."""
        return self._selector.matches(obj.metadata.labels)

    def update(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether its labels match now."""
        return self.create(new)

    def delete(self, obj: ApiObject) -> bool:
        """Whether its labels matched."""
        return self.create(obj)

    def generic(self, obj: ApiObject) -> bool:
        """Whether its labels match."""
        return self.create(obj)


class And(Predicate):
    """Takes what all of them take."""

    def __init__(self, *predicates: Predicate) -> None:
        self._all = predicates

    def create(self, obj: Obj) -> bool:
        """Whether all take it."""
        return all(one.create(obj) for one in self._all)

    def update(self, old: Obj, new: Obj) -> bool:
        """Whether all take it."""
        return all(one.update(old, new) for one in self._all)

    def delete(self, obj: Obj) -> bool:
        """Whether all take it."""
        return all(one.delete(obj) for one in self._all)

    def generic(self, obj: Obj) -> bool:
        """Whether all take it."""
        return all(one.generic(obj) for one in self._all)


class Not(Predicate):
    """Takes what the other does not."""

    def __init__(self, predicate: Predicate) -> None:
        self._other = predicate

    def create(self, obj: Obj) -> bool:
        """Whether the other does not take it."""
        return not self._other.create(obj)

    def update(self, old: Obj, new: Obj) -> bool:
        """Whether the other does not take it."""
        return not self._other.update(old, new)

    def delete(self, obj: Obj) -> bool:
        """Whether the other does not take it."""
        return not self._other.delete(obj)

    def generic(self, obj: Obj) -> bool:
        """Whether the other does not take it."""
        return not self._other.generic(obj)


class Or(Not):
    """Takes what any of them takes."""

    def __init__(self, *predicates: Predicate) -> None:
        super().__init__(And(*(Not(one) for one in predicates)))
