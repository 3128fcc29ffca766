"""Deadlines: times in a status at which an operator deletes the object, and which have to follow its spec."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clientgo.perturb.differences import FieldPath, time_of, value_at
from clientgo.perturb.kinds.rehearsal import Moment
from clientgo.perturb.record import Violation
from clientgo.perturb.state import ObjectRef

MARGIN = 900.0
"""Seconds by which two deadlines differ that follow from different specs, and not from when something happened."""

MAX_SECONDS = 86_400.0
_SOON = 60.0


def compare_deadlines(
    text: str,
    moments: tuple[Moment, Moment, Moment],
    ref: ObjectRef,
    later: Callable[[float], tuple[Moment, Moment] | None],
) -> Iterator[Violation]:
    """Yield a violation if an object lives until the deadline of its earlier spec, and created so until another one.

    The moments are before a change, after a creation without a history, and after the change; `later` is those of the
    last two runs so many seconds later. An operator that only computes the next deadline by the spec does not delete.
    """
    before, created, after = (_deadlines(moment, ref) for moment in moments)
    for path, old in before.items():
        first = min(old, created.get(path, old))
        is_fixed = after.get(path) == old and abs(created.get(path, old) - old) > MARGIN
        if not is_fixed or first > MAX_SECONDS or (runs := later(first + _SOON)) is None:
            continue
        if (ref in runs[0].state) != (ref in runs[1].state):
            expected, actual = ("there" if ref in moment.state else "gone" for moment in runs)
            line = f"{ref}: - {expected} + {actual} after {first:.0f} s, by {'.'.join(path)}"
            yield Violation("transition", f"{text}: {line}", (line,))
            return


def _deadlines(moment: Moment, ref: ObjectRef) -> dict[FieldPath, float]:
    """Return the seconds from an object's creation to each time of its status."""
    obj = moment.state.get(ref) or {"metadata": {}}
    began = time_of(obj["metadata"].get("creationTimestamp"))
    times = {path: time_of(value_at(obj, path)) for path in _paths(obj.get("status"), ("status",))}
    return {path: (time - began).total_seconds() for path, time in times.items() if time is not None and began}


def _paths(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _paths(member, (*path, key))
    else:
        yield path
