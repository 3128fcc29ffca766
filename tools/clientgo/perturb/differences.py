"""Differences of two states that are made comparable (`compare`): of values, and of objects."""

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from clientgo.perturb.state import SOON, ObjectRef

FieldPath = tuple[str, ...]
"""Keys of an object from its top; `*` stands for any key or item of a list."""

_ABSENT = object()
_MASKED = "(masked)"
_NESTED = (dict, list)

Differs = Callable[[Any, Any], bool]
"""Comparison of an expected and an actual value that is not a dict or a list."""


class MaskedValue(str):
    """Text that stands for any value that differs in the learning runs; `value` is the one of this run."""

    value: Any

    def __new__(cls, value: Any) -> "MaskedValue":
        """Return the text with a value."""
        text = super().__new__(cls, _MASKED)
        text.value = value
        return text


def differences(
    expected: Any, actual: Any, path: FieldPath = (), differs: Differs = operator.ne
) -> Iterator[tuple[FieldPath, Any, Any]]:
    """Yield each path at which two values differ, with both values; see `text_of`."""
    pairs: Iterable[tuple[str, Any, Any]]
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = sorted(expected.keys() | actual.keys())
        pairs = ((key, expected.get(key, _ABSENT), actual.get(key, _ABSENT)) for key in keys)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = ((str(index), *pair) for index, pair in enumerate(zip(expected, actual, strict=True)))
    else:
        if differs(expected, actual):
            yield path, expected, actual
        return
    for key, before, after in pairs:
        # No generator for a value without members, nor for equal values: most are so.
        if isinstance(before, _NESTED):
            if differs is not operator.ne or before != after:
                yield from differences(before, after, (*path, key), differs)
        elif differs(before, after):
            yield (*path, key), before, after


def is_absent(value: Any) -> bool:
    """Return whether a value of `differences` is that of a path that one state does not have."""
    return value is _ABSENT


def adds(expected: Any, actual: Any) -> bool:
    """Return whether the actual one of two different values is more than the other, or no less."""
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) >= len(expected)
    is_number = isinstance(expected, int | float) and isinstance(actual, int | float)
    return actual > expected if is_number else actual is not _ABSENT


def differs_or_is_older(expected: Any, actual: Any) -> bool:
    """Return whether two values differ, or are masked times, of which the actual one is older."""
    if not isinstance(expected, MaskedValue) or not isinstance(actual, MaskedValue):
        return bool(expected != actual)
    before, after = time_of(expected.value), time_of(actual.value)
    return before is not None and after is not None and (before - after).total_seconds() > SOON


class StateDifference(NamedTuple):
    """Difference of one object in two normalized states: its path, empty for the whole object, and both values."""

    ref: ObjectRef
    path: FieldPath
    expected: Any
    actual: Any

    @property
    def is_missing(self) -> bool:
        """True if the object is missing in the actual state."""
        return not self.path and self.actual is _ABSENT

    @property
    def is_extra(self) -> bool:
        """True if the object is only in the actual state."""
        return not self.path and self.expected is _ABSENT

    def __str__(self) -> str:
        if self.is_missing:
            return f"- {self.ref} is missing"
        if self.is_extra:
            return f"+ {self.ref} is there, and should not be"
        return f"  {self.ref} {'.'.join(self.path)}: - {text_of(self.expected)} + {text_of(self.actual)}"


def state_differences(
    expected: Mapping[ObjectRef, Any],
    actual: Mapping[ObjectRef, Any],
    differs: Differs = operator.ne,
    masked: Container[str] = frozenset(),
) -> Iterator[StateDifference]:
    """Yield the differences of two normalized states, by object.

    Values of equal objects are compared only for resources in `masked`, whose masked values `differs` tells apart.
    """
    for ref in sorted(expected.keys() | actual.keys()):
        if ref not in actual or ref not in expected:
            yield StateDifference(ref, (), expected.get(ref, _ABSENT), actual.get(ref, _ABSENT))
        elif expected[ref] != actual[ref] or ref.resource in masked:
            for path, before, after in differences(expected[ref], actual[ref], differs=differs):
                yield StateDifference(ref, path, before, after)


def value_at(value: Any, path: Iterable[str]) -> Any:
    """Return the value at a path below a value; None if there is none."""
    for key in path:
        if isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def time_of(value: Any) -> datetime | None:
    """Return the time that a text is (RFC 3339), or None."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        return None
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)


def text_of(value: Any) -> str:
    """Return a value of `differences` for people, at most 200 characters."""
    value = value.value if isinstance(value, MaskedValue) else value
    text = "absent" if value is _ABSENT else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
