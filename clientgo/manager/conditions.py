"""Status conditions: find, set and remove them, with the time of their last transition.

    ready = Condition(type="Ready", status="True", reason="AllReplicasUp", observed_generation=generation)
    status = replace(status, conditions=set_status_condition(status.conditions, ready))

Conditions are a tuple of values. Each function returns a new tuple, which equals the old one if nothing changed, so
that `==` shows whether the status must be written.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.kubernetes.types.shared import Condition
from clientgo.meta.codec import replace
from clientgo.meta.conditions import is_outdated

__all__ = [
    "Condition", "ConditionLike", "find_status_condition", "is_status_condition_true", "remove_status_condition",
    "set_status_condition",
]  # fmt: skip


class ConditionLike(Protocol):
    """Condition of any class: `Condition`, a kind's own, or that of a built-in kind, whose fields may be None."""

    @property
    def type(self) -> str | None:
        """Type in CamelCase."""

    @property
    def status(self) -> str | None:
        """One of "True", "False" and "Unknown"."""

    @property
    def last_transition_time(self) -> datetime | None:
        """Time at which `status` got its value."""


C = TypeVar("C", bound=ConditionLike)


def set_status_condition(conditions: Iterable[C], new: C, *, clock: Clock = SYSTEM_CLOCK) -> tuple[C, ...]:
    """Return the conditions with `new` replacing the one of its type, or appended.

    Its transition time changes only if its status does: to the time given, or to the current one in whole seconds.
    """
    before = tuple(conditions)
    existing = find_status_condition(before, new.type or "")
    stays = existing is not None and existing.status == new.status
    since = existing.last_transition_time if existing is not None and stays else new.last_transition_time
    # Whole seconds, because that is what the API server keeps: the object read back has to equal the one written.
    new = replace(new, last_transition_time=since or utc(clock).replace(microsecond=0))
    if existing is None:
        return (*before, new)
    return before if new == existing else tuple(new if condition is existing else condition for condition in before)


def find_status_condition(conditions: Iterable[C], kind: str) -> C | None:
    """Return the condition of that type, or None."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_status_condition_true(conditions: Iterable[C], kind: str, *, generation: int | None = None) -> bool:
    """Return whether there is a condition of that type with the status "True".

    With a `generation`, the object's `metadata.generation`, a condition that describes an older spec does not count. To
    judge an object of another controller as `kubectl wait` does, use `clientgo.dynamic.waiting.has_condition`.
    """
    condition = find_status_condition(conditions, kind)
    if condition is None or is_outdated(getattr(condition, "observed_generation", None), generation):
        return False
    return condition.status == "True"


def remove_status_condition(conditions: Iterable[C], kind: str) -> tuple[C, ...]:
    """Return the conditions without the one of that type."""
    return tuple(condition for condition in conditions if condition.type != kind)
