"""Conditions: what a status says of an object, each with the time since when it is so.

    ready = Condition(type="Ready", status="True", reason="AllReplicasUp", observed_generation=generation)
    status = replace(status, conditions=set_status_condition(status.conditions, ready))

Conditions are a tuple of values, and so is what comes back: an equal one if nothing changed, so that `==` tells whether
there is anything to write.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.kubernetes.types.shared import Condition
from clientgo.meta.codec import replace

__all__ = [
    "Condition", "ConditionLike", "find_status_condition", "is_status_condition_true", "remove_status_condition",
    "set_status_condition",
]  # fmt: skip


class ConditionLike(Protocol):
    """A condition of whatever class: `Condition`, or a kind's own."""

    @property
    def type(self) -> str:
        """What is said, in CamelCase."""

    @property
    def status(self) -> str:
        """True, False or Unknown."""

    @property
    def last_transition_time(self) -> datetime | None:
        """Since when `status` is what it is."""


C = TypeVar("C", bound=ConditionLike)


def set_status_condition(conditions: Iterable[C], new: C, *, clock: Clock = SYSTEM_CLOCK) -> tuple[C, ...]:
    """The conditions with `new` in the place of that of its type, or at the end.

    Its time of transition changes only if its status does: to the one it has, or else to now, in whole seconds.
    """
    before = tuple(conditions)
    known = find_status_condition(before, new.type)
    stays = known is not None and known.status == new.status
    since = known.last_transition_time if known is not None and stays else new.last_transition_time
    # Whole seconds, because that is what the API server keeps: the object read back has to equal the one written.
    new = replace(new, last_transition_time=since or utc(clock).replace(microsecond=0))
    if known is None:
        return (*before, new)
    return before if new == known else tuple(new if one is known else one for one in before)


def find_status_condition(conditions: Iterable[C], kind: str) -> C | None:
    """The condition of that type, or None."""
    return next((one for one in conditions if one.type == kind), None)


def is_status_condition_true(conditions: Iterable[C], kind: str) -> bool:
    """Whether there is a condition of that type, and it says True."""
    found = find_status_condition(conditions, kind)
    return found is not None and found.status == "True"


def remove_status_condition(conditions: Iterable[C], kind: str) -> tuple[C, ...]:
    """The conditions without that of the type."""
    return tuple(one for one in conditions if one.type != kind)
