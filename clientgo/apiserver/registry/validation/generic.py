"""General rules of single values: presence, choices, bounds, formats, immutability."""

from collections.abc import Callable, Iterator
from typing import Any

from clientgo.apiserver.http.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    too_long,
    too_many,
)
from clientgo.apiserver.http.status import required as required_value
from clientgo.apiserver.registry import names
from clientgo.apiserver.registry.validation.scopes import FieldScope, on_absent, on_update

_NOTHING: tuple[Any, ...] = (None, "", [], {})
IMMUTABLE = "field is immutable"


def text(value: Any) -> str:
    """Return a value as conditions and choices write it; an absent one is empty."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def reader(path: str) -> Callable[[Any], Any]:
    """Return a function that reads a dotted path of a value, None if a field on it is absent."""
    fields = path.split(".")

    def read(value: Any) -> Any:
        for field in fields:
            value = value.get(field) if isinstance(value, dict) else None
        return value

    return read


@on_absent
def required(value: Any, _: FieldScope, detail: str = "") -> Iterator[Cause]:
    """Reject an absent or empty value."""
    if value in _NOTHING:
        yield required_value("", detail)


@on_absent
def set_required(value: Any, _: FieldScope, detail: str = "") -> Iterator[Cause]:
    """Reject an absent value; an empty one is allowed (a pointer in Go)."""
    if value is None:
        yield required_value("", detail)


def forbidden(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a value that is not empty."""
    if value not in _NOTHING:
        yield forbidden_field("", detail)


def forbidden_if_set(_: Any, __: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a value that is present, even if it is empty."""
    yield forbidden_field("", detail)


@on_absent
def invalid(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject any value; for rules with a condition."""
    yield invalid_value("", "" if value is None else value, detail)


def supported(value: Any, _: FieldScope, choices: str) -> Iterator[Cause]:
    """Reject a value that is not one of the comma-separated ones; an empty one is left to `required`."""
    if value != "" and value not in choices.split(","):
        yield not_supported("", value, choices.split(","))


@on_absent
def only(value: Any, _: FieldScope, choices: str) -> Iterator[Cause]:
    """Reject a value that is not one of the comma-separated ones; an absent one is the empty string."""
    if (value or "") not in choices.split(","):
        yield not_supported("", value or "", choices.split(","))


def least(value: Any, _: FieldScope, limit: int) -> Iterator[Cause]:
    """Reject a number below the limit."""
    if value < limit:
        yield invalid_value("", value, f"must be greater than or equal to {limit}")


def more_than(value: Any, _: FieldScope, limit: int) -> Iterator[Cause]:
    """Reject a number that is not above the limit."""
    if value <= limit:
        yield invalid_value("", value, f"must be greater than {limit}")


def most(value: Any, _: FieldScope, limit: int) -> Iterator[Cause]:
    """Reject a number above the limit."""
    if value > limit:
        yield invalid_value("", value, f"must be less than or equal to {limit}")


def between(value: Any, _: FieldScope, low: int, high: int) -> Iterator[Cause]:
    """Reject a number outside of the limits."""
    if not low <= value <= high:
        yield invalid_value("", value, f"must be between {low} and {high}, inclusive")


def outside(value: Any, _: FieldScope, low: int, high: int, detail: str) -> Iterator[Cause]:
    """Reject a number outside of the limits with this message."""
    if not low <= value <= high:
        yield invalid_value("", value, detail)


def items(value: Any, _: FieldScope, limit: int) -> Iterator[Cause]:
    """Reject a list or map with more members than the limit."""
    if len(value) > limit:
        yield too_many("", len(value), limit)


def size(value: Any, _: FieldScope, limit: int) -> Iterator[Cause]:
    """Reject a text of more bytes than the limit."""
    if len(value.encode()) > limit:
        yield too_long("", limit)


def named(value: Any, _: FieldScope, form: str) -> Iterator[Cause]:
    """Reject a text that is not of this form: a function `FORM_errors` of `names`; an empty one is allowed."""
    if value:
        for why in getattr(names, f"{form}_errors")(value):
            yield invalid_value("", value, why)


def keys(value: Any, _: FieldScope, form: str) -> Iterator[Cause]:
    """Reject keys of a map that are not of this form, at the path of the map."""
    for key in sorted(value):
        for why in getattr(names, f"{form}_errors")(key):
            yield invalid_value("", key, why)


def labels(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject invalid keys and values of labels."""
    for key, member in sorted(value.items()):
        for why in names.qualified_errors(key):
            yield invalid_value("", key, why)
        for why in names.label_value_errors(member):
            yield invalid_value("", member, why)


def unique(value: Any, _: FieldScope, field: str = "") -> Iterator[Cause]:
    """Reject items of a list that occur twice, or whose field does."""
    seen: list[Any] = []
    for index, item in enumerate(value):
        key = item.get(field) if field else item
        if key in seen and key not in _NOTHING:
            yield duplicate(f"[{index}]" + (f".{field}" if field else ""), key)
        seen.append(key)


@on_update
def immutable(new: Any, old: Any, _: FieldScope, detail: str = IMMUTABLE) -> Iterator[Cause]:
    """Reject a change; absent and empty are the same."""
    if new != old and not (new in _NOTHING and old in _NOTHING):
        yield invalid_value("", new, detail)


@on_update
def immutable_forbidden(new: Any, old: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a change as forbidden, with this message."""
    if new != old and not (new in _NOTHING and old in _NOTHING):
        yield forbidden_field("", detail)
